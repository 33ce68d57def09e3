"""What a value looks like, in a line: for a report, with nothing of the agent's own called."""

from __future__ import annotations

from typing import Any

from reenact.engine.digest import MOMENTS, data_of, fields_of, type_name, values_of
from reenact.tape.redact import REDACTED, is_secret_variable

_LETTERS = 160
_ITEMS = 6
_DEPTH = 2
_BYTES = 256  # of what C code holds: more is not shown
_ATOMS = (type(None), bool, int, float, complex, type(...), range)


def glimpse(value: Any, depth: int = 0) -> str:
    """The value, cut where it is long."""
    kind = type(value)
    if kind in _ATOMS:
        return _cut(repr(value)) if kind is not int or value.bit_length() < 512 else "a number of many digits"
    if kind is str or kind is bytes:
        return _cut(repr(value[: 2 * _LETTERS]))
    if kind is dict or kind in _BRACKETS or fields_of(kind):
        return f"{type_name(kind)} …" if depth == _DEPTH else _cut(_container(value, kind, depth))
    if kind in MOMENTS and value.tzinfo is not None:  # which may be the agent's own
        return f"{glimpse(value.replace(tzinfo=None))} in {type_name(type(value.tzinfo))}"
    data = data_of(value, kind)
    # what gives bytes is written in C, or is a date, a path, a decimal: its own text calls nothing of the agent's
    small = data is not None and sum(map(len, data)) <= _BYTES
    return _cut(repr(value)) if small else f"a {type_name(kind)}"


def _container(value: Any, kind: type, depth: int) -> str:
    if kind in _BRACKETS:
        opened, closed = _BRACKETS[kind]
        shown = [glimpse(item, depth + 1) for item in list(value)[:_ITEMS]]
        return opened + ", ".join(shown) + _more(len(value)) + closed
    pairs = list(value.items()) if kind is dict else list(values_of(value, fields_of(kind) or ()))
    shown = [_pair(name, held, depth) for name, held in pairs[:_ITEMS]]
    inside = ", ".join(shown) + _more(len(pairs))
    return f"{{{inside}}}" if kind is dict else f"{type_name(kind)}({inside})"


def _pair(name: Any, held: Any, depth: int) -> str:
    secret = type(name) is str and is_secret_variable(name)
    return f"{glimpse(name, depth + 1)}: {REDACTED if secret else glimpse(held, depth + 1)}"


def _more(count: int) -> str:
    return f", … {count - _ITEMS:,} more" if count > _ITEMS else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
