"""Events of a stream by the block that they belong to, where the format numbers its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reenact.edits.framing import Event, Framing


@dataclass(frozen=True, slots=True)
class Grouped:
    """What comes before the first block, the events of each block, and what comes after the last."""

    before: list[Event]
    groups: list[list[Event]]
    after: list[Event]


def grouped(events: Sequence[Event], key: str) -> Grouped:
    """Events by the number under `key`; one that has none (a ping) stays with the block that it came in."""
    numbers = [event.doc.get(key) if event.doc is not None else None for event in events]
    last = max((at for at, number in enumerate(numbers) if number is not None), default=-1)
    before: list[Event] = []
    groups: dict[object, list[Event]] = {}
    current = before
    for event, number in zip(events[: last + 1], numbers, strict=False):
        if isinstance(number, int | str):
            current = groups.setdefault(number, [])
        current.append(event)
    return Grouped(before, [*groups.values()], list(events[last + 1 :]))


def numbered(framing: Framing, events: Sequence[Event], key: str, number: int) -> list[Event]:
    """The events with that number under `key`, where they have one."""
    return [with_field(framing, event, key, number) for event in events]


def with_field(framing: Framing, event: Event, key: str, value: object) -> Event:
    """The event with another value of a field that it has; itself where it has that value, or no such field."""
    if event.doc is None or key not in event.doc or event.doc[key] == value:
        return event
    return framing.event(event.name, {**event.doc, key: value})
