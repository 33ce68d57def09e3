"""Recordings written by hand, and a boundary played step by step: `playbook >> asks("GET /a") << serves(0)`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from reenact.engine.boundary import Boundary, Cut, Pass, Perform, Refuse, Serve
from reenact.engine.call import Call, Headers
from reenact.engine.divergence import What
from reenact.tape import event as ev
from reenact.tape.building import Builder, set_aside
from reenact.tape.event import Kind, PartKind
from reenact.tape.recording import Recording

Draw = int | float | bytes | list[int]
Said = tuple[object, ...]
Asked = tuple[str, Call]


class Journal:
    """A recording that is written record by record. Lanes, sites and events get their numbers by themselves."""

    def __init__(self) -> None:
        self.recording = Recording(Path("by-hand.tape"), {})
        self.records: list[ev.AnyRecord] = []
        self._builder = Builder(self.recording)
        self._lanes: dict[str, int] = {}
        self._sites: dict[str, int] = {}

    def add(self, record: ev.AnyRecord) -> None:
        self.records.append(record)
        self._builder.add(record)

    def asked(
        self, name: str, body: bytes = b"", *, lane: str = "0", kind: Kind = Kind.HTTP, head: Headers = ()
    ) -> int:
        """The lane asked; the number of the event."""
        event = len(self.recording.events)
        written = Call(kind, name, head).head()
        self.add(ev.Began(event, self.lane(lane), kind, name, -1, event, written, ev.Delta(-1, 0, 0, body)))
        return event

    def got(self, event: int, kind: PartKind, data: bytes = b"", failed: ev.Failed | None = None) -> None:
        """A part of the answer came."""
        self.add(ev.Part(event, kind, len(self.recording.ticks), data, failed))

    def answered(self, event: int, *chunks: bytes, status: int = 200) -> None:
        """A whole HTTP answer came."""
        self.got(event, PartKind.HEAD, json.dumps({"status": status, "headers": []}).encode())
        for chunk in chunks:
            self.got(event, PartKind.CHUNK, chunk)
        self.got(event, PartKind.END)

    def aside(self, *parts: PartKind, lane: str = "0", host: str = "telemetry", status: int = 200) -> None:
        """A request that is side traffic, and what came for it."""
        number = len(self.recording.asides)
        self.add(ev.Aside(number, self.lane(lane), host))
        for kind in parts:
            self.add(ev.AsidePart(number, kind, status if kind is PartKind.HEAD else 0))

    def exchange(self, name: str, body: bytes = b"", *, lane: str = "0", head: Headers = ()) -> int:
        """A request and its answer, which is `answer N` for the N-th event."""
        event = self.asked(name, body, lane=lane, head=head)
        self.answered(event, b"answer %d" % event)
        return event

    def drew(self, place: str, *values: Draw, kind: ev.DrawKind = ev.DrawKind.TIME, lane: str = "0") -> None:
        """The lane read clock or entropy."""
        index = self.lane(lane)
        if place not in self._sites:
            self._sites[place] = len(self._sites)
            self.add(ev.SiteNamed(self._sites[place], place, "agent.py", 1))
        self.add(ev.Draws(index, [(kind, self._sites[place], list(values))]))

    def wrote(self, data: bytes, stream: ev.Stream = ev.Stream.STDOUT, *, lane: str = "0") -> None:
        """The lane wrote to an output stream."""
        self.add(ev.Wrote(self.lane(lane), stream, data))

    def ended(self) -> Recording:
        """The program came to its end by itself."""
        self.add(ev.Ended(0, None))
        set_aside(self.recording)
        return self.recording

    def lane(self, path: str) -> int:
        """The number of a lane, which is born if it is new."""
        if path not in self._lanes:
            self._lanes[path] = len(self._lanes)
            self.add(ev.LaneBorn(self._lanes[path], path, ""))
        return self._lanes[path]


class Playbook:
    """What an agent asks of a boundary, and what is said to that."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.last: Serve | Perform | Refuse | Cut | Pass | None = None

    def __rshift__(self, asked: Asked) -> Self:
        assert self.last is None, f"nobody looked at {self.last}"
        self.last = self.boundary.enter(*asked, None)
        return self

    def __lshift__(self, expected: Said) -> Self:
        assert _said(self.last) == expected
        self.last = None
        return self


def asks(name: str, body: bytes = b"", *, lane: str = "0", kind: Kind = Kind.HTTP, head: Headers = ()) -> Asked:
    """A call that a lane makes."""
    return lane, Call(kind, name, head, body)


def serves(event: int) -> Said:
    """The tape answers with this event."""
    return "serve", event


def refuses(what: What, event: int | None = None) -> Said:
    """Nobody may answer; the tape holds that event in its place."""
    return "refuse", what, event


PERFORMS: Said = ("perform",)
CUTS: Said = ("cut",)
PASSES: Said = ("pass",)


def _said(decision: Serve | Perform | Refuse | Cut | Pass | None) -> Said:
    match decision:
        case Serve(event):
            return serves(event.id)
        case Refuse(divergence, event):
            assert divergence.event == (None if event is None else event.id)
            return refuses(divergence.what, divergence.event)
        case Perform():
            return PERFORMS
        case Cut():
            return CUTS
        case Pass():
            return PASSES
    return ()
