"""What a program calls what it does: the names and attributes of marks, its run's session and tags."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reenact.errors import UsageError
from reenact.tape.redact import PLACEHOLDER, is_credential_name, redact_urls

Scalar = str | int | float | bool | None

_KEY: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,63}")
_LONGEST: Final = 200  # letters of a name, a session's id, the value of a tag
_LONGEST_VALUE: Final = 1000  # of an attribute
_NUMBERS: Final = range(-(2**63), 2**64)  # what msgpack holds


Clean = Callable[[str], str]


def text_of(text: str, clean: Clean = str, longest: int = _LONGEST) -> str:
    """A text as it stands on tape: without secrets, and cut where it is too long."""
    kept = redact_urls(clean(text))
    if not kept.isascii():
        kept = kept.encode("utf-8", "backslashreplace").decode()
    return kept if len(kept) <= longest else f"{kept[: longest - 1]}…"


def attribute(name: str, value: object, clean: Clean = str) -> Scalar:
    """The value of an attribute as it stands on tape.

    Raises:
        TypeError: it is no text, number, truth value or None. No method of a value's own is called.
    """
    kind = type(value)
    if value is None or value is True or value is False:
        return value
    if issubclass(kind, str):
        text = str.__str__(value)
        return PLACEHOLDER if text and is_credential_name(name) else text_of(text, clean, _LONGEST_VALUE)
    if issubclass(kind, int):
        number = int.__index__(value)  # type: ignore[arg-type]
        return number if number in _NUMBERS else text_of(hex(number), longest=_LONGEST_VALUE)
    if issubclass(kind, float):
        return float.__float__(value)  # type: ignore[arg-type]
    raise TypeError(f"is a {kind.__qualname__}, and no text, number or truth value")


def session_id(given: object, clean: Clean = str) -> str:
    """The id of a session as it stands on tape: a text, or the text of a number or a UUID.

    Raises:
        UsageError: it is none.
    """
    text = str(given) if type(given) is int or _is_uuid(given) else _plain(given)
    if text is None or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
        raise UsageError(f"a session is a text of 1 to {_LONGEST} printable letters, and not {_shown(given)}")
    return text_of(text, clean)


def tags_of(given: object, clean: Clean = str) -> dict[str, str]:
    """Tags as they stand on tape, by their keys: of a mapping, or of keys alone, whose values are empty.

    Raises:
        UsageError: one of them is none; it is named.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        pairs = [(key, "") for key in given]
    else:
        raise UsageError(f"tags are given by their keys, as {{'env': 'prod'}}, and not as {_shown(given)}")
    return dict(tag_of(key, value, clean) for key, value in pairs)


def parsed(texts: Iterable[str]) -> dict[str, str]:
    """Tags as one writes them on a command line: `env=prod`, or `beta`.

    Raises:
        UsageError: one of them is none; it is named.
    """
    return tags_of({key: value for key, _, value in (text.partition("=") for text in texts)})


def listed(text: str) -> list[str]:
    """The items of a list with commas."""
    return [item for item in (part.strip() for part in text.split(",")) if item]


def rows(session: str, tags: Mapping[str, str]) -> dict[str, str | int]:
    """The rows of the table `run` that say them; none of what there is not."""
    return {
        **({"session": session} if session else {}),
        **({"tags": json.dumps(dict(sorted(tags.items())), ensure_ascii=False)} if tags else {}),
    }


def of_rows(rows: Mapping[str, str | int]) -> tuple[str, dict[str, str]]:
    """The session and the tags that such rows say, however damaged they are."""
    try:
        tags = json.loads(str(rows.get("tags", "{}")))
    except (ValueError, RecursionError):
        tags = {}
    told = {str(key): str(value) for key, value in tags.items()} if isinstance(tags, dict) else {}
    return str(rows.get("session", "")), told


def tag_of(key: object, value: object, clean: Clean = str) -> tuple[str, str]:
    """One tag as it stands on tape.

    Raises:
        UsageError: it is none.
    """
    name = _plain(key)
    if name is None or not _KEY.fullmatch(name):
        raise UsageError(f"a tag's key is 1 to 64 letters, digits and _ . : / -, and not {_shown(key)}")
    text = str(value).lower() if type(value) is bool else str(value) if type(value) in (int, float) else _plain(value)
    if text is None or not text.isprintable() or len(text) > _LONGEST:
        raise UsageError(
            f"the value of tag {name} is a number, a truth value or up to {_LONGEST} printable letters, "
            f"and not {_shown(value)}"
        )
    return name, str(attribute(name, text, clean))


def _plain(given: object) -> str | None:
    """The letters of a text, of whatever class it is; None where it is none."""
    return str.__str__(given) if issubclass(type(given), str) else None


def _is_uuid(value: object) -> bool:
    return (type(value).__module__, type(value).__qualname__) == ("uuid", "UUID")


def _shown(value: object) -> str:
    text = _plain(value)
    if text is not None:
        return ascii(text[:60]) + (" …" if len(text) > 60 else "")
    return f"a {type(value).__qualname__}" if value is not None else "None"
