"""What differs, in the words of a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.diff.change import Change, Part


def place_of(change: Change) -> str:
    """Where a change is, to begin a sentence with."""
    if change.part is Part.BODY:
        return change.pointer or (change.note.capitalize() if change.note.startswith("line ") else "The text")
    where = {Part.QUERY: "The query parameter", Part.PATH: "The path of the URL"}.get(change.part, f"The {change.part}")
    return where if change.part is Part.PATH else f"{where} {change.pointer.removeprefix('/')}".rstrip()


def changed_words(rest: list[tuple[str, str]], unseen: int) -> str:
    """What became what; `unseen` are places that are not among `rest`."""
    told = [
        f"{quoted(old)} became {quoted(new)}" if old and new else f"{quoted(old or new)} was {_gone(old)}"
        for old, new in rest[:2]
    ]
    more = f", and {len(rest) - 2 + unseen} more" if len(rest) > 2 else ""
    return ", ".join(told) + more


def _gone(old: str) -> str:
    return "removed" if old else "added"


def quoted(text: str | None) -> str:
    """A text in quotation marks, cut where it is long."""
    if text is None:
        return "absent"
    text = " ".join(text.split())
    return f'"{text}"' if len(text) <= 60 else f'"{text[:40]} … {text[-16:]}"'


def listed(names: Sequence[str]) -> str:
    """The first few names."""
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:4]) + (f" and {len(unique) - 4} more" if len(unique) > 4 else "")
