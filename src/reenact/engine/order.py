"""Who may go on, and when. One baton per run: whoever has it runs, everyone else waits for it.

A strand is a thread: one that runs the agent's code, or the one that turns an event loop. It gives the baton back when
it crosses a boundary, blocks, or ends. Then it goes to the strands that the program itself made ready, in that order,
and when there are none, to the next outcome from outside: in recording the first that arrived, in replay the one that
the tape names. So the order of outcomes on tape decides the order of everything else.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from reenact import _real

PATIENCE = 0.05
_PATIENCE_NS = 50_000_000
_BUSY_NS = 1_000_000_000
_LOOKERS = 16  # so many strands look as often as each of a few does
_STARVED = 10  # one who runs is taken to have had a processor for so small a part of the time at least
_LAST_RESORT_NS = 3_000_000_000
_HOPELESS_NS = 30_000_000_000


class Strand:
    """One thread of the program. `also` is called, from any thread, when its turn has come: a loop wakes up by it.

    `tick` is the outcome that its last turn came by; -1: the program itself had made it ready.
    """

    __slots__ = ("_gate", "also", "expired", "granted", "ident", "name", "native_id", "order", "tick")

    def __init__(self, name: str, order: Order) -> None:
        self.name = name
        self.order = order
        self.granted = False
        self.expired = False
        self.ident = 0
        self.native_id = 0
        self.tick = -1
        self.also: Callable[[], None] | None = None
        self._gate = _real.allocate_lock()
        self._gate.acquire()

    def wait(self, seconds: float) -> bool:
        """Blocks this thread until its turn has come, or for that many seconds. Takes the turn if it has come."""
        if not self.granted:
            self._gate.acquire(timeout=seconds)
        return self.take()

    def take(self) -> bool:
        """Takes the turn if it has come."""
        if not self.granted:
            return False  # and nothing is written: the turn may come at this very moment, from another thread
        self.granted = False
        self._gate.acquire(blocking=False)
        if self.order.taken is not None:
            self.order.taken()
        return True

    def activity(self) -> str:
        """What changes as long as the thread runs, and stays as it is while the thread is blocked."""
        try:
            with open(f"/proc/self/task/{self.native_id}/status", encoding="ascii") as file:  # noqa: PTH123  a hot path
                status = file.read()
        except OSError:
            return self._instruction()
        if "\nState:\tR" in status:
            return f"runs {_real.monotonic_ns()}"
        return status[status.find("\nvoluntary_ctxt_switches") :]

    def consumed(self) -> int:
        """For how long the thread has had a processor (ns); where that is not known, what the clock shows."""
        try:
            with open(f"/proc/self/task/{self.native_id}/schedstat", encoding="ascii") as file:  # noqa: PTH123  as above
                return int(file.read().partition(" ")[0])
        except (OSError, ValueError):
            return _real.monotonic_ns()

    def _instruction(self) -> str:
        """Which instruction the thread is at: all that is known of it where there is no /proc."""
        frame = _real.current_frames().get(self.ident)
        return f"{id(frame)} {frame.f_lasti}" if frame is not None else ""

    def wake(self) -> None:
        """The turn has come."""
        if self._gate.locked():
            self._gate.release()
        if self.also is not None:
            self.also()


class Order:
    """The baton of one run. `forced` is given in replay: the ticks before which a strand that held on was passed by.

    `passable` are ticks that go by when nobody wants them (replay).

    `lone` is who has the baton while the run has no other strand: it may keep that while it waits for the world, as
    nobody wants it. Should another come meanwhile, it passes the first one by, as it does anyone who is blocked.
    """

    def __init__(self, forced: AbstractSet[int] | None = None, passable: AbstractSet[int] = frozenset()) -> None:
        self._lock = _real.RLock()
        self._running: Strand | None = None
        self._loose: set[Strand] = set()
        self._ready: deque[Strand] = deque()
        self._arrived: deque[Strand] = deque()
        self._wanted: dict[int, Strand] = {}
        self._forced = set(forced) if forced is not None else None
        self._passable = frozenset(passable)
        self._over = False
        self._hopeless = False
        self._sampled = 0
        self._held_since = self._held_from = 0
        self._sample: tuple[int, Strand | None, str] = (-1, None, "")
        self._strands = self._looks = 0
        self._alone = False
        self.lone: Strand | None = None
        self.cursor = 0
        self.handed: Callable[[], None] | None = None
        self.taken: Callable[[], None] | None = None  # by a thread that goes on, while a debugger holds the run

    def begin(self, strand: Strand) -> None:
        """The first strand of the run has the baton."""
        self._give(strand)

    def count(self, strands: int) -> None:
        """How many strands the run has now."""
        with self._lock:
            self._strands, self._alone = strands, strands == 1
            self._give(self._running)

    def has(self, strand: Strand) -> bool:
        """Whether the strand may run: it holds the baton, or was passed by while it did."""
        return self._running is strand or strand in self._loose

    def park(self, strand: Strand) -> None:
        """The strand gives the baton back: it has crossed a boundary, blocks, or has ended."""
        with self._lock:
            self._put_down(strand)
            woken = self._next()
        if woken is not None:
            woken.wake()

    def block(self, strand: Strand, tick: int = -1) -> None:
        """As `park`, until another strand makes this one ready, or that tick comes."""
        if tick >= 0:
            self.want(tick, strand)
        self.park(strand)

    def pass_on(self, strand: Strand) -> bool:
        """As `park`, for one who asks in between; True when the strand's turn has come, perhaps before this and unseen.

        A turn that another thread gives at this very moment must not go back unseen: what it came by would be lost.
        """
        with self._lock:
            if strand.granted:
                return strand.take()
            self._put_down(strand)
            woken = self._next()
        if woken is strand:
            return strand.take()
        if woken is not None:
            woken.wake()
        return False

    def unturn(self, strand: Strand) -> None:
        """What the strand's turn came by is there no more: its tick is the next one's (recording)."""
        with self._lock:
            if self._running is strand and 0 <= strand.tick == self.cursor - 1:
                self.cursor = strand.tick
                strand.tick = -1

    def ready(self, strand: Strand) -> None:
        """The program itself has made the strand able to run; it gets the baton in turn, without a tick."""
        # a finalizer may be what does it, run by the collector in the midst of another of these methods
        within = self._lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
        with self._lock:
            if strand is self._running or strand in self._ready:
                return
            if strand.expired and strand in self._arrived:
                # its wait ran out, but it had not been let go for that yet: it was made ready in time
                strand.expired = False
                self._arrived.remove(strand)
            self._ready.append(strand)
            woken = None if within else self._next()
        if woken is not None:
            woken.wake()

    def counts(self, strand: Strand) -> bool:
        """Whether the next tick is the strand's without waiting: it has the baton, and nobody else is there."""
        if self.lone is not strand:
            return False
        # no call from here on, so that no other thread comes in between
        strand.tick = self.cursor
        self.cursor += 1
        return True

    def arrive(self, strand: Strand, tick: int = -1) -> bool:
        """Something came for the strand from outside; in replay it is `tick`. True when its turn has come at once."""
        if (tick < 0 or tick == self.cursor) and self.counts(strand):
            return True
        with self._lock:
            self._put_down(strand)
            if self._running is None and not self._ready:
                first = tick == self.cursor if self._forced is not None else not self._arrived
                if first:  # as nearly always: nobody else is there
                    strand.tick = self.cursor
                    self.cursor += 1
                    self._give(strand)
                    return True
            if self._forced is None:
                self._arrived.append(strand)
            else:
                self._wanted[tick] = strand
            woken = self._next()
        if woken is strand:
            return strand.take()
        if woken is not None:
            woken.wake()
        return False

    def expire(self, strand: Strand) -> None:
        """The strand's wait ran out (recording): it gets its turn, and is `expired` unless it is made ready before."""
        with self._lock:
            if strand is self._running or strand in self._ready:
                return
            strand.expired = True
            self._arrived.append(strand)
            woken = self._next()
        if woken is not None:
            woken.wake()

    @contextlib.contextmanager
    def still(self) -> Iterator[None]:
        """Inside of this nobody is passed by, nor let go on: a debugger holds the run."""
        with self._lock:
            yield

    def renumber(self) -> None:
        """This process is a copy of another, and its only thread has another number there."""
        with self._lock:
            if self._running is not None:
                self._running.native_id = _real.get_native_id()

    def dissolve(self) -> None:
        """Nobody has to wait any more: the run is over."""
        with self._lock:
            self._over = True
            waiting = [*self._ready, *self._arrived, *self._wanted.values()]
        for strand in waiting:
            strand.tick = -1
            strand.granted = True
            strand.wake()

    def forsake(self) -> None:
        """This process is a fork: nobody else is there, and whoever held the lock is not, either."""
        self._lock = _real.RLock()
        self._over = True
        self._running = self.lone = None
        for queue in (self._ready, self._arrived, self._wanted, self._loose):
            queue.clear()

    def want(self, tick: int, strand: Strand) -> None:
        """The strand goes on with `tick` when that comes (replay). It may want many, and may run meanwhile."""
        with self._lock:
            self._wanted[tick] = strand

    def skip(self, strand: Strand) -> bool:
        """The next tick is let in for the strand while it runs (replay). False when the tick is not for it."""
        with self._lock:
            self._pass()
            if self._wanted.get(self.cursor) is not strand:
                return False
            del self._wanted[self.cursor]
            self.cursor += 1
            return True

    def claim(self, strand: Strand) -> bool:
        """The strand goes on without a tick, if nobody else can go on (replay)."""
        with self._lock:
            if strand.granted:
                return strand.take()
            if self._running is not None or self._loose or self._anyone():
                return False
            strand.tick = -1
            self._give(strand)
            return True

    def unwant(self, tick: int) -> None:
        """Nobody waits for that tick any more."""
        with self._lock:
            self._wanted.pop(tick, None)

    def withdraw(self, strand: Strand) -> None:
        """The strand takes back that something came for it: it will ask again."""
        with self._lock:
            while strand in self._arrived:
                self._arrived.remove(strand)

    def leave(self, strand: Strand) -> None:
        """The strand no longer waits for anything: an exception took it out of its wait. It runs on without a turn."""
        with self._lock:
            for queue in (self._arrived, self._ready):
                while strand in queue:
                    queue.remove(strand)
            for tick in [tick for tick, other in self._wanted.items() if other is strand]:
                del self._wanted[tick]
            if self._running is not strand:
                self._loose.add(strand)

    def await_turn(self, strand: Strand, seconds: float | None = None) -> bool:
        """Blocks until the strand's turn has come; False when it has not within `seconds`. Passes by who holds on."""
        began = _real.monotonic_ns()
        while True:
            left = None if seconds is None else seconds - (_real.monotonic_ns() - began) / 1e9
            if left is not None and left <= 0:
                return strand.take()
            patience = self._until_it_looks()
            if strand.wait(patience if left is None else min(patience, left)) or self._over:
                return True
            self.press()

    def _until_it_looks(self) -> float:
        """For how long (s) a strand waits before it looks. Of many a few at a time look: they have one interpreter."""
        self._looks += 1
        return PATIENCE * (1 + self._looks % max(1, self._strands // _LOOKERS))

    def press(self) -> None:
        """Whoever waits looks now and then after the strand that holds the baton, and passes it by if it holds on."""
        with self._lock:
            now, holder = _real.monotonic_ns(), self._running
            if now - self._sampled < _PATIENCE_NS:
                return
            last, sample = self._sample, (self.cursor, holder, holder.activity() if holder is not None else "")
            self._sampled, self._sample = now, sample
            consumed = holder.consumed() if holder is not None else 0
            if sample[:2] != last[:2]:
                self._held_since, self._held_from = now, consumed
            held = now - self._held_since
            # on a machine with much to do, somebody who runs may hardly get a processor
            ran = min(held, max(consumed - self._held_from, held // _STARVED))
            if holder is None and held > _BUSY_NS:
                self._pass(patience=False)
            woken = self._next()
            self._hopeless = sample == last and held > _HOPELESS_NS and not self._anyone()
        if woken is not None:
            woken.wake()
        elif holder is not None and (sample == last or ran > _BUSY_NS):
            self.force(held if sample == last else ran)

    def force(self, waited_ns: int = 0) -> None:
        """Passes by the strand that holds the baton: it is blocked where we cannot see, or busy for long.

        In replay only where that was done in the recording, or when nothing has moved for long.
        """
        with self._lock:
            holder = self._running
            if holder is None or not self._anyone():
                return
            if self._forced is not None and self.cursor not in self._forced and waited_ns < _LAST_RESORT_NS:
                return
            self._loose.add(holder)
            self._give(None)
            if self.handed is not None:
                self.handed()
            woken = self._next()
        if woken is not None:
            woken.wake()

    @property
    def stuck(self) -> bool:
        """Whether nobody runs or can, and somebody waits for a tick that nobody else brings nearer (replay only)."""
        return (self.at_rest or self._hopeless) and bool(self._wanted)

    @property
    def at_rest(self) -> bool:
        """Whether nobody runs or can (replay only)."""
        with self._lock:
            return self._running is None and not self._loose and not self._ready and self.cursor not in self._wanted

    def exhausted(self, ticks: int, since: int = 0) -> bool:
        """Whether nobody runs or can, and the tape's order, of so many ticks, has come to its end (replay).

        Who was passed by counts for nobody after a while: it may block in C code for ever. `since`: monotonic, ns.
        """
        with self._lock:
            self._pass()
            hopeless = since and _real.monotonic_ns() - since > _LAST_RESORT_NS
            rests = self._running is None and not self._ready and (not self._loose or hopeless)
            return bool(rests) and self.cursor >= ticks

    def go_live(self) -> None:
        """The replay has come to the end of its tape, and is a recording from here on."""
        with self._lock:
            self._forced = None
            self._wanted.clear()

    def waiting(self) -> dict[int, str]:
        """Which ticks are waited for, by the name of the strand that waits."""
        with self._lock:
            return {tick: strand.name for tick, strand in self._wanted.items()}

    def _pass(self, *, patience: bool = True) -> None:
        """Passable ticks that nobody wants go by; while somebody runs on who was passed by, only without patience."""
        if patience and self._loose:
            return
        while self.cursor in self._passable and self.cursor not in self._wanted:
            if self._forced is not None and self.cursor in self._forced:
                self._forced.add(self.cursor + 1)
            self.cursor += 1

    def _anyone(self) -> bool:
        following = self.cursor
        while following in self._passable and following not in self._wanted:
            following += 1
        return bool(self._ready or self._arrived or following in self._wanted)

    def _put_down(self, strand: Strand) -> None:
        if self._running is strand:
            self._give(None)
        if self._loose:
            self._loose.discard(strand)
        if strand.granted:
            strand.take()

    def _next(self) -> Strand | None:
        if self._running is not None:
            return None
        if self._ready:
            strand: Strand | None = self._ready.popleft()
            tick = -1
        else:
            strand, tick = self._outcome()
        if strand is not None:
            self.cursor += tick >= 0
            strand.tick = tick
            strand.granted = True
            self._give(strand)
        return strand

    def _outcome(self) -> tuple[Strand | None, int]:
        """Who goes on by the next outcome from outside, and which that is."""
        if self._forced is None:
            return self._arrived.popleft() if self._arrived else None, self.cursor
        self._pass()
        return self._wanted.pop(self.cursor, None), self.cursor

    def _give(self, strand: Strand | None) -> None:
        self._running = strand
        self.lone = strand if self._alone else None
