"""Goes along a tape and says which events make up which step.

A step begins with a request to a model. Asking the same again after a failure is a further attempt at it. What its lane
does next, and what lanes born of it do, belongs to it as long as the agent is carrying the decision out: it asked for
tools, or the conversation goes on from it later. Everything else stands outside the steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import chain

import msgspec

from reenact.errors import TapeTooLargeError
from reenact.providers import Message, ModelCall, News, Other, ToolResult
from reenact.providers.route import place_of
from reenact.tape.event import Kind
from reenact.tape.recording import Event, Recording, ancestors, parents_of
from reenact.tape.whole import whole
from reenact.trajectory.asked import Asked, Asking
from reenact.trajectory.conversation import Conversations, Told, Turn
from reenact.trajectory.decision import Step
from reenact.trajectory.entry import Entry, Place, Trouble
from reenact.trajectory.exchange import Exchange
from reenact.trajectory.exchanges import Exchanges
from reenact.trajectory.history import History
from reenact.trajectory.mark import AGENT, Mark, agent_of, marks_of, way
from reenact.trajectory.sendings import Sendings

_EMBEDDING = "embedding"
_LOWEST_ERROR = 300
_MOST_TOLD = 1 << 30  # letters that are new in the requests of a run


class Trajectory(msgspec.Struct, frozen=True):
    """A run as a person reads it: its steps, the events outside them, and what it has marked, as they began.

    `asked` is what each step offered and set besides what it said, by its number.
    """

    steps: tuple[Step, ...]
    outside: tuple[Entry, ...]
    marks: tuple[Mark, ...] = ()
    asked: dict[int, Asked] = {}

    def of_agent(self, name: str) -> Trajectory:
        """What is inside of agents of that name: steps of which any event is, and events outside the steps."""

        def inside(mark: int | None) -> bool:
            return any(one.kind == AGENT and one.name == name for one in way(self.marks, mark))

        steps = tuple(step for step in self.steps if any(inside(entry.mark) for entry in step.entries))
        outside = tuple(entry for entry in self.outside if inside(entry.mark))
        return Trajectory(steps, outside, self.marks, self.asked)

    @property
    def entries(self) -> list[Entry]:
        """All events."""
        return [*self.outside, *(entry for step in self.steps for entry in step.entries)]

    @property
    def model_calls(self) -> int:
        """How many requests to models there are, failed ones too."""
        return sum(bool(entry.model) for entry in self.entries)


def trajectory(recording: Recording) -> Trajectory:
    """Reads a whole recording, with what the processes of the run did. Events have the numbers of the whole."""
    walk = _Walk(together := whole(recording))
    for event in sorted(together.events, key=lambda event: (event.at, event.id)):
        walk.take(event)
    return walk.end()


def steps(recording: Recording) -> tuple[Step, ...]:
    """The steps of a recording, numbered from 1 in the order in which they began."""
    return trajectory(recording).steps


def step_of_event(recording: Recording) -> dict[int, int]:
    """The number of the step that each event belongs to. Events outside the steps are left out."""
    return {entry.event: step.number for step in steps(recording) for entry in step.entries}


class _Draft:
    """A step that is being put together."""

    def __init__(self, number: int, event: Event, told: Told) -> None:
        self.number = number
        self.lane = event.lane
        self.began = event.at
        self.site = event.site
        self.begins = told.before is None
        self.follows = told.before.step if told.before is not None else None
        self.news = _named(told.news, told.before)
        self.call = told.call
        self.ended = event.ended
        self.acted = False
        self.attempts: list[int] = []
        self.entries: list[Entry] = []
        self.after: list[Entry] = []

    def attempt(self, event: Event, call: ModelCall, entry: Entry) -> None:
        self.attempts.append(event.id)
        self.entries.append(entry)
        self.call = msgspec.structs.replace(call, messages=())
        self.ended = event.ended if event.complete else None
        self.acted = call.answer is not None and bool(call.answer.tool_calls)

    @property
    def wanting(self) -> bool:
        """Whether no attempt so far brought the whole answer."""
        return not self.call.complete

    def step(self, with_pieces: Callable[[list[Entry]], tuple[Entry, ...]]) -> Step:
        call, site = self.call, self.site
        entries = [*self.entries, *(self.after if self.acted else ())]
        return Step(
            number=self.number,
            lane=self.lane,
            provider=call.provider,
            api=call.api,
            model=call.model,
            served=call.served,
            stream=call.stream,
            site=Place(site.place, site.file, site.line) if site is not None else None,
            began=self.began,
            answered=self.ended,
            ended=max((entry.ended for entry in entries if entry.ended is not None), default=None),
            begins=self.begins,
            follows=self.follows,
            news=self.news,
            tools=tuple(tool.name for tool in call.tools),
            answer=call.answer,
            finish_reason=call.finish_reason,
            complete=call.complete,
            usage=call.usage,
            attempts=tuple(self.attempts),
            entries=with_pieces(entries),
            agent=self.entries[0].agent,
            mark=self.entries[0].mark,
        )


class _Walk:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._conversations = Conversations()
        self._drafts: list[_Draft] = []
        self._told = 0
        self._outside: list[Entry] = []
        self._below: defaultdict[str, list[_Draft]] = defaultdict(list)
        self._first: dict[str, Event] = {}
        self._exchanges = Exchanges(recording)
        self._sendings = Sendings(recording)
        self._pieces: defaultdict[int, list[Entry]] = defaultdict(list)
        self._marks = marks_of(recording)
        self._parents = parents_of(recording.lanes)
        self._asking = Asking()
        self._asked: dict[int, Asked] = {}

    def take(self, event: Event) -> None:
        """Goes one event on."""
        exchange = self._exchanges.of(event)
        whole = self._exchanges.whole(event.id)
        entry = exchange.entry()
        if event.mark >= 0:
            entry = msgspec.structs.replace(entry, mark=event.mark, agent=agent_of(self._marks, event.mark))
        if (sent := self._sendings.of(exchange)) is not None:
            entry = msgspec.structs.replace(entry, sent_as=sent)
        if event.id in self._recording.given:
            entry = msgspec.structs.replace(entry, given=self._recording.given[event.id].name.lower())
        if whole is not None:
            self._pieces[whole].append(msgspec.structs.replace(entry, within=whole, trouble=None))
            return
        event = exchange.event
        self._first.setdefault(event.lane, event)
        if event.kind is Kind.HTTP and place_of(exchange.method, exchange.url) is not None:
            self._model(event, exchange, entry)
        else:
            self._place(event, entry)

    def end(self) -> Trajectory:
        """What was found."""
        outside = [*self._outside, *(entry for draft in self._drafts if not draft.acted for entry in draft.after)]
        steps = tuple(draft.step(self._with_pieces) for draft in self._drafts)
        return Trajectory(steps, self._with_pieces(outside), self._marks, self._asked)

    def _with_pieces(self, entries: list[Entry]) -> tuple[Entry, ...]:
        """In the order in which they began, with the events that they are made of."""
        pieces = (piece for entry in entries for piece in self._pieces[entry.event])
        return tuple(sorted(chain(entries, pieces), key=_when))

    # Requests to models

    def _model(self, event: Event, exchange: Exchange, entry: Entry) -> None:
        history = History.of(exchange.wire)
        place = place_of(exchange.method, exchange.url)
        if place is not None and place.continues is not None:
            self._fetched(event, history, place.continues, entry)
            return
        told = self._conversations.told(event.lane, event.at, history)
        if told is None:
            self._place(event, entry)
            return
        entry = _of_model(entry, exchange, told.call)
        if not _decides(told.call):
            self._place(event, entry)
            return
        draft = self._again(event, exchange, told)
        if draft is None:
            draft = self._decision(event, told)
        draft.attempt(event, told.call, entry)
        self._asked[draft.number] = self._asking.of(told.call, history.members)
        call = msgspec.structs.replace(told.call, messages=(), tools=())
        turn = Turn(event.lane, event.id, event.ended, history, told.count, call, draft.number)
        self._conversations.add(turn, told.before)

    def _decision(self, event: Event, told: Told) -> _Draft:
        self._told += sum(map(_length, (*told.news.messages, *told.news.lost)))
        if self._told > _MOST_TOLD:  # bodies that build on one another may say much on a small tape
            raise TapeTooLargeError(f"{self._recording.path}: what its requests say comes to more than can be shown")
        draft = _Draft(len(self._drafts) + 1, event, told)
        self._drafts.append(draft)
        for lane in (event.lane, *ancestors(event.lane, self._parents)):
            self._below[lane].append(draft)
        if told.before is not None and told.news.echo is not None:
            self._drafts[told.before.step - 1].acted = True
        return draft

    def _again(self, event: Event, exchange: Exchange, told: Told) -> _Draft | None:
        """The step that this request is a further attempt at."""
        before = told.before
        if before is None or not told.nothing:
            return None
        draft = self._drafts[before.step - 1]
        if not draft.wanting or draft.attempts[-1] != before.event:
            return None
        return draft if before.lane == event.lane or self._lane_of_attempt(event, exchange, before) else None

    def _lane_of_attempt(self, event: Event, exchange: Exchange, before: Turn) -> bool:
        """Whether lanes seem to be made for one attempt each: each does nothing else, one after the other."""
        last = self._recording.lanes[before.lane].events[-1].id
        return (
            event.lane.rpartition(".")[0] == before.lane.rpartition(".")[0]
            and self._first[event.lane] is event
            and before.event in (last, self._exchanges.whole(last))
            and before.history.wire.request_body == exchange.wire.request_body
        )

    def _fetched(self, event: Event, history: History, identity: str, entry: Entry) -> None:
        """An answer that is asked for by its id: that of a step that began before, or one made elsewhere."""
        call = history.read()
        if not isinstance(call, ModelCall):
            self._place(event, entry)
            return
        entry = msgspec.structs.replace(entry, model=call.served or call.model, usage=call.usage)
        turn = self._conversations.answered(identity)
        if turn is None:
            draft = self._decision(event, Told(call, News(()), 0, None))
            draft.attempt(event, call, entry)
            return
        draft = self._drafts[turn.step - 1]
        asked = msgspec.structs.replace(call, model=draft.call.model, tools=draft.call.tools)
        draft.attempt(event, asked, entry)
        turn.call, turn.ended = msgspec.structs.replace(asked, tools=()), event.ended

    # Everything else

    def _place(self, event: Event, entry: Entry) -> None:
        draft = self._acting(event)
        if draft is None or event.kind is Kind.STDIN:
            self._outside.append(entry)
        elif draft.wanting and event.kind is Kind.SLEEP:
            draft.entries.append(entry)
        else:
            draft.after.append(entry)

    def _acting(self, event: Event) -> _Draft | None:
        """The decision that a lane may be carrying out: its own last one, or the last before the lane came to be."""
        for draft in reversed(self._below[event.lane]):
            if draft.lane == event.lane or _over(draft, event.at):
                return draft
        came = self._first[event.lane].at
        for lane in ancestors(event.lane, self._parents):
            for draft in reversed(self._below[lane]):
                if _over(draft, came):
                    return draft
        return None


def _when(entry: Entry) -> tuple[int, int]:
    return entry.began, entry.event


def _decides(call: ModelCall) -> bool:
    """Whether a model was asked for more than vectors."""
    parts = call.answer.parts if call.answer is not None else ()
    vectors = bool(parts) and all(isinstance(part, Other) and part.kind == _EMBEDDING for part in parts)
    return not vectors and not call.api.endswith(f".{_EMBEDDING}s")


def _length(message: Message) -> int:
    return sum(len(getattr(part, "text", "")) + len(getattr(part, "arguments", "")) for part in message.parts)


def _over(draft: _Draft, at: int) -> bool:
    return draft.ended is not None and draft.ended <= at


def _of_model(entry: Entry, exchange: Exchange, call: ModelCall) -> Entry:
    """The entry of a request to a model, with what the answer says of itself."""
    return msgspec.structs.replace(
        entry, model=call.model, usage=call.usage, trouble=_trouble(exchange, call, entry.trouble)
    )


def _trouble(exchange: Exchange, call: ModelCall, seen: Trouble | None) -> Trouble | None:
    number, error = exchange.event.id, call.error
    if exchange.failed is not None:
        return seen
    if error is not None:
        status = error.status if error.status is not None and error.status >= _LOWEST_ERROR else None
        return Trouble(number, status, error.type, error.message)
    if call.complete or seen is not None:
        return seen
    if call.unread is not None:
        return Trouble(number, None, "unreadable", call.unread.reason)
    if exchange.let_go:
        return Trouble(number, None, "given up", "the agent let go of the answer before its end")
    if call.id is not None and call.finish_reason is None and not call.stream:
        return None  # the provider is still writing it; it is fetched later
    return Trouble(number, None, "cut", "the answer ended before it was whole")


def _named(found: News, before: Turn | None) -> News:
    """Tool results with the name of the tool that the answer before asked for, where only its id is there."""
    answer: Message | None = before.call.answer if before is not None else None
    names = {call.id: call.name for call in answer.tool_calls} if answer is not None else {}
    if not names:
        return found
    messages = tuple(_with_names(message, names) for message in found.messages)
    return msgspec.structs.replace(found, messages=messages)


def _with_names(message: Message, names: dict[str, str]) -> Message:
    parts = tuple(
        msgspec.structs.replace(part, name=names[part.id])
        if isinstance(part, ToolResult) and part.name is None and part.id in names
        else part
        for part in message.parts
    )
    return Message(message.role, parts)
