"""Lanes: named by birth, and a context at a time is in one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextvars import copy_context

import pytest

from reenact.engine.lane import MUTED, Lane, current, enter, get_lane, leave, muted
from reenact.engine.plan import RECORD
from reenact.engine.session import Session
from reenact.tape import event as ev
from reenact.tape.writer import HEAVY_BYTES
from tests.engine.kept import Kept, recording


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def session(kept: Kept) -> Session:
    return recording(kept)


@pytest.fixture
def main(session: Session) -> Iterator[Lane]:
    token = enter(session.main)
    yield session.main
    leave(token)


def test_a_lane_is_named_by_its_birth(main: Lane, kept: Kept) -> None:
    first, second = main.child("plan"), main.child("search")
    deeper = first.child("fetch")
    assert [lane.path for lane in (main, first, second, deeper)] == ["0", "0.1", "0.2", "0.1.1"]
    born = [(record.index, record.path, record.name) for record in kept.of(ev.LaneBorn)]
    assert born == [(0, "0", "main"), (1, "0.1", "plan"), (2, "0.2", "search"), (3, "0.1.1", "fetch")]


def test_names_do_not_depend_on_which_lane_is_quicker(session: Session) -> None:
    one, two = session.main.child(""), session.main.child("")
    paths = {two.child("").path, one.child("").path, two.child("").path}
    assert paths == {"0.2.1", "0.1.1", "0.2.2"}


def test_a_lane_knows_the_line_that_bore_it(main: Lane) -> None:
    child = main.child("")
    assert child.origin is not None
    assert child.origin.file == __file__
    assert child.origin.function.endswith(":test_a_lane_knows_the_line_that_bore_it")


def test_a_muted_lane_bears_itself() -> None:
    assert MUTED.child("x") is MUTED


def test_what_is_below_a_boundary_is_in_no_lane(main: Lane) -> None:
    assert current() is main
    with muted():
        assert current() is None
        assert get_lane() is MUTED
        with muted():
            assert current() is None
        assert current() is None
    assert current() is main


def test_an_exception_leaves_the_muted_place_too(main: Lane) -> None:
    with pytest.raises(ValueError, match="x"), muted():
        raise ValueError("x")
    assert current() is main


def test_a_thread_is_in_no_lane_until_it_enters_one(main: Lane) -> None:
    found: list[Lane | None] = []
    thread = threading.Thread(target=lambda: found.append(current()))
    thread.start()
    thread.join()
    assert found == [None]


def test_a_context_that_was_copied_stays_in_its_lane(main: Lane) -> None:
    context = copy_context()
    child = main.child("")
    token = enter(child)
    assert context.run(current) is main
    assert current() is child
    leave(token)


def test_when_the_run_is_over_its_lanes_are_in_nobodys_sight(session: Session, main: Lane) -> None:
    child = main.child("")
    session.dissolve()
    assert current() is None
    assert child.session is None
    assert not child.live


def test_draws_are_kept_in_order_with_the_next_commit(session: Session, main: Lane, kept: Kept) -> None:
    for value in (1, 2, 3):
        main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)
    assert not kept.of(ev.Draws)
    session.commit()
    (draws,) = kept.of(ev.Draws)
    assert (draws.lane, draws.draws) == (0, [(ev.DrawKind.TIME_NS, 0, [1, 2, 3])])
    session.commit()
    assert len(kept.of(ev.Draws)) == 1


def test_draws_of_every_lane_are_kept_by_one_commit(session: Session, main: Lane, kept: Kept) -> None:
    lanes = [main, main.child(""), main.child("")]
    for lane in lanes:
        lane.drew(ev.DrawKind.TIME_NS, sys._getframe(), lane.index)
    session.commit()
    assert {draws.lane: draws.draws for draws in kept.of(ev.Draws)} == {
        lane.index: [(ev.DrawKind.TIME_NS, 0, [lane.index])] for lane in lanes
    }


def test_very_many_draws_do_not_wait_for_a_commit(main: Lane, kept: Kept) -> None:
    for value in range(20_000):
        main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)
    assert len(kept.of(ev.Draws)) == 2
    ((_, _, left),) = main.drawn.take()
    assert len(left) < 8192
    written = [value for record in kept.of(ev.Draws) for _, _, values in record.draws for value in values]
    assert written + left == list(range(20_000))


def test_draws_are_kept_apart_by_kind_and_call_site(session: Session, main: Lane, kept: Kept) -> None:
    def elsewhere(value: int) -> None:
        main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)

    for value in (1, 3):
        main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)
        main.drew(ev.DrawKind.TIME, sys._getframe(), value / 2)
        elsewhere(value + 1)
    session.commit()
    (draws,) = kept.of(ev.Draws)
    time_ns, time = ev.DrawKind.TIME_NS, ev.DrawKind.TIME
    assert draws.draws == [(time_ns, 0, [1, 3]), (time, 0, [0.5, 1.5]), (time_ns, 1, [2, 4])]


def test_code_of_the_same_name_draws_in_one_order(session: Session, main: Lane, kept: Kept) -> None:
    kind = ev.DrawKind.TIME_NS
    draws = [
        lambda value: main.drew(kind, sys._getframe(), value),
        lambda value: main.drew(kind, sys._getframe(), value),
    ]
    for value in range(6):
        draws[value % 2](value)
    session.commit()
    for value in range(6, 9):
        draws[1 - value % 2](value)
    session.commit()
    assert [record.draws for record in kept.of(ev.Draws)] == [
        [(kind, 0, [0, 1, 2, 3, 4, 5])],
        [(kind, 0, [6, 7, 8])],
    ]


def test_a_call_site_that_draws_now_and_then_is_kept_each_time(session: Session, main: Lane, kept: Kept) -> None:
    for value in range(12):
        if value % 3 == 0:
            main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)
        session.commit()
        assert bool(session.dirty) == bool(main.drawn)
    assert [draws.draws[0][2] for draws in kept.of(ev.Draws)] == [[0], [3], [6], [9]]
    session.commit()
    assert not main.drawn
    assert not session.dirty


def test_draws_alone_are_committed_when_they_are_a_lot(session: Session, main: Lane, kept: Kept) -> None:
    for value in range(300_000):
        main.drew(ev.DrawKind.TIME_NS, sys._getframe(), value)
    assert kept.commits == 1
    assert kept.durable >= 32
    assert not session.faults


def test_a_commit_that_is_due_while_many_lanes_have_drawn_is_one(session: Session, main: Lane, kept: Kept) -> None:
    lanes = [main.child("") for _ in range(2_000)]
    for lane in lanes:
        lane.drew(ev.DrawKind.TIME_NS, sys._getframe(), lane.index)
    kept.weight = HEAVY_BYTES
    session.keep(ev.Handed())
    assert (kept.commits, kept.weight, session.faults) == (1, 0, [])
    assert len(kept.of(ev.Draws)) == len(lanes)


def test_output_is_kept_in_stretches_of_one_stream(session: Session, main: Lane, kept: Kept) -> None:
    out, err = ev.Stream.STDOUT, ev.Stream.STDERR
    for stream, data in ((out, b"a"), (out, b"b"), (err, b"c"), (out, b"d"), (out, b"e")):
        session.wrote(main, stream, data)
    session.commit()
    assert [(record.stream, record.data) for record in kept.of(ev.Wrote)] == [(out, b"ab"), (err, b"c"), (out, b"de")]


def test_a_recording_and_another_number_their_lanes_apart(session: Session) -> None:
    session.main.child("")
    assert Session(RECORD, None).main.child("").path == "0.1"
