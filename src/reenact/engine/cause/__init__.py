"""The likely cause of a divergence, and what to do about it: read from the shape of what changed.

Where a change stands tells what was edited (model, tools, prompt); what the changed words look like tells what leaked
past the seams (an address, a clock, a random id). A guess, and worded as one: the diff is the evidence.
"""

from reenact.engine.cause.likely import RANK, explain, likely_cause

__all__ = ["RANK", "explain", "likely_cause"]
