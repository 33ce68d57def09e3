"""The drivers: what is on disk before the agent goes on, what the tape gives back, and what nobody may answer."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from reenact import _real
from reenact.engine import crossing as crossing_module
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.divergence import Datum, What
from reenact.engine.lane import MUTED, enter, get_lane, leave
from reenact.engine.plan import replay
from reenact.engine.session import Session
from reenact.errors import DivergenceError
from reenact.tape import event as ev
from reenact.tape.event import Failed, Kind, PartKind
from reenact.tape.recording import Recording
from tests.engine.kept import Kept, recording
from tests.engine.playbook import Journal

HEAD, CHUNK, END = Answer(PartKind.HEAD, b"{}"), Answer(PartKind.CHUNK, b"data"), Answer(PartKind.END, b"")
ASK = Call(Kind.HTTP, "POST http://h/", (), b"question")


def revive(failed: Failed) -> BaseException:
    return failure.decode(failed, ())


def gives(answer: Answer) -> Callable[[], Answer]:
    return lambda: answer


def never() -> Answer:
    raise AssertionError("the world was asked")


async def never_async() -> Answer:
    raise AssertionError("the world was asked")


def fails(error: BaseException) -> Callable[[], Answer]:
    def perform() -> Answer:
        raise error

    return perform


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def session(kept: Kept) -> Session:
    return recording(kept)


@pytest.fixture
def crossing(session: Session) -> Iterator[Crossing]:
    """A request that is being recorded, made by the main lane, which this test is in."""
    with_token = enter(session.main)
    yield Crossing.begin(session.main, ASK, revive)
    leave(with_token)


@pytest.fixture
def playing() -> Iterator[Callable[[Recording], Session]]:
    """Starts the replay of a recording, whose main lane this test is in from then on."""
    tokens = []

    def start(tape: Recording, *, observe: bool = False) -> Session:
        session = Session(replay(tape, observe=observe), None)
        tokens.append(enter(session.main))
        return session

    yield start
    for token in reversed(tokens):
        leave(token)


def one_exchange(*, ended: bool = True) -> Recording:
    journal = Journal()
    journal.answered(journal.asked("POST http://h/", b"question"), b"one", b"two")
    return journal.ended() if ended else journal.recording


# Recording


def test_a_request_is_on_disk_before_it_leaves(crossing: Crossing, kept: Kept) -> None:
    (began,) = kept.of(ev.Began)
    assert (began.kind, began.name, began.body.middle) == (Kind.HTTP, "POST http://h/", b"question")
    assert kept.durable == len(kept.records)


def test_everything_before_a_request_is_on_disk_with_it(session: Session, kept: Kept) -> None:
    other = session.main.child("")
    session.main.drew(ev.DrawKind.TIME_NS, sys._getframe(), 1)
    session.wrote(other, ev.Stream.STDOUT, b"out")
    Crossing.begin(session.main, ASK, revive)
    assert kept.durable == len(kept.records)
    assert kept.of(ev.Draws)
    assert kept.of(ev.Wrote)


def test_the_outcome_is_on_disk_before_the_agent_has_it(crossing: Crossing, kept: Kept) -> None:
    assert crossing.pull(gives(HEAD)) is HEAD
    assert crossing.pull(gives(CHUNK)) is CHUNK
    assert crossing.pull(gives(END)) is END
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.HEAD, PartKind.CHUNK, PartKind.END]
    assert kept.durable == len(kept.records)
    assert crossing.closed
    assert kept.commits == 2  # one for the request, one for the answer


def test_a_pause_costs_no_commit(session: Session, kept: Kept) -> None:
    token = enter(session.main)
    Crossing.begin(session.main, Call(Kind.SLEEP, "sleep 1"), revive).pull(gives(Answer(PartKind.VALUE, b"")))
    leave(token)
    assert len(kept.of(ev.Part)) == 1
    assert kept.commits == 0


def test_a_long_stream_is_on_disk_while_it_goes_on(
    crossing: Crossing, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [_real.monotonic_ns()]
    monkeypatch.setattr(_real, "monotonic_ns", lambda: now[0])
    crossing.pull(gives(HEAD))
    now[0] += crossing_module.COMMIT_WITHIN_NS // 2
    crossing.pull(gives(CHUNK))
    assert kept.durable < len(kept.records)
    now[0] += crossing_module.COMMIT_WITHIN_NS
    crossing.pull(gives(CHUNK))
    assert kept.durable == len(kept.records)


@pytest.fixture(params=["alone", "in company"])
def company(request: pytest.FixtureRequest, session: Session) -> None:
    """Another strand may want the baton, or none is there."""
    if request.param == "in company":
        elsewhere(session.strand)


@pytest.mark.usefixtures("company")
def test_chunks_are_kept_as_pulls_are(crossing: Crossing, session: Session, kept: Kept) -> None:
    inside = []

    def world() -> Iterator[Any]:
        for data in (b"one", bytearray(b"two"), memoryview(b"three")):
            inside.append(get_lane())
            yield data

    crossing.pull(gives(HEAD))
    stream = crossing.chunks(world())
    assert next(stream) == b"one"
    assert get_lane() is session.main
    rest = list(stream)
    assert [type(data) for data in rest] == [bytes, bytes]
    parts = [(part.kind, part.data, part.event) for part in kept.of(ev.Part)]
    assert parts == [
        (PartKind.HEAD, b"{}", crossing.event),
        (PartKind.CHUNK, b"one", crossing.event),
        (PartKind.CHUNK, b"two", crossing.event),
        (PartKind.CHUNK, b"three", crossing.event),
        (PartKind.END, b"", crossing.event),
    ]
    assert [part.at for part in kept.of(ev.Part)] == sorted(part.at for part in kept.of(ev.Part))
    assert inside == [MUTED] * 3
    assert session.order.cursor == 5
    assert crossing.closed
    assert kept.durable == len(kept.records)


@pytest.mark.usefixtures("company")
def test_a_stream_that_breaks_off_is_kept_so(crossing: Crossing, session: Session, kept: Kept) -> None:
    error = ConnectionResetError(104, "reset")

    def world() -> Iterator[bytes]:
        yield b"one"
        raise error

    stream = crossing.chunks(world())
    assert next(stream) == b"one"
    with pytest.raises(ConnectionResetError) as caught:
        next(stream)
    assert caught.value is error
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.CHUNK, PartKind.FAILURE]
    assert get_lane() is session.main
    assert session.order.cursor == 2
    assert kept.durable == len(kept.records)


@pytest.mark.usefixtures("company")
def test_what_comes_after_the_agent_has_let_go_is_not_kept(crossing: Crossing, kept: Kept) -> None:
    stream = crossing.chunks(iter([b"one", b"two", b"three"]))
    assert next(stream) == b"one"
    crossing.abandon()
    assert list(stream) == [b"two", b"three"]
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.CHUNK, PartKind.ABANDONED]


@pytest.mark.usefixtures("company")
def test_what_comes_while_the_agent_lets_go_is_not_kept(crossing: Crossing, kept: Kept) -> None:
    def world() -> Iterator[bytes]:
        yield b"one"
        crossing.abandon()  # a handler of a signal does it, while the world is waited for
        yield b"two"

    assert list(crossing.chunks(world())) == [b"one", b"two"]
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.CHUNK, PartKind.ABANDONED]


def test_who_reads_a_stream_is_no_longer_alone_when_another_comes(crossing: Crossing, session: Session) -> None:
    strand, had = session.strand(), []

    def world() -> Iterator[bytes]:
        for data in (b"one", b"two"):
            had.append(session.order.has(strand))
            yield data

    stream = crossing.chunks(world())
    next(stream)
    elsewhere(session.strand)
    next(stream)
    assert had == [True, False]
    assert session.order.has(strand)
    assert session.order.cursor == 2


def test_another_lane_may_read_on(crossing: Crossing, session: Session, kept: Kept) -> None:
    stream = crossing.chunks(iter([b"one", b"two"]))
    next(stream)
    token = enter(session.main.child("other"))
    assert next(stream) == b"two"
    leave(token)
    assert [part.data for part in kept.of(ev.Part)] == [b"one", b"two"]


def test_a_long_stream_of_chunks_is_on_disk_while_it_goes_on(
    crossing: Crossing, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [_real.monotonic_ns()]
    monkeypatch.setattr(_real, "monotonic_ns", lambda: now[0])
    crossing.pull(gives(HEAD))
    stream = crossing.chunks(iter([b"one", b"two"]))
    now[0] += crossing_module.COMMIT_WITHIN_NS // 2
    next(stream)
    assert kept.durable < len(kept.records)
    now[0] += crossing_module.COMMIT_WITHIN_NS
    next(stream)
    assert kept.durable == len(kept.records)


def test_what_the_call_raises_is_kept_and_raised(crossing: Crossing, kept: Kept) -> None:
    error = ConnectionResetError(104, "reset")
    with pytest.raises(ConnectionResetError) as caught:
        crossing.pull(fails(error))
    assert caught.value is error
    (part,) = kept.of(ev.Part)
    assert part.kind == PartKind.FAILURE
    assert part.failed is not None
    assert part.failed.name == "ConnectionResetError"
    assert kept.durable == len(kept.records)
    assert crossing.closed


def test_the_world_answers_in_no_lane(crossing: Crossing) -> None:
    inside = []

    def perform() -> Answer:
        inside.append(get_lane())
        return HEAD

    before = get_lane()
    crossing.pull(perform)
    assert inside == [MUTED]
    assert get_lane() is before
    with pytest.raises(OSError, match="x"):
        crossing.pull(fails(OSError("x")))
    assert get_lane() is before


def elsewhere(action: Callable[[], object]) -> None:
    """Does something in another thread, and waits until it is done."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(action).result(20)


def test_the_baton_is_free_while_the_world_answers(crossing: Crossing, session: Session) -> None:
    strand, had = session.strand(), []
    elsewhere(session.strand)

    def perform() -> Answer:
        had.append(session.order.has(strand))
        return HEAD

    crossing.pull(perform)
    assert had == [False]
    assert session.order.has(strand)


def test_who_is_alone_keeps_the_baton_meanwhile(crossing: Crossing, session: Session) -> None:
    strand, had = session.strand(), []

    def perform() -> Answer:
        had.append(session.order.has(strand))
        return HEAD

    crossing.pull(perform)
    assert had == [True]
    assert (strand.tick, session.order.cursor) == (0, 1)
    elsewhere(lambda: (session.strand(), session.forget_strand()))
    crossing.pull(perform)
    assert had == [True, True]
    assert (strand.tick, session.order.cursor) == (1, 2)


def test_who_comes_meanwhile_passes_the_waiting_one_by(crossing: Crossing, session: Session) -> None:
    strand, other = session.strand(), []

    def come() -> None:
        order, mine = session.order, session.strand()
        other.append(order.arrive(mine) or order.await_turn(mine, 20))
        session.forget_strand()

    def perform() -> Answer:
        elsewhere(come)
        return HEAD

    crossing.pull(perform)
    assert other == [True]
    assert session.order.has(strand)
    assert (strand.tick, session.order.cursor) == (1, 2)


@pytest.mark.parametrize("let_go", [Crossing.close, Crossing.abandon])
def test_what_the_agent_lets_go_of_is_kept_once(
    crossing: Crossing, kept: Kept, let_go: Callable[[Crossing], None]
) -> None:
    crossing.pull(gives(HEAD))
    let_go(crossing)
    let_go(crossing)
    crossing.close()
    crossing.fail(OSError("late"))
    crossing.deliver(CHUNK)
    parts = [PartKind(part.kind) for part in kept.of(ev.Part)]
    assert parts == [PartKind.HEAD, PartKind.CLOSED if let_go is Crossing.close else PartKind.ABANDONED]
    assert kept.durable == len(kept.records)


def test_after_its_end_an_answer_cannot_be_given_up(crossing: Crossing, kept: Kept) -> None:
    for answer in (HEAD, END):
        crossing.pull(gives(answer))
    crossing.abandon()
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.HEAD, PartKind.END]


def test_a_fault_of_ours_never_reaches_the_agent(crossing: Crossing, session: Session, kept: Kept) -> None:
    def encode() -> bytes:
        raise LookupError("no such header")

    answer = Answer(PartKind.HEAD, b"", encode)
    assert crossing.pull(gives(answer)) is answer
    assert crossing.pull(gives(END)) is END
    assert "no such header" in session.faults[0]
    assert [note.slug for note in kept.of(ev.Note)] == ["fault"]


def test_a_call_that_cannot_be_written_is_made_all_the_same() -> None:
    session = recording(Kept(ev.Part))
    token = enter(session.main)
    crossing = Crossing.begin(session.main, ASK, revive)
    assert crossing.pull(gives(END)) is END
    leave(token)
    assert "Part cannot be written" in session.faults[0]


def test_events_are_counted_over_all_lanes(session: Session, kept: Kept) -> None:
    lanes = [session.main, session.main.child(""), session.main]
    for lane in lanes:
        Crossing.begin(lane, ASK, revive)
    assert [(began.event, began.lane) for began in kept.of(ev.Began)] == [(0, 0), (1, 1), (2, 0)]


def test_a_request_says_where_the_agent_made_it(crossing: Crossing, kept: Kept) -> None:
    (site,) = kept.of(ev.SiteNamed)
    assert site.file == __file__
    assert kept.of(ev.Began)[0].site == site.index


# Replay


def test_the_tape_answers_and_the_world_is_not_asked(playing: Any) -> None:
    session = playing(one_exchange())
    crossing = Crossing.begin(session.main, ASK, revive)
    got = [crossing.pull(never) for _ in range(4)]
    assert [answer.kind for answer in got] == [PartKind.HEAD, PartKind.CHUNK, PartKind.CHUNK, PartKind.END]
    assert [answer.data for answer in got[1:]] == [b"one", b"two", b""]
    assert crossing.closed
    assert session.divergences == []
    assert session.order.cursor == 4


def test_the_tape_gives_the_chunks_of_a_stream(playing: Any) -> None:
    session = playing(one_exchange())
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)
    assert list(crossing.chunks(iter(()))) == [b"one", b"two"]
    assert crossing.closed
    assert not session.divergences


def test_a_recorded_exception_is_raised_again(playing: Any) -> None:
    journal = Journal()
    event = journal.asked("POST http://h/", b"question")
    journal.got(event, PartKind.FAILURE, failed=failure.encode(ConnectionResetError(104, "reset")))
    crossing = Crossing.begin(playing(journal.ended()).main, ASK, revive)
    with pytest.raises(ConnectionResetError, match="reset"):
        crossing.pull(never)
    assert crossing.closed


def test_another_call_ends_the_run(playing: Any) -> None:
    session = playing(one_exchange())
    with pytest.raises(DivergenceError):
        Crossing.begin(session.main, Call(Kind.HTTP, "POST http://h/", (), b"other"), revive)
    (divergence,) = session.divergences
    assert divergence.what is What.MISMATCH
    assert divergence.site is not None
    assert divergence.site.file == __file__
    assert "Crossing.begin" in divergence.site.source


def test_after_a_divergence_nothing_is_answered_any_more(playing: Any) -> None:
    """An agent that swallows the exception, or an SDK that tries again, comes no further."""
    journal = Journal()
    journal.exchange("GET http://h/1")
    journal.exchange("GET http://h/2")
    session = playing(journal.ended())
    with pytest.raises(DivergenceError):
        Crossing.begin(session.main, Call(Kind.HTTP, "GET http://h/0"), revive)
    with pytest.raises(DivergenceError):
        Crossing.begin(session.main, Call(Kind.HTTP, "GET http://h/2"), revive)
    assert len(session.divergences) == 1


def test_who_only_observes_goes_on_with_what_the_tape_holds(playing: Any) -> None:
    session = playing(one_exchange(), observe=True)
    crossing = Crossing.begin(session.main, Call(Kind.HTTP, "POST http://h/", (), b"other"), revive)
    assert crossing.pull(never).kind is PartKind.HEAD
    assert [divergence.what for divergence in session.divergences] == [What.MISMATCH]


@pytest.mark.parametrize("call", [Call(Kind.SLEEP, "sleep 1"), ASK])
def test_what_the_tape_cannot_answer_ends_even_an_observed_run(playing: Any, call: Call) -> None:
    journal = Journal()
    if call is not ASK:
        journal.exchange("POST http://h/", b"question")
    with pytest.raises(DivergenceError):
        Crossing.begin(playing(journal.ended(), observe=True).main, call, revive)


def test_reading_on_where_the_recording_stopped_is_a_divergence(playing: Any) -> None:
    journal = Journal()
    event = journal.asked("POST http://h/", b"question")
    journal.got(event, PartKind.HEAD, b"{}")
    journal.got(event, PartKind.ABANDONED)
    session = playing(journal.ended())
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)
    with pytest.raises(DivergenceError):
        crossing.pull(never)
    assert session.divergences[0].actual == Datum("answer", "POST http://h/", b"read on")


def test_letting_go_where_the_recording_read_on_is_a_divergence(playing: Any) -> None:
    session = playing(one_exchange())
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)
    crossing.abandon()
    assert session.divergences[0].actual == Datum("answer", "POST http://h/", b"given up before its end")


def test_letting_go_where_the_recording_did_is_none(playing: Any) -> None:
    journal = Journal()
    event = journal.asked("POST http://h/", b"question")
    journal.got(event, PartKind.HEAD, b"{}")
    journal.got(event, PartKind.ABANDONED)
    session = playing(journal.ended())
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)
    crossing.abandon()
    assert session.divergences == []


def test_a_killed_recording_ends_where_it_was_killed(playing: Any) -> None:
    journal = Journal()
    journal.got(journal.asked("POST http://h/", b"question"), PartKind.HEAD, b"{}")
    session = playing(journal.recording)
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)
    with pytest.raises(DivergenceError):
        crossing.pull(never)
    assert session.cut
    assert session.divergences == []


def test_a_killed_recording_ends_after_its_last_event(playing: Any) -> None:
    session = playing(one_exchange(ended=False))
    crossing = Crossing.begin(session.main, ASK, revive)
    for _ in range(4):
        crossing.pull(never)
    with pytest.raises(DivergenceError):
        Crossing.begin(session.main, ASK, revive)
    assert session.cut
    assert session.divergences == []


def test_a_signal_comes_where_it_came(playing: Any) -> None:
    tape = one_exchange()
    tape.signals.append(ev.Signal(15, 0, -1))
    session = playing(tape)
    came: list[int] = []
    session.call_handler = came.append
    crossing = Crossing.begin(session.main, ASK, revive)
    assert came == []
    crossing.pull(never)
    assert came == [15]


def test_outcomes_are_given_to_the_threads_in_the_order_of_the_tape(playing: Any) -> None:
    """Whichever thread asks first."""
    journal = Journal()
    for lane in ("0.1", "0.2"):
        journal.asked("GET http://h/", lane=lane)
    for event in (1, 0, 0, 1):
        journal.got(event, PartKind.CHUNK, b"%d" % event)
    for event in (1, 0):
        journal.got(event, PartKind.END)
    session, got = playing(journal.ended()), []

    def agent(lane: Any) -> None:
        enter(lane)
        session.order.await_turn(session.strand())
        crossing = Crossing.begin(lane, Call(Kind.HTTP, "GET http://h/"), revive)
        while (answer := crossing.pull(never)).kind is PartKind.CHUNK:
            got.append(answer.data)
        got.append(b"end " + lane.path.encode())
        session.forget_strand()

    lanes = [session.main.child(""), session.main.child("")]
    threads = [threading.Thread(target=agent, args=(lane,)) for lane in lanes]
    for thread in threads:
        thread.start()
    while len(session._strands) < 3:
        _real.sleep(0)
    for strand in list(session._strands.values())[1:]:
        session.order.ready(strand)
    session.order.park(session.strand())
    for thread in threads:
        thread.join(20)
    assert got == [b"1", b"0", b"0", b"1", b"end 0.2", b"end 0.1"]


def test_when_everybody_waits_and_nobody_can_go_on_it_is_told(playing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossing_module, "PATIENCE", 0.001)
    monkeypatch.setattr(crossing_module, "STUCK_AFTER_NS", 0)
    journal = Journal()
    first = journal.asked("GET http://h/slow", lane="0.1")
    second = journal.asked("POST http://h/", b"question")
    journal.answered(first)
    journal.answered(second)
    session = playing(journal.ended())
    crossing = Crossing.begin(session.main, ASK, revive)
    with pytest.raises(DivergenceError, match="every lane waits"):
        crossing.pull(never)
    (divergence,) = session.divergences
    assert divergence.what is What.STUCK
    assert "tick 0: head of event 0 (GET http://h/slow) in lane 0.1" in divergence.notes[0]


# In coroutines


def test_a_coroutine_is_recorded_the_same(crossing: Crossing, kept: Kept) -> None:
    async def gives_async() -> Answer:
        return CHUNK

    async def main() -> None:
        assert await crossing.apull(gives_async) is CHUNK

    asyncio.run(main())
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.CHUNK]


def test_a_coroutine_that_fails_is_recorded_the_same(crossing: Crossing, kept: Kept) -> None:
    async def fails_async() -> Answer:
        raise ConnectionResetError(104, "reset")

    with pytest.raises(ConnectionResetError):
        asyncio.run(crossing.apull(fails_async))
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.FAILURE]


def test_a_task_that_is_cancelled_gives_its_answer_up(crossing: Crossing, kept: Kept) -> None:
    async def hangs() -> Answer:
        await asyncio.Event().wait()
        return END

    async def main() -> None:
        task = asyncio.ensure_future(crossing.apull(hangs))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.CANCELLED]
    assert crossing.closed


def test_a_coroutine_gets_the_tapes_answer(playing: Any) -> None:
    session = playing(one_exchange())
    crossing = Crossing.begin(session.main, ASK, revive)

    async def main() -> list[bytes]:
        return [(await crossing.apull(never_async)).data for _ in range(4)]

    assert asyncio.run(main())[1:] == [b"one", b"two", b""]


def test_giving_up_waits_until_the_connection_is_released(crossing: Crossing, kept: Kept) -> None:
    released = []

    async def release() -> None:
        assert not kept.of(ev.Part)
        released.append(True)

    asyncio.run(crossing.give_up(release))
    asyncio.run(crossing.give_up(release))
    assert released == [True]
    assert [PartKind(part.kind) for part in kept.of(ev.Part)] == [PartKind.GIVEN_UP]


def test_giving_up_in_replay_releases_nothing(playing: Any) -> None:
    journal = Journal()
    event = journal.asked("POST http://h/", b"question")
    journal.got(event, PartKind.HEAD, b"{}")
    journal.got(event, PartKind.GIVEN_UP)
    session = playing(journal.ended())
    crossing = Crossing.begin(session.main, ASK, revive)
    crossing.pull(never)

    async def release() -> None:
        raise AssertionError("there is no connection")

    asyncio.run(crossing.give_up(release))
    assert crossing.closed
    assert session.divergences == []
