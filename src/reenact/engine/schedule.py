"""Which of the outcomes that are pending comes next, when that is not the tape's to say.

Values and a pure chooser: the same schedule chooses the same, whenever it is asked the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

DEADLINE = -1
_MOST_FALLS = 3


class Option(msgspec.Struct, frozen=True):
    """An outcome that may come next. `event` is the tape's, or `DEADLINE`; `tick` is when it came on tape, -1: never.

    `what` tells it in words, `file` and `line` are the agent's, where they are known.
    """

    tick: int
    event: int
    lane: str
    what: str = ""
    file: str = ""
    line: int = 0


class Choice(msgspec.Struct, frozen=True):
    """A moment at which more than one outcome could come. `options` are in the tape's order, `taken` counts them."""

    options: tuple[Option, ...]
    taken: int

    @property
    def kept_order(self) -> bool:
        """Whether what came next is what came first on tape."""
        return self.taken == 0


class Schedule(msgspec.Struct, frozen=True):
    """An order of outcomes. It is the tape's, but for what else is said here.

    `early`: at the choice of that number, the option of that number comes, and all of its answer before others.
    `seed`: chance decides too. With `falls`, lanes have priorities by chance (PCT, Burckhardt et al. 2010), and at the
    choices of these numbers the lane with the highest gets the lowest; without, now and then any option comes early.
    """

    early: dict[int, int] = {}
    seed: int | None = None
    falls: tuple[int, ...] = ()


RECORDED = Schedule()


class Chooser:
    """Follows one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._first = DEADLINE  # the event whose answer comes before others
        self._fallen: dict[str, int] = {}
        self.choices: list[Choice] = []
        self.departed = False

    def choose(self, options: Sequence[Option]) -> int:
        """The number of the option that comes next. `options` are in the tape's order, and two or more."""
        taken = self._taken(options)
        if taken:
            self._first, self.departed = options[taken].event, True
        self.choices.append(Choice(tuple(options), taken))
        return taken

    def _taken(self, options: Sequence[Option]) -> int:
        number, schedule = len(self.choices), self._schedule
        if number in schedule.early:
            return min(schedule.early[number], len(options) - 1)
        for place, option in enumerate(options):
            if option.event == self._first != DEADLINE:
                return place
        if schedule.seed is None:
            return 0
        if schedule.falls:
            return self._by_priority(number, options)
        often, which = draw(schedule.seed, number, "often"), draw(schedule.seed, number, "which")
        return which % len(options) if often % 2 else 0

    def _by_priority(self, number: int, options: Sequence[Option]) -> int:
        def priority(place: int) -> tuple[int, int]:
            lane = options[place].lane
            return -self._fallen.get(lane, 0), draw(self._schedule.seed or 0, 0, lane)

        if number in self._schedule.falls:
            self._fallen[options[max(range(len(options)), key=priority)].lane] = number + 1
        return max(range(len(options)), key=priority)


def schedules(choices: tuple[Choice, ...], seed: int, runs: int) -> Iterator[Schedule]:
    """Orders to try, all different but for those by chance: up to `runs`. `choices` are those of the recorded order.

    Most races need one answer to come early, or two (Burckhardt et al. 2010). So each that was pending comes early
    once, those that came next on tape first; then chance decides.
    """
    if not choices:
        return
    singles = [(place, number) for number, choice in enumerate(choices) for place in range(1, len(choice.options))]
    chosen = sorted(_unlike(sorted(singles), choices))
    half = runs if len(chosen) <= runs // 2 else runs // 2
    if len(chosen) > half:  # more than there is time for: some of them, by chance
        chosen = sorted(chosen, key=lambda one: draw(seed, one[1], f"single {one[0]}"))[:half]
    for place, number in chosen:
        yield Schedule({number: place})
    for number in range(runs - len(chosen)):
        one = draw(seed, number, "schedule")
        count = 1 + number // 2 % _MOST_FALLS
        falls = tuple(sorted(draw(one, each, "falls") % len(choices) for each in range(count))) if number % 2 else ()
        yield Schedule(seed=one, falls=falls)


def _unlike(singles: list[tuple[int, int]], choices: tuple[Choice, ...]) -> Iterator[tuple[int, int]]:
    """One of those that bring the same answer before the same other."""
    seen = set()
    for place, number in singles:
        first, early = choices[number].options[0], choices[number].options[place]
        pair = (first.event, first.lane, early.event, early.lane, first.event == early.event == DEADLINE and number)
        if pair not in seen:
            seen.add(pair)
            yield place, number


def draw(seed: int, number: int, what: str) -> int:
    """A number by chance, that follows from these: in the agent's process, `random` is the agent's."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {number} {what}".encode(), digest_size=6).digest())
