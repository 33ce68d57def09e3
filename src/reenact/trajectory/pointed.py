"""The text that a JSON pointer means in a request or an answer."""

from __future__ import annotations

import msgspec

from reenact.diff.pointer import steps
from reenact.providers import Message, Unreadable
from reenact.trajectory.exchange import Exchange

SIDES = ("request", "answer")


def pointed(exchange: Exchange, answer: Message | None, pointer: str) -> str:
    """The text or number that stands there. A pointer begins with /request or /answer.

    What no JSON is, such as a stream, is what it means: the `answer` of its step, as `reenact show --json` has it.

    Raises:
        LookupError: nothing stands there, or more than a text; it says what could be meant.
    """
    side, *names = steps(pointer)
    if side not in SIDES or not pointer.startswith("/"):
        raise LookupError("a pointer begins with /request or /answer, as in /answer/choices/0/message/content")
    body = exchange.question if side == "request" else exchange.answer
    value: object = _decoded(body)
    if value is None and side == "answer" and answer is not None:
        value = _decoded(msgspec.json.encode(answer))
    if value is None:
        raise LookupError(f"its {side} is no JSON, so nothing can be pointed at in it; look for a text with --text")
    here = f"/{side}"
    for name in names:
        value, here = _inside(value, name, here), f"{here}/{name}"
    if isinstance(value, dict | list):
        # no TypeError: the pointer is at fault, not the value
        raise LookupError(f"at {here} stands more than one text: choose {_choice(value)}")  # noqa: TRY004
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _decoded(body: bytes | Unreadable) -> object:
    if isinstance(body, Unreadable):
        return None
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None


def _inside(value: object, name: str, here: str) -> object:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list) and name.isascii() and name.isdigit() and len(name) < 10 and int(name) < len(value):
        return value[int(name)]
    if isinstance(value, dict | list):
        raise LookupError(f"there is no {name!r} at {here}: it has {_choice(value)}")  # noqa: TRY004  as above
    raise LookupError(f"at {here} stands a text or number, and nothing below it")


def _choice(value: dict[str, object] | list[object]) -> str:
    if isinstance(value, dict):
        return ", ".join(list(value)[:12]) or "nothing"
    return f"0 to {len(value) - 1}" if value else "nothing"
