"""The tape of a run that was killed, as the beginning of one that goes on: without what may not have happened.

What was under way when the process was killed has no outcome on tape. A sleep, or a read of the standard input, is
begun again. A request, a tool or a child may have had its effect: somebody has to say what has become of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from reenact.tape import event as ev
from reenact.tape.delta import Bodies
from reenact.tape.recording import Event, Recording
from reenact.tape.resent import Resent

_EFFECTIVE = (ev.Kind.HTTP, ev.Kind.TOOL, ev.Kind.PROCESS, ev.Kind.EXEC)
_LASTING = (ev.Kind.SOCKET, ev.Kind.PIPE)  # a connection, whose end is nobody's outcome
_OF_THE_END = (ev.Ended, ev.Exited, ev.Left)
_COMMAND = re.compile(r"`(.*)`", re.DOTALL)


def uncertain(recording: Recording) -> list[Event]:
    """The calls that may have had an effect, and whose outcome is not on tape."""
    lost = [event for event in recording.compared if not event.complete and event.kind in _EFFECTIVE]
    return sorted([*lost, *_running(recording)], key=lambda event: event.id)


def _running(recording: Recording) -> Iterator[Event]:
    """The starts of children whose end is not on tape."""
    over: list[str] = []
    for event in reversed(recording.compared):
        command = _COMMAND.search(event.name)
        if command is None:
            continue
        if (event.kind is ev.Kind.EXIT and _has_ended(event)) or (event.kind is ev.Kind.PIPE and _tells_end(event)):
            over.append(command[1])
        elif event.kind is ev.Kind.PROCESS and event.complete and event.parts[-1][1].kind == ev.PartKind.VALUE:
            if command[1] in over:
                over.remove(command[1])
            else:
                yield event


def _has_ended(event: Event) -> bool:
    return bool(event.parts) and _first_of(event.parts[-1][1]) is not None


def _tells_end(event: Event) -> bool:
    """Whether what came of a child of an event loop says that it has ended: as of a pipe with the number -1."""
    return any(part.kind == ev.PartKind.CHUNK and _first_of(part) == -1 for _, part in event.parts)


def _first_of(part: ev.Part) -> object:
    """What a part holds, or the first of it where there are several."""
    try:
        told = msgspec.msgpack.decode(part.data)
    except msgspec.MsgspecError:
        return None
    return told[0] if isinstance(told, list) and told else told


def lost_with(recording: Recording, event: Event) -> list[Event]:
    """What its lane, and those that it has borne since, did after it: to ask again is to do that again, too."""
    later = [other for other in recording.events if other.id > event.id and _within(other.lane, event.lane)]
    return [other for other in later if other.complete and other.kind in _EFFECTIVE]


def continued(
    records: Iterable[ev.AnyRecord], recording: Recording, answers: Mapping[int, Sequence[ev.Part]]
) -> Iterator[ev.AnyRecord]:
    """The records to begin with.

    `answers` are the parts that come to what is not certain, by event; what is not there is to be asked again.
    """
    return _Continued(recording, answers).of(records)


class _Continued:
    def __init__(self, recording: Recording, answers: Mapping[int, Sequence[ev.Part]]) -> None:
        self._recording = recording
        self._answers = answers
        self._again = {event.id for event in uncertain(recording) if event.id not in answers}
        self._paths: dict[int, str] = {}
        self._cut: set[str] = set()
        self._anew: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._bodies = Bodies()
        self._last: dict[int, int] = {}
        self._resent = Resent()

    def of(self, records: Iterable[ev.AnyRecord]) -> Iterator[ev.AnyRecord]:
        for record in records:
            if isinstance(record, ev.LaneBorn):
                self._paths[record.index] = record.path
            if isinstance(record, _OF_THE_END) or self._is_cut(record):
                continue
            if isinstance(record, ev.Began | ev.Sent):
                yield from self._asked(record)
            elif isinstance(record, ev.Part | ev.Changed | ev.Child | ev.Given | ev.Moved):
                if record.event in self._numbers and record.event not in self._anew:
                    yield msgspec.structs.replace(record, event=self._numbers[record.event])
            elif isinstance(record, ev.Signal) and record.event in self._numbers:
                yield msgspec.structs.replace(record, event=self._numbers[record.event])
            else:
                yield record
        for event, parts in self._answers.items():
            for part in parts:
                yield msgspec.structs.replace(part, event=self._numbers[event])

    def _is_cut(self, record: ev.AnyRecord) -> bool:
        lane = getattr(record, "lane", None) if not isinstance(record, ev.LaneBorn) else record.index
        path = self._paths.get(lane) if isinstance(lane, int) else None
        return path is not None and any(_within(path, cut) for cut in self._cut)

    def _asked(self, record: ev.Began | ev.Sent) -> Iterator[ev.AnyRecord]:
        if isinstance(record, ev.Began):
            yield from self._began(record)
        else:
            yield from self._resent.of(record, self._numbers.get(record.event))

    def _began(self, record: ev.Began) -> Iterator[ev.AnyRecord]:
        event = self._recording.events[record.event]
        stays, anew = self._stays(event), self._is_answered_anew(event)
        if event.parts and (anew or not stays):
            self._cut.add(event.lane)  # what the lane did next came of what it had got of this
        if not stays:
            return
        number = self._numbers[record.event] = len(self._numbers)
        if anew:
            self._anew.add(record.event)
        if number == record.event:
            self._bodies.restore(number, record.body)
            yield record
        else:
            body = self._bodies.shrink(number, self._recording.body(event), self._last.get(record.lane, -1))
            yield msgspec.structs.replace(record, event=number, body=body)
        if event.kind is ev.Kind.HTTP:
            self._last[record.lane] = number

    def _is_answered_anew(self, event: Event) -> bool:
        """Whether its answer takes the place of what had come. Of a response that fails, a part may come before."""
        parts = self._answers.get(event.id, ())
        fails = bool(parts) and parts[0].kind == ev.PartKind.FAILURE
        return bool(parts) and not (fails and event.kind is ev.Kind.HTTP)

    def _stays(self, event: Event) -> bool:
        if event.id in self._again:
            return False
        return event.complete or event.id in self._answers or event.kind in _LASTING


def _within(path: str, lane: str) -> bool:
    return path == lane or path.startswith(lane + ".")
