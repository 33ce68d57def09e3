"""Edits of what models said and were told, in the terms of the API that they were asked by. Pure: no IO, no tape."""

from reenact.edits.answer import Answer, apply, decided
from reenact.edits.asked import Asked, Rule
from reenact.edits.context import ContextRule, context_rule
from reenact.edits.decision import Call, Decision
from reenact.edits.form import parsed, written
from reenact.edits.policy import BaseUrlRule, ModelRule
from reenact.edits.results import ResultRule, result_rule, tool_answer
from reenact.edits.signing import resigned

__all__ = [
    "Answer",
    "Asked",
    "BaseUrlRule",
    "Call",
    "ContextRule",
    "Decision",
    "ModelRule",
    "ResultRule",
    "Rule",
    "apply",
    "context_rule",
    "decided",
    "parsed",
    "resigned",
    "result_rule",
    "tool_answer",
    "written",
]
