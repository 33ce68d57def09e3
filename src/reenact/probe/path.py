"""What an expression names: a variable, or a part of it, is found without running anything of the agent's."""

from __future__ import annotations

import ast
from types import FrameType
from typing import Any

from reenact.engine.variables import variables_of
from reenact.probe.aside import evaluated
from reenact.probe.values import parts_of

_NOTHING = object()


def found_at(text: str, frame: FrameType) -> Any:
    """What the expression gives in a frame. It runs where it is more than `name`, `.attribute` and `[constant]`.

    Raises:
        Exception: any, the expression's own.
    """
    named = named_by(text, frame)
    return evaluated(text.strip(), frame) if named is None else named[0]


def named_by(text: str, frame: FrameType) -> tuple[Any] | None:
    """The variable, or the part of one, that an expression only names; None where it would have to run.

    Raises:
        SyntaxError: it is no expression.
    """
    found = _part(ast.parse(text.strip(), mode="eval").body, frame)
    return None if found is _NOTHING else (found,)


def _part(node: ast.expr, frame: FrameType) -> Any:
    match node:
        case ast.Name(id=name):
            return {**frame.f_globals, **variables_of(frame)}.get(name, _NOTHING)
        case ast.Attribute(value=whole, attr=name):
            return _inside(_part(whole, frame), name)
        case ast.Subscript(value=whole, slice=ast.Constant(value=key)) if type(key) in (str, int):
            held = _part(whole, frame)
            if type(held) in (dict, list, tuple):
                try:
                    return held[key]
                except LookupError:
                    return _NOTHING
            return _inside(held, f"[{key!r}]")
    return _NOTHING


def _inside(whole: Any, name: str) -> Any:
    pairs = parts_of(whole) if whole is not _NOTHING else ()
    return next((held for part, held in pairs if part == name), _NOTHING)
