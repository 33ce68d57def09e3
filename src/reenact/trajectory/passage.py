"""All that crossed the boundary of a run as texts, in both directions: where something can have come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import Final
from urllib.parse import urlsplit

import msgspec

from reenact.providers import Unreadable
from reenact.tape.event import Again, Changed, DrawKind, Draws, Kind, Part, PartKind, Saw, Stream, Wrote
from reenact.tape.recording import Event, Recording
from reenact.tape.whole import every, whole
from reenact.trajectory.decision import Step
from reenact.trajectory.entry import Place
from reenact.trajectory.exchange import Exchange, class_of, message_of
from reenact.trajectory.exchanges import Exchanges
from reenact.trajectory.moments import Moment, moments
from reenact.trajectory.own import uuids
from reenact.trajectory.spoken import answered, told
from reenact.trajectory.walk import Trajectory

_CLOCKS: Final = {
    DrawKind.TIME: 1.0,
    DrawKind.CLOCK_GETTIME: 1.0,
    DrawKind.TIME_NS: 1e-9,
    DrawKind.CLOCK_GETTIME_NS: 1e-9,
}
_CHANCE: Final = (DrawKind.UUID, DrawKind.ENTROPY, DrawKind.RANDOM, DrawKind.GETRANDBITS, DrawKind.PID)
_START: Final = -1


class Way(StrEnum):
    """Which way something crossed the boundary, as the program sees it."""

    IN = "in"
    OUT = "out"


class Source(StrEnum):
    """What carried it."""

    PROMPT = "prompt"  # what the program tells a model, other than results of tools
    RESULT = "tool result"  # the same, as the result of a tool
    OFFERED = "offered tool"
    ANSWER = "answer"  # what a model says
    THINKING = "thinking"
    ARGUMENTS = "tool arguments"  # the same, for a tool
    REQUEST = "request"
    RESPONSE = "response"
    GIVEN = "arguments of a tool"  # of a function that is a boundary itself
    GAVE = "value of a tool"
    COMMAND = "command"
    SENT = "sent"  # to a child process, or over a connection
    CAME = "came"
    FILE = "file"
    STDIN = "standard input"
    PROGRAM = "command line"
    VARIABLE = "environment"
    CLOCK = "clock"
    CHANCE = "chance"
    EXCEPTION = "exception"
    OUTPUT = "output"
    OUTCOME = "result of the run"


TOLD: Final = frozenset({Source.PROMPT, Source.RESULT, Source.OFFERED})
"""What a model is told."""
SAID: Final = frozenset({Source.ANSWER, Source.THINKING, Source.ARGUMENTS})
"""What a model says."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that crossed. `name` says whose: a tool, a path, a URL. `other` is who is on the other side.

    `process` is the path of the main lane of the process that it crossed, empty for the run's own.

    `starts` are where pieces of it begin, counted in letters, when they crossed (ns since the run began), and their
    events.
    """

    way: Way
    source: Source
    name: str
    text: str
    at: int
    event: int | None = None
    step: int | None = None
    site: Place | None = None
    other: str = ""
    starts: Sequence[tuple[int, int, int | None]] = field(default=())
    process: str = ""


def given(
    words: Iterable[str], environment: Iterable[tuple[str, str]], arguments: str, process: str = "", at: int = _START
) -> Iterator[Passage]:
    """What a run, or a process of it, begins with."""
    facts = [(Source.PROGRAM, "", " ".join(words)), (Source.PROGRAM, "arguments of the function", arguments)]
    facts += [(Source.VARIABLE, name, value) for name, value in environment]
    yield from (Passage(Way.IN, source, name, text, at, process=process) for source, name, text in facts if text)


def passages(recording: Recording, found: Trajectory) -> Iterator[Passage]:
    """All that crossed after that.

    Raises:
        TapeError: the tape cannot be believed.
    """
    steps = {entry.event: step for step in found.steps for entry in step.entries}
    processes = {lane: part.main for part in recording.processes for part in every(part) for lane in part.lanes}
    yield from of_models(found, processes)
    yield from _of_events(recording, found, steps, processes)
    yield from _of_moments(recording, processes)
    yield from _ends(recording)


# Models


def of_models(found: Trajectory, processes: Mapping[str, str]) -> Iterator[Passage]:
    """What models were told, and what they said. `processes` are those of lanes that are not of the run's own."""
    yield from chain.from_iterable(_of_step(step, processes.get(step.lane, "")) for step in found.steps)
    yield from _offered(found)


def _of_step(step: Step, process: str) -> Iterator[Passage]:
    for passage in _told_and_said(step):
        yield replace(passage, process=process)


def _told_and_said(step: Step) -> Iterator[Passage]:
    asked, came = step.attempts[0], step.attempts[-1]
    for said in told(step.news.messages):
        source = Source.RESULT if said.sort == "tool result" else Source.PROMPT
        yield Passage(Way.OUT, source, said.name, said.text, step.began, asked, step.number, step.site, "model")
    at = step.answered if step.answered is not None else step.began
    sources = {"thinking": Source.THINKING, "tool call": Source.ARGUMENTS, "tool result": Source.RESPONSE}
    for said in answered(step.answer):
        source = sources.get(said.sort, Source.ANSWER)
        yield Passage(Way.IN, source, said.name, said.text, at, came, step.number, step.site, "model")
    for trouble in step.troubles:
        text = f"{trouble.type}: {trouble.message}"
        yield Passage(Way.IN, Source.EXCEPTION, trouble.type, text, at, trouble.event, step.number, step.site, "model")


def _offered(found: Trajectory) -> Iterator[Passage]:
    last: object = None
    for step in found.steps:
        asked = found.asked.get(step.number)
        if asked is None or asked.tools == last:
            continue
        last = asked.tools
        for tool in asked.tools:
            text = "\n".join(filter(None, (tool.name, tool.description, tool.parameters)))
            event = step.attempts[0]
            yield Passage(Way.OUT, Source.OFFERED, tool.name, text, step.began, event, step.number, step.site, "model")


# Other events


class _Joined:
    """What goes one way over a pipe or a connection, put together."""

    def __init__(self, source: Source, name: str, other: str, process: str) -> None:
        self.source, self.name, self.other, self.process = source, name, other, process
        self._pieces: list[tuple[bytes, int, int | None, Place | None, int | None]] = []

    def add(self, data: bytes, at: int, event: int | None, site: Place | None = None, step: int | None = None) -> None:
        """The next piece."""
        if data:
            self._pieces.append((data, at, event, site, step))

    def passage(self, way: Way) -> Iterator[Passage]:
        """All of it, if there is any."""
        if not self._pieces:
            return
        starts, length = [], 0
        for data, at, event, _, _ in self._pieces:
            starts.append((length, at, event))
            length += len(data.decode("utf-8", "ignore"))
        text = b"".join(piece[0] for piece in self._pieces).decode("utf-8", "replace")
        _, at, event, site, step = self._pieces[0]
        yield Passage(way, self.source, self.name, text, at, event, step, site, self.other, starts, self.process)


def _of_events(
    recording: Recording, found: Trajectory, steps: dict[int, Step], processes: dict[str, str]
) -> Iterator[Passage]:
    together = whole(recording)
    exchanges = Exchanges(together)
    pipes: dict[tuple[Way, str], _Joined] = {}
    asked = {event for step in found.steps for event in step.attempts}
    for event in together.events:
        if event.id in asked or exchanges.whole(event.id) is not None:
            continue
        step = steps.get(event.id)
        process = processes.get(event.lane, "")
        crossed = _Crossed(exchanges.of(event), step.number if step is not None else None, process, pipes)
        yield from crossed.passages()
    for (way, _), joined in pipes.items():
        yield from joined.passage(way)


class _Crossed:
    """One event that is no request to a model."""

    def __init__(
        self, exchange: Exchange, step: int | None, process: str, pipes: dict[tuple[Way, str], _Joined]
    ) -> None:
        self._exchange, self._event, self._step, self._pipes = exchange, exchange.event, step, pipes
        self._process = process
        site = self._event.site
        self._site = Place(site.place, site.file, site.line) if site is not None else None

    def passages(self) -> Iterator[Passage]:
        event = self._event
        match event.kind:
            case Kind.HTTP:
                host = _host(self._exchange.url)
                yield self._passage(Way.OUT, Source.REQUEST, f"{event.name}\n{_text(self._exchange.question)}", host)
                yield self._passage(Way.IN, Source.RESPONSE, _text(self._exchange.answer), host)
            case Kind.TOOL:
                yield self._passage(Way.OUT, Source.GIVEN, _text(self._exchange.sent), event.name)
                yield self._passage(Way.IN, Source.GAVE, _text(self._value), event.name)
            case Kind.STDIN:
                self._pipe(Way.IN, Source.STDIN, "", "", self._value)
            case Kind.PROCESS | Kind.EXEC:
                text = f"{event.name}\n{_text(self._exchange.sent)}"
                yield self._passage(Way.OUT, Source.COMMAND, text, _child(event), name=_child(event))
            case Kind.EXIT:
                self._pipe(Way.OUT, Source.SENT, _child(event), _child(event), self._exchange.sent)
                self._pipe(Way.IN, Source.CAME, _child(event), _child(event), _carried(self._value))
            case Kind.PIPE:
                self._pipe(Way.OUT, Source.SENT, _child(event), _child(event), self._exchange.sent)
                answers = event.name.startswith("answers of ")
                data = b"".join(map(_carried, self._chunks)) if answers else self._value
                if not self._exchange.sent:  # what is given to one that sends counts bytes
                    self._pipe(Way.IN, Source.CAME, _child(event), _child(event), data)
            case Kind.SOCKET:
                self._pipe(Way.OUT, Source.SENT, _child(event), "connection", self._exchange.sent)
                self._pipe(Way.IN, Source.CAME, _child(event), "connection", b"".join(self._chunks))
        if (failed := self._exchange.failed) is not None:
            text = f"{class_of(failed)}: {message_of(failed)}"
            yield self._passage(Way.IN, Source.EXCEPTION, text, "", name=class_of(failed))

    @property
    def _value(self) -> bytes:
        return b"".join(part.data for part in self._parts(PartKind.VALUE))

    @property
    def _chunks(self) -> list[bytes]:
        return [part.data for part in self._parts(PartKind.CHUNK)]

    def _parts(self, kind: PartKind) -> Iterator[Part]:
        return (part for _, part in self._event.parts if part.kind == kind)

    def _passage(self, way: Way, source: Source, text: str, other: str, name: str = "") -> Passage:
        event = self._event
        at = event.at if way is Way.OUT or event.ended is None else event.ended
        return Passage(
            way, source, name or event.name, text, at, event.id, self._step, self._site, other, (), self._process
        )

    def _pipe(self, way: Way, source: Source, name: str, other: str, data: bytes) -> None:
        joined = self._pipes.setdefault(
            (way, f"{self._process} {source} {name}"), _Joined(source, name, other, self._process)
        )
        event = self._event
        at = event.at if way is Way.OUT or event.ended is None else event.ended
        joined.add(data, at, event.id, self._site, self._step)


def _text(data: bytes | Unreadable) -> str:
    return (data if isinstance(data, bytes) else data.raw).decode("utf-8", "replace")


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _child(event: Event) -> str:
    """Who is on the other side: a child process by its command line, a host, a process."""
    _, quote, rest = event.name.partition("`")
    return (
        rest.rstrip("`")
        if quote
        else event.name.partition(" to ")[2] or event.name.partition(" from ")[2] or event.name
    )


def _carried(data: bytes) -> bytes:
    """What waiting for a child gave besides its status."""
    try:
        told_ = msgspec.msgpack.decode(data)
    except (ValueError, RecursionError):
        return b""
    return b"".join(one for one in told_ if isinstance(one, bytes)) if isinstance(told_, list) else b""


# What is no event


def _of_moments(recording: Recording, processes: dict[str, str]) -> Iterator[Passage]:
    written: dict[tuple[int, str], _Joined] = {}
    contents = {digest: data for part in every(recording) for digest, data in part.contents.items()}
    for moment in moments(recording):
        match moment.record:
            case Draws():
                yield from _drawn(moment, moment.record)
            case Wrote(stream=stream, data=data):
                name = Stream(stream).name.lower() if stream in tuple(Stream) else str(stream)
                process = processes.get(moment.lane, "")
                joined = written.setdefault((stream, process), _Joined(Source.OUTPUT, name, "", process))
                joined.add(data, moment.at, None)
            case Saw() as saw:
                yield from _file(saw, moment.at, contents, None)
            case Changed(event=event, found=saw):
                yield from _file(saw, moment.at, contents, event)
            case Again(found=saw):
                yield from _file(saw, moment.at, contents, None)
    for joined in written.values():
        yield from joined.passage(Way.OUT)


def _file(saw: Saw, at: int, contents: dict[bytes, bytes], event: int | None) -> Iterator[Passage]:
    data = contents.get(saw.digest) if saw.digest else None
    if data:
        yield Passage(Way.IN, Source.FILE, saw.path, data.decode("utf-8", "replace"), at, event, other=saw.path)
    if saw.names:
        yield Passage(Way.IN, Source.FILE, f"names in {saw.path}", "\n".join(saw.names), at, event, other=saw.path)


def _drawn(moment: Moment, draws: Draws) -> Iterator[Passage]:
    for number, site, values in draws.draws:
        named = moment.sites.get(site)
        place = Place(named.place, named.file, named.line) if named is not None else None
        source = Source.CLOCK if number in _CLOCKS else Source.CHANCE if number in _CHANCE else None
        if source is not None:
            text = "\n".join(form for value in values for form in _forms(number, value))
            yield Passage(Way.IN, source, DrawKind(number).name.lower(), text, moment.at, site=place)


def _forms(kind: int, value: float | bytes | list[int]) -> Iterator[str]:
    """How a program may write what it has drawn."""
    if isinstance(value, bytes):
        yield from uuids(value) if len(value) == 16 else [value.hex()]
    elif isinstance(value, int | float):
        yield repr(value)
        if kind in _CLOCKS:
            try:
                moment = datetime.fromtimestamp(value * _CLOCKS[DrawKind(kind)], UTC).replace(tzinfo=None)
            except (ValueError, OverflowError, OSError):
                return
            yield from (moment.isoformat(), moment.isoformat(" "))


def _ends(recording: Recording) -> Iterator[Passage]:
    ended = recording.ended
    if ended is not None and ended.result:
        yield Passage(Way.OUT, Source.OUTCOME, "", ended.result.decode("utf-8", "replace"), ended.at)
    if ended is not None and ended.error is not None:
        text = f"{class_of(ended.error)}: {message_of(ended.error)}"
        yield Passage(Way.OUT, Source.OUTCOME, "exception", text, ended.at)
