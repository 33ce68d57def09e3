"""Edits of what models said and were told, in the terms of the API that they were asked by. Pure: no IO, no tape."""

from reenact.branch.edit.answer import Answer, apply, decided
from reenact.branch.edit.decision import Call, Decision
from reenact.branch.edit.form import parsed, written

__all__ = ["Answer", "Call", "Decision", "apply", "decided", "parsed", "written"]
