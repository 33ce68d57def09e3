"""Another context: a patch of what a request tells the model, which later requests of the branch tell it, too.

A pointer that begins with a number (or `-`) is one into the messages, `/0/content`; any other one is into the whole
request, `/system`, `/tools/2`, `/temperature`. The agent's own state has the messages as they were, and sends them
again, so what was patched is a rule: a later request that begins with the same messages is sent with the patched ones
in their place, and what it says besides is its own. Of other fields, one that still is what it was gets what the patch
made of it. Marks for the provider's cache (`cache_control`, `cachePoint`), which agents move along, are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from reenact.edits.asked import MESSAGES, Asked
from reenact.edits.patch import Operation, operations, patched
from reenact.errors import EditError

_CACHE_MARKS = ("cache_control", "cachePoint")


@dataclass(frozen=True, slots=True)
class ContextRule:
    """What a patch has made of one request: of its messages, and of each other field that it changed.

    Of the first `prefix` messages, those from `start` to `end` became `middle`; a field that is gone is UNSET.
    """

    api: str
    prefix: tuple[Any, ...]
    start: int
    end: int
    middle: tuple[Any, ...]
    fields: Mapping[str, tuple[Any, Any]]

    def apply(self, asked: Asked) -> Asked:
        """See Rule."""
        if asked.api != self.api:
            return asked
        document = asked.document()
        changed = self._change_messages(document)
        for name, (before, after) in self.fields.items():
            if document.get(name, msgspec.UNSET) == before:
                changed = True
                document[name] = after
        kept = {name: value for name, value in document.items() if value is not msgspec.UNSET}
        return asked.saying(kept) if changed else asked

    def _change_messages(self, document: dict[str, Any]) -> bool:
        messages = document.get(MESSAGES[self.api])
        if not isinstance(messages, list) or (self.start == self.end and not self.middle):
            return False
        if _bare(messages[: len(self.prefix)]) != _bare([*self.prefix]):
            return False
        moved = _marked(self.prefix[self.start : self.end]) and not _marked(messages[self.start : self.end])
        messages[self.start : self.end] = _bare([*self.middle]) if moved else self.middle
        return True


def context_rule(asked: Asked, patch: str) -> ContextRule:
    """The rule that a patch of this request makes, for this one and later ones.

    Raises:
        EditError: it is no JSON Patch, or does not fit the request.
    """
    api, before = asked.api, asked.document()
    key = MESSAGES[api]
    after = patched(before, [_rooted(one, key) for one in operations(patch)])
    if not isinstance(after, dict):
        raise EditError("the patch leaves nothing of the request")
    old, new = before.get(key), after.get(key)
    fields = {
        name: (before.get(name, msgspec.UNSET), after.get(name, msgspec.UNSET))
        for name in before.keys() | after.keys()
        if before.get(name, msgspec.UNSET) != after.get(name, msgspec.UNSET)
    }
    if not (isinstance(old, list) and isinstance(new, list)):
        return ContextRule(api, (), 0, 0, (), fields)
    fields.pop(key, None)
    start = _common(old, new)
    left = _common(old[start:][::-1], new[start:][::-1])
    end = len(old) - left
    return ContextRule(api, tuple(old), start, end, tuple(new[start : len(new) - left]), fields)


def _rooted(one: Operation, key: str) -> Operation:
    return msgspec.structs.replace(one, path=_from_messages(one.path, key), source=_from_messages(one.source, key))


def _from_messages(pointer: str, key: str) -> str:
    first = pointer[1:].partition("/")[0]
    return f"/{key}{pointer}" if first == "-" or first.isdecimal() else pointer


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many are equal at the beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _marked(messages: Sequence[Any]) -> bool:
    return bool(_bare([*messages]) != [*messages])


def _bare(value: Any) -> Any:
    """Without marks for the cache."""
    if isinstance(value, list):
        kept = [item for item in value if not (isinstance(item, dict) and item.keys() == {"cachePoint"})]
        return [_bare(item) for item in kept]
    if isinstance(value, dict):
        return {key: _bare(inner) for key, inner in value.items() if key not in _CACHE_MARKS}
    return value
