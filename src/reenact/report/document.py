"""Documents as JSON."""

from __future__ import annotations

import msgspec

from reenact.report.terminal import escaped


def encode(value: object) -> bytes:
    r"""A value as one line of JSON, which may be printed: what a terminal would obey, hide or reorder is `\uXXXX`.

    What JSON cannot hold of a text (halves of surrogate pairs) becomes escapes in the text.
    """
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_encodable(msgspec.to_builtins(value)))
    return escaped(data.decode(), _json_escape).encode()


def _json_escape(letter: str) -> str:
    units = letter.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
