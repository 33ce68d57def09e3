"""The policy of the stand-alone server: calls the first tool once, then says what it was told."""

from __future__ import annotations

from reenact.testing.reply import Call, Reply, Say
from reenact.testing.turn import Turn


def demo(turn: Turn) -> Reply:
    """Tool results are told; else the first tool is called, with no arguments; else the prompt is echoed."""
    if turn.results:
        told = "; ".join(f"{result.name or result.id}: {result.text}" for result in turn.results)
        return Say(f"The tools answered: {told}")
    if turn.tools:
        return Call(turn.tools[0], {})
    return Say(f"You said: {turn.prompt}")
