"""What was asked, as far as a cause is read from it: the body as JSON, and what stands on the way to a pointer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from reenact.engine.divergence import Datum, Request


@dataclass(frozen=True, slots=True)
class Scene:
    """What was expected and what was asked; `document` is the body of the first as JSON, None if it is none."""

    expected: Request | Datum
    actual: Request | Datum
    document: object


def document_of(asked: Request | Datum) -> object:
    """Its body as JSON; None where it is none."""
    body = asked.body if isinstance(asked, Request) else asked.data
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None


def labels_at(document: object, steps: list[str]) -> list[str]:
    """Roles and types of the objects on the way down to a pointer, outermost first."""
    return [label for node in _way(document, steps) for key in ("role", "type") for label in _string(node, key)]


def names_at(document: object, steps: list[str]) -> list[str]:
    """Names of the objects on the way down to a pointer, innermost first."""
    found = []
    for node in _way(document, steps):
        found += _string(node, "name")
        found += [name for key in ("function", "toolSpec") for name in _string(node.get(key), "name")]
    return found[::-1]


def _way(document: object, steps: list[str]) -> Iterator[dict[str, object]]:
    for step in steps:
        if isinstance(document, dict):
            yield document
            document = document.get(step)
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return
    if isinstance(document, dict):
        yield document


def _string(node: object, key: str) -> list[str]:
    value = node.get(key) if isinstance(node, dict) else None
    return [value] if isinstance(value, str) else []
