"""The baton: one strand at a time, in an order that the program and the outcomes decide, and nobody is forgotten."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from reenact import _real
from reenact.engine import order as order_module
from reenact.engine.order import Order, Strand

SECONDS = 20.0  # after which a strand that should have gone on is taken to be forgotten


def strands(order: Order, names: str) -> list[Strand]:
    """Strands of these names; the first has the baton."""
    made = [Strand(name, order) for name in names]
    order.begin(made[0])
    return made


# In recording


def test_the_first_strand_has_the_baton() -> None:
    order = Order()
    a, b = strands(order, "ab")
    assert order.has(a)
    assert not order.has(b)


def test_those_made_ready_run_in_that_order_and_one_at_a_time() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    order.ready(b)
    order.ready(c)
    assert not b.granted
    assert not c.granted
    order.park(a)
    assert b.take()
    assert not c.granted
    order.park(b)
    assert c.take()


def test_what_the_program_made_ready_goes_before_what_arrived() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    assert not order.arrive(b)
    order.ready(c)
    order.park(a)
    assert c.take()
    assert not b.granted
    order.park(c)
    assert b.take()


def test_outcomes_that_arrived_are_let_in_one_by_one_and_counted() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    order.park(a)
    assert order.arrive(c)
    assert order.cursor == 1
    assert not order.arrive(b)
    assert not order.arrive(a)
    order.park(c)
    assert b.take()
    order.park(b)
    assert a.take()
    assert order.cursor == 3


def test_who_arrives_while_nobody_runs_goes_on_at_once() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.park(a)
    assert order.arrive(b)
    assert order.has(b)
    assert not b.granted


def test_a_turn_that_comes_while_its_strand_is_about_to_ask_again_is_not_lost() -> None:
    """A loop asks in between whether its turn has come; another thread may give it just before."""
    order = Order()
    a, b = strands(order, "ab")
    assert not order.arrive(b)
    order.park(a)  # gives b its turn, which has not looked yet
    assert order.pass_on(b)
    assert (b.tick, order.cursor) == (0, 1)
    assert order.has(b)


def test_who_asks_in_between_without_a_turn_gives_the_baton_back() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.ready(b)
    assert not order.pass_on(a)
    assert b.take()
    order.ready(a)
    assert not order.pass_on(b)
    assert a.take()


def test_a_turn_whose_outcome_is_there_no_more_gives_its_tick_to_the_next() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.park(a)
    assert order.arrive(a)
    order.unturn(a)
    assert order.cursor == 0
    order.unturn(a)
    assert order.cursor == 0
    order.park(a)
    assert order.arrive(b)
    assert b.tick == 0


def test_being_made_ready_twice_is_one_turn() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.ready(b)
    order.ready(b)
    order.park(a)
    assert b.take()
    order.park(b)
    assert not b.granted
    assert not order.has(b)


def test_who_runs_needs_no_turn() -> None:
    order = Order()
    a, _ = strands(order, "ab")
    order.ready(a)
    order.park(a)
    assert not a.granted


def test_to_park_without_the_baton_takes_it_from_nobody() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.park(b)
    assert order.has(a)


# Waits that run out


def test_a_wait_that_ran_out_gets_its_turn_and_is_told() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.expire(b)
    assert not b.granted
    order.park(a)
    assert b.take()
    assert b.expired
    assert order.cursor == 1


def test_made_ready_before_the_wait_ran_out_is_no_expiry() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.ready(b)
    order.expire(b)
    order.park(a)
    assert b.take()
    assert not b.expired
    assert order.cursor == 0


def test_made_ready_after_the_wait_ran_out_but_before_the_turn_is_no_expiry_and_one_turn() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    order.expire(b)
    order.ready(c)
    order.ready(b)
    order.park(a)
    assert c.take()
    order.park(c)
    assert b.take()
    assert not b.expired
    order.park(b)
    assert not b.granted
    assert order.cursor == 0


def test_who_takes_back_that_something_came_has_no_turn() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    order.arrive(b)
    order.arrive(c)
    order.withdraw(b)
    order.park(a)
    assert c.take()
    order.park(c)
    assert not b.granted
    assert order.cursor == 1
    assert order.arrive(b)


# Passing by


def test_a_strand_that_holds_on_is_passed_by_and_runs_on() -> None:
    order, told = Order(), []
    order.handed = lambda: told.append(order.cursor)
    a, b = strands(order, "ab")
    order.ready(b)
    order.force()
    assert b.take()
    assert told == [0]
    assert order.has(a)
    assert order.has(b)
    order.park(a)
    assert not order.has(a)
    assert order.has(b)


def test_nobody_is_passed_by_for_nobody() -> None:
    order, told = Order(), []
    order.handed = lambda: told.append(0)
    a, _ = strands(order, "ab")
    order.force()
    assert told == []
    order.park(a)
    order.force()
    assert told == []


def test_a_strand_that_was_passed_by_waits_again_like_the_others() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.ready(b)
    order.force()
    assert b.take()
    assert not order.arrive(a)
    assert not order.has(a)
    order.park(b)
    assert a.take()


def test_a_finalizer_may_make_a_strand_ready_in_the_midst_of_a_turn() -> None:
    """The collector runs where it likes: also where the order is being changed, on the same thread."""
    order = Order()
    a, b, c = strands(order, "abc")

    class Queue(deque[Strand]):
        def popleft(self) -> Strand:
            if c not in self:
                order.ready(c)
            return super().popleft()

    order._ready = Queue()
    order.ready(b)
    order.park(a)
    assert b.take()
    assert not c.granted
    order.park(b)
    assert c.take()


def test_who_was_made_ready_while_nobody_looked_gets_its_turn_from_those_who_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order_module, "_PATIENCE_NS", 0)
    order = Order()
    a, b = strands(order, "ab")
    order.park(a)
    order._ready.append(b)
    order.press()
    assert b.take()


def test_in_replay_only_those_are_passed_by_that_were() -> None:
    order = Order(frozenset({1}))
    a, b, c = strands(order, "abc")
    order.want(0, b)
    order.want(1, c)
    order.force()
    assert not b.granted
    order.park(a)
    assert b.take()
    order.force()
    assert c.take()
    assert order.has(b)


def test_in_replay_somebody_who_holds_on_for_very_long_is_passed_by() -> None:
    order = Order(frozenset())
    _, b = strands(order, "ab")
    order.want(0, b)
    order.force(order_module._LAST_RESORT_NS)
    assert b.take()


@pytest.mark.parametrize(
    ("wall", "processor", "passed"), [(0.9, 0.9, False), (1.1, 1.1, True), (9.0, 0.1, False), (11.0, 0.1, True)]
)
def test_somebody_who_runs_is_passed_by_for_what_it_had_of_a_processor(
    monkeypatch: pytest.MonkeyPatch, wall: float, processor: float, *, passed: bool
) -> None:
    """A recording. On a machine with much to do a program makes its way slowly, and is not stuck."""
    now, had, instructions = [_real.monotonic_ns()], [5_000_000_000], iter(range(1000))
    monkeypatch.setattr(_real, "monotonic_ns", lambda: now[0])
    monkeypatch.setattr(Strand, "consumed", lambda _self: had[0])
    monkeypatch.setattr(Strand, "activity", lambda _self: f"runs {next(instructions)}")
    order = Order()
    _, b = strands(order, "ab")
    order.arrive(b)
    order.press()
    for _ in range(10):
        now[0] += int(wall * 1e8)
        had[0] += int(processor * 1e8)
        order.press()
    assert b.granted is passed


def test_what_a_thread_has_had_of_a_processor_grows_while_it_runs() -> None:
    strand = Strand("a", Order())
    strand.native_id = _real.get_native_id()
    before = strand.consumed()
    while strand.consumed() - before < 20_000_000:
        pass
    strand.native_id = -1
    clock = _real.monotonic_ns()
    assert clock <= strand.consumed() <= clock + SECONDS * 1e9


def test_a_holder_that_is_blocked_for_real_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_module, "PATIENCE", 0.005)
    order, told, gate = Order(), [], threading.Event()
    order.handed = lambda: told.append(0)
    a, b = strands(order, "ab")
    done = threading.Event()

    def holder() -> None:
        a.native_id = _real.get_native_id()
        gate.wait()
        order.park(a)
        done.set()

    thread = threading.Thread(target=holder)
    thread.start()
    try:
        assert not order.arrive(b)
        assert order.await_turn(b, SECONDS)
    finally:
        gate.set()
        thread.join()
    assert told == [0]
    assert order.has(b)
    assert not order.has(a)


def test_a_wait_for_the_turn_ends_in_time() -> None:
    order = Order()
    _, b = strands(order, "ab")
    order.ready(b)
    assert not order.await_turn(b, 0.001)
    assert not order.await_turn(b, 0)
    assert not order.await_turn(b, -1)


# Going away


def test_a_strand_that_leaves_is_let_go_no_more() -> None:
    order = Order()
    a, b, c = strands(order, "abc")
    order.ready(b)
    order.arrive(c)
    order.leave(b)
    order.leave(c)
    assert order.has(b)  # it runs on without a turn
    order.park(a)
    assert not b.granted
    assert not c.granted
    order.park(b)
    order.ready(b)
    assert b.take()


def test_a_strand_that_leaves_with_the_baton_keeps_it() -> None:
    order = Order()
    a, b = strands(order, "ab")
    order.ready(b)
    order.park(a)
    order.leave(b)  # the turn had come, and an exception too
    assert order.has(b)
    order.park(b)
    assert not b.granted
    order.ready(a)
    assert a.take()


def test_a_strand_that_leaves_wants_no_ticks() -> None:
    order = Order(frozenset())
    a, b = strands(order, "ab")
    order.want(0, b)
    order.want(5, b)
    order.want(3, a)
    order.leave(b)
    assert order.waiting() == {3: "a"}


def test_when_the_run_is_over_nobody_waits() -> None:
    order = Order()
    made = strands(order, "abcd")
    order.ready(made[1])
    order.arrive(made[2])
    threads = [threading.Thread(target=order.await_turn, args=(strand,)) for strand in made[1:]]
    for thread in threads:
        thread.start()
    order.dissolve()
    joined(threads)


# In replay


@given(st.permutations(range(6)), st.permutations(range(6)))
def test_in_replay_strands_go_on_in_the_order_of_their_ticks(ticks: list[int], arrivals: list[int]) -> None:
    order = Order(frozenset())
    main, *others = strands(order, "mabcdef")
    for at in arrivals:
        assert not order.arrive(others[at], ticks[at])
    ran: list[int] = []
    order.park(main)
    while running := [at for at, strand in enumerate(others) if strand.granted]:
        (at,) = running
        assert others[at].take()
        ran.append(ticks[at])
        order.park(others[at])
    assert ran == sorted(ticks)
    assert order.cursor == 6


def test_in_replay_a_tick_that_nobody_wants_is_waited_for() -> None:
    order = Order(frozenset())
    a, b, c = strands(order, "abc")
    order.park(a)
    assert not order.arrive(c, 1)
    assert not c.granted
    assert order.arrive(b, 0)
    order.park(b)
    assert c.take()


def test_in_replay_who_was_made_ready_goes_first_and_without_a_tick() -> None:
    order = Order(frozenset())
    a, b, c = strands(order, "abc")
    order.want(0, b)
    order.ready(c)
    order.park(a)
    assert c.take()
    assert order.cursor == 0
    order.park(c)
    assert b.take()
    assert order.cursor == 1


def test_in_replay_a_wish_can_be_taken_back() -> None:
    order = Order(frozenset())
    a, b = strands(order, "ab")
    order.want(0, b)
    order.unwant(0)
    order.unwant(0)
    order.park(a)
    assert not b.granted


def test_in_replay_a_passable_tick_goes_by_when_nobody_wants_it() -> None:
    order = Order(frozenset({1}), passable=frozenset({0, 1, 3}))
    a, b, c = strands(order, "abc")
    assert not order.arrive(b, 2)
    order.want(3, c)
    assert order.cursor == 0, "whoever has the baton may still come to want it"
    order.park(a)
    assert b.take()
    assert order.cursor == 3
    order.park(b)
    assert c.take(), "this one is wanted"
    assert order.cursor == 4


def test_in_replay_a_strand_that_was_passed_by_may_still_come_to_want_a_passable_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 10**12
    monkeypatch.setattr(_real, "monotonic_ns", lambda: now)
    order = Order(frozenset({0}), passable=frozenset({0, 1}))
    a, b, c = strands(order, "abc")
    order.ready(b)
    order.force()
    assert b.take(), "a was passed by, and runs on"
    order.want(2, c)
    order.park(b)
    order.press()
    assert order.cursor == 0
    order.want(0, a)
    order.park(a)
    assert a.take()
    assert order.cursor == 1
    order.ready(b)
    order.park(a)
    assert b.take()
    order.ready(a)
    order.force(10 * 10**9)
    assert a.take(), "b was passed by, and does not come"
    order.park(a)
    for _ in range(2):
        assert not c.granted
        now += 2 * 10**9
        order.press()
    assert c.take()


def test_in_replay_nobody_is_passed_by_at_another_place_because_a_tick_went_by() -> None:
    order = Order(frozenset({0}), passable=frozenset({0}))
    a, b = strands(order, "ab")
    order.park(a)
    assert order.cursor == 1
    order.ready(a)
    assert a.take()
    order.want(1, b)
    order.force()
    assert b.take(), "a was passed by before tick 0, which has gone by"


def test_in_replay_a_strand_goes_on_without_a_tick_when_nobody_else_can() -> None:
    order = Order(frozenset())
    a, b, c = strands(order, "abc")
    assert not order.claim(b), "a runs"
    order.want(0, c)
    order.park(a)
    assert c.take()
    assert not order.claim(b), "c runs"
    order.park(c)
    order.ready(c)
    assert not order.claim(b), "c has been made ready"
    assert c.take()
    order.park(c)
    assert order.claim(b)
    assert order.has(b)
    assert (order.cursor, b.tick) == (1, -1)


def test_in_replay_a_tick_is_let_in_for_who_runs_and_wants_it() -> None:
    order = Order(frozenset())
    a, b = strands(order, "ab")
    order.want(0, a)
    order.want(1, b)
    order.want(2, a)
    assert order.skip(a)
    assert order.cursor == 1
    assert not order.skip(a)
    assert not order.skip(a)
    assert order.waiting() == {1: "b", 2: "a"}
    order.park(a)
    assert b.take()


@pytest.mark.parametrize(
    ("wanted", "ready", "parked", "stuck"),
    [
        pytest.param(1, False, True, True, id="stuck"),
        pytest.param(0, False, True, False, id="its-turn"),
        pytest.param(None, False, True, False, id="nobody-waits"),
        pytest.param(1, True, True, False, id="another-can"),
        pytest.param(1, False, False, False, id="one-runs"),
    ],
)
def test_stuck_is_when_nobody_can_bring_the_tick_nearer(
    wanted: int | None, ready: bool, parked: bool, stuck: bool
) -> None:
    order = Order(frozenset())
    a, b, c = strands(order, "abc")
    if wanted is not None:
        order.want(wanted, b)
    if ready:
        order.ready(c)
    if parked:
        order.park(a)
    assert order.stuck == stuck


# Any sequence of what may happen


class Batons(RuleBasedStateMachine):
    """The order beside a model: two queues, one holder. Strands are 'waiting' (parked) or 'running'."""

    def __init__(self) -> None:
        super().__init__()
        self.order = Order()
        self.all = strands(self.order, "abcde")
        self.running: Strand | None = self.all[0]
        self.loose: set[Strand] = set()
        self.ready: deque[Strand] = deque()
        self.arrived: deque[Strand] = deque()
        self.expired: set[Strand] = set()
        self.ticks = 0

    def granted(self) -> None:
        """Moves the model on, and compares."""
        if self.running is None and self.ready:
            self.running = self.ready.popleft()
        elif self.running is None and self.arrived:
            self.running = self.arrived.popleft()
            self.ticks += 1
        for strand in self.all:
            strand.take()
            assert self.order.has(strand) == (strand is self.running or strand in self.loose)

    def some(self, draw: st.DataObject, *, among: list[Strand] | None = None) -> Strand | None:
        """A strand that waits, for nothing that has come yet."""
        free = [s for s in self.all if s is not self.running and s not in (*self.loose, *self.ready, *self.arrived)]
        chosen = free if among is None else among
        return draw.draw(st.sampled_from(chosen)) if chosen else None

    @rule(data=st.data())
    def make_ready(self, data: st.DataObject) -> None:
        strand = data.draw(st.sampled_from(self.all))
        if strand in self.loose or (strand in self.arrived and strand not in self.expired):
            return  # it does not wait to be made ready: its outcome is on the way, or it runs
        self.order.ready(strand)
        if strand in self.expired and strand in self.arrived:
            self.expired.discard(strand)
            self.arrived.remove(strand)
        if strand is not self.running and strand not in self.ready:
            self.ready.append(strand)
        self.granted()

    @rule(data=st.data())
    def arrive(self, data: st.DataObject) -> None:
        if (strand := self.some(data)) is not None:
            self.order.arrive(strand)
            self.arrived.append(strand)
            self.granted()

    @rule(data=st.data())
    def expire(self, data: st.DataObject) -> None:
        if (strand := self.some(data)) is not None:
            self.order.expire(strand)
            self.expired.add(strand)
            self.arrived.append(strand)
            self.granted()

    @rule(data=st.data())
    def park(self, data: st.DataObject) -> None:
        strand = self.some(data, among=[s for s in self.all if s is self.running or s in self.loose])
        if strand is None:
            return
        assert strand.expired == (strand in self.expired)
        strand.expired = False
        self.expired.discard(strand)
        self.order.park(strand)
        if strand is self.running:
            self.running = None
        self.loose.discard(strand)
        self.granted()

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        strand = self.some(data, among=[s for s in self.arrived if s not in self.expired])
        if strand is not None:
            self.order.withdraw(strand)
            self.arrived.remove(strand)

    @precondition(lambda self: self.running is not None and (self.ready or self.arrived))
    @rule()
    def force(self) -> None:
        assert self.running is not None
        self.order.force()
        self.loose.add(self.running)
        self.running = None
        self.granted()

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        strand = data.draw(st.sampled_from(self.all))
        self.order.leave(strand)
        for queue in (self.ready, self.arrived):
            if strand in queue:
                queue.remove(strand)
        self.expired.discard(strand)
        strand.expired = False
        if strand is not self.running:
            self.loose.add(strand)

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        assert self.running is not None or not (self.ready or self.arrived)
        assert self.order.cursor == self.ticks


TestBatons = Batons.TestCase
TestBatons.settings = settings(max_examples=60, stateful_step_count=30)


# With threads


def joined(threads: list[threading.Thread]) -> None:
    """Fails when a thread hangs."""
    for thread in threads:
        thread.join(SECONDS)
    assert not [thread.name for thread in threads if thread.is_alive()]


class Stage:
    """Threads that take turns as the lanes of a run do. `log` is who did what, in order; `ticks` whose outcome came.

    With `ticks` of another run it is a replay of that.
    """

    def __init__(self, ticks: list[str] | None = None) -> None:
        self.order = Order(None if ticks is None else frozenset())
        self.log: list[str] = []
        self.ticks: list[str] = []
        self.handed = 0
        self._of: dict[str, Iterator[int]] = {}
        self._played = ticks
        self._inside = 0
        self._main = Strand("main", self.order)
        self.order.begin(self._main)
        self.order.handed = self._was_handed
        self.together: list[str] = []

    def _was_handed(self) -> None:
        self.handed += 1

    def run(self, *bodies: Callable[[Stage, Strand], None]) -> None:
        """Runs each body in a thread of its own, until all have ended."""
        made = [Strand(f"s{at}", self.order) for at in range(len(bodies))]
        threads = [threading.Thread(target=self._thread, args=(s, body)) for s, body in zip(made, bodies, strict=True)]
        for thread in threads:
            thread.start()
        for strand in made:
            self.order.ready(strand)
        self.order.park(self._main)
        joined(threads)

    def _thread(self, strand: Strand, body: Callable[[Stage, Strand], None]) -> None:
        strand.native_id = _real.get_native_id()
        self.order.await_turn(strand)
        body(self, strand)
        self.do(strand, "ends")
        self.order.park(strand)

    def do(self, strand: Strand, what: str) -> None:
        """Something that only one strand may do at a time."""
        self._inside += 1
        if self._inside != 1:
            self.together.append(f"{strand.name} {what}")
        self.log.append(f"{strand.name} {what}")
        _real.sleep(0)
        self._inside -= 1

    def cross(self, strand: Strand) -> None:
        """A boundary: the outcome comes in its own time, and the strand goes on in turn."""
        if self._played is not None:
            if not self.order.arrive(strand, self._tick(strand)):
                self.order.await_turn(strand)
        else:
            self.order.park(strand)
            for _ in range(_real.monotonic_ns() % 7):
                _real.sleep(0)
            if not self.order.arrive(strand):
                self.order.await_turn(strand)
            self.ticks.append(strand.name)
        self.do(strand, "crossed")

    def block(self, strand: Strand, seconds: float | None = None) -> bool:
        """Waits to be made ready; False when the time ran out first (recording)."""
        self.order.park(strand)
        if not self.order.await_turn(strand, seconds):
            self.order.expire(strand)
            self.order.await_turn(strand)
        expired, strand.expired = strand.expired, False
        return not expired

    def _tick(self, strand: Strand) -> int:
        if strand.name not in self._of:
            self._of[strand.name] = iter([at for at, name in enumerate(self._played or ()) if name == strand.name])
        return next(self._of[strand.name])


class Mutex:
    """A lock whose waiters are made ready in order, as the seam's is."""

    def __init__(self) -> None:
        self.owner: Strand | None = None
        self.waiting: deque[Strand] = deque()

    def acquire(self, stage: Stage, strand: Strand) -> None:
        while self.owner is not None:
            self.waiting.append(strand)
            stage.block(strand)
        self.owner = strand

    def release(self) -> None:
        self.owner = None
        if self.waiting:
            waiter = self.waiting.popleft()
            waiter.order.ready(waiter)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is passed by for being slow, and a wake-up that is lost is not made up for by looking again."""
    monkeypatch.setattr(order_module, "PATIENCE", SECONDS * 2)


def worker(mutex: Mutex, steps: int) -> Callable[[Stage, Strand], None]:
    def body(stage: Stage, strand: Strand) -> None:
        for step in range(steps):
            stage.cross(strand)
            mutex.acquire(stage, strand)
            stage.do(strand, f"has the lock {step}")
            stage.cross(strand)
            mutex.release()

    return body


@pytest.mark.usefixtures("patient")
def test_threads_run_one_at_a_time_and_all_come_to_their_end() -> None:
    stage, mutex = Stage(), Mutex()
    stage.run(*[worker(mutex, 40) for _ in range(6)])
    assert stage.together == []
    assert Counter(stage.ticks) == {f"s{at}": 80 for at in range(6)}
    assert stage.order.cursor == len(stage.ticks)
    assert stage.handed == 0


@pytest.mark.usefixtures("patient")
def test_the_same_program_with_the_same_arrivals_runs_in_the_same_order() -> None:
    mutex = Mutex()
    recorded = Stage()
    recorded.run(*[worker(mutex, 15) for _ in range(5)])
    for _ in range(3):
        played, mutex = Stage(recorded.ticks), Mutex()
        played.run(*[worker(mutex, 15) for _ in range(5)])
        assert played.log == recorded.log
        assert played.order.cursor == recorded.order.cursor


@pytest.mark.usefixtures("patient")
def test_any_order_of_arrivals_can_be_played() -> None:
    """Not only one that happened: the tape's order decides, not the threads'."""

    def body(stage: Stage, strand: Strand) -> None:
        for _ in range(4):
            stage.cross(strand)

    for ticks in (["s0"] * 4 + ["s1"] * 4 + ["s2"] * 4, ["s2", "s1", "s0"] * 4, ["s1", "s0"] * 4 + ["s2"] * 4):
        stage = Stage(ticks)
        stage.run(body, body, body)
        assert [line.split()[0] for line in stage.log if "crossed" in line] == ticks


@pytest.mark.usefixtures("patient")
def test_no_wake_up_is_lost_when_waits_run_out_at_the_same_moment() -> None:
    """Each token is handed over by `ready` while its taker's wait is running out, and each is seen."""
    rounds, takers = 120, 4
    slots: list[int] = [0] * takers
    made: dict[int, Strand] = {}
    expired = Counter[int]()

    def taker(at: int) -> Callable[[Stage, Strand], None]:
        def body(stage: Stage, strand: Strand) -> None:
            made[at] = strand
            for step in range(rounds):
                while not slots[at]:
                    # every third wait has no end: a lost wake-up would hang it
                    seconds = None if step % 3 == 0 else (step % 7) * 0.0001
                    expired[at] += not stage.block(strand, seconds)
                slots[at] -= 1
                stage.do(strand, f"took {step}")

        return body

    def giver(stage: Stage, strand: Strand) -> None:
        for step in range(rounds):
            for at in range(takers):
                slots[at] += 1
                stage.order.ready(made[at])
                if (step + at) % 3:
                    stage.cross(strand)
            stage.cross(strand)

    stage = Stage()
    stage.run(*map(taker, range(takers)), giver)
    assert stage.together == []
    assert slots == [0] * takers
    assert sum(expired.values()) > 0
    assert stage.order.cursor == len(stage.ticks) + sum(expired.values())


@pytest.mark.usefixtures("patient")
def test_strands_that_leave_their_waits_hold_nobody_up() -> None:
    """As an exception from a signal handler, or a task that is cancelled, makes them do."""

    def body(stage: Stage, strand: Strand) -> None:
        for step in range(30):
            stage.cross(strand)
            if step % 3 == 0:
                stage.order.park(strand)
                stage.order.await_turn(strand, 0.0001)
                stage.order.leave(strand)
                stage.log.append(f"{strand.name} left")

    stage = Stage()
    stage.run(*[body] * 5)
    assert Counter(line.split()[1] for line in stage.log) == {"crossed": 150, "left": 50, "ends": 5}
