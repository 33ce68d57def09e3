"""Edits of what models said and were told, in the terms of the API that they were asked by. Pure: no IO, no tape."""

from reenact.branch.edit.answer import Answer, apply, decided
from reenact.branch.edit.asked import Asked, Rule
from reenact.branch.edit.context import ContextRule, context_rule
from reenact.branch.edit.decision import Call, Decision
from reenact.branch.edit.form import parsed, written
from reenact.branch.edit.policy import BaseUrlRule, ModelRule
from reenact.branch.edit.results import ResultRule, result_rule, tool_answer
from reenact.branch.edit.signing import resigned

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
