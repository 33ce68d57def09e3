"""What the program says of itself: a tree of its agents and steps, and the line that tells where in it something is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from reenact.providers import Usage
from reenact.report.figures import counted, seconds
from reenact.report.run import tokens, total
from reenact.report.terminal import Paint, clip, columns, plain
from reenact.trajectory import Mark, Step, way
from reenact.trajectory.mark import AGENT

OUTSIDE: Final = "(outside of all marks)"
_ROWS: Final = 24  # of a tree that are told
_NAME: Final = 40  # columns of a name with its indent
_LEAST: Final = 8  # columns for a fact
_WITHIN: Final = " > "


class Named(Protocol):
    """A mark, as far as it is named."""

    @property
    def kind(self) -> str:
        """Agent or step."""

    @property
    def name(self) -> str:
        """What the program calls it."""


def agents(path: Sequence[Named]) -> str:
    """The agents on the way to a mark, outermost first."""
    return _WITHIN.join(name_of(mark) for mark in path if mark.kind == AGENT)


def steps(path: Sequence[Named]) -> str:
    """The steps on the way to a mark, inside of its innermost agent."""
    last = max((at for at, mark in enumerate(path) if mark.kind == AGENT), default=-1)
    return _WITHIN.join(name_of(mark) for mark in path[last + 1 :])


def facts(path: Sequence[Mark]) -> list[tuple[str, str]]:
    """Where something is, labelled: the agent and the step, each with the attributes of the innermost."""
    agent = next((mark for mark in reversed(path) if mark.kind == AGENT), None)
    step = path[-1] if path and path[-1].kind != AGENT else None
    return [
        (label, f"{told}{f'  ({attributes(mark)})' if mark is not None and mark.attributes else ''}")
        for label, told, mark in (("agent", agents(path), agent), ("doing", steps(path), step))
    ]


def attributes(mark: Mark) -> str:
    """The attributes of a mark; of the role only what it is."""
    told = [value if name == "role" else f"{name}={value}" for name, value in mark.attributes.items()]
    return plain(", ".join(map(str, told)))


def name_of(mark: Named) -> str:
    """What a mark is called."""
    return plain(mark.name) or mark.kind


class Marks:
    """The marks of one run, in colours that tell its agents apart."""

    def __init__(self, marks: Sequence[Mark], paint: Paint) -> None:
        self._marks = marks
        self._paint = paint
        names = dict.fromkeys(name_of(mark) for mark in marks if mark.kind == AGENT)
        self._hues = {name: number for number, name in enumerate(names)}

    def place(self, number: int | None) -> str:
        """Where something is: `[agent] step`; empty where it is outside of all marks."""
        path = way(self._marks, number)
        agent = f"[{agents(path)}]" if agents(path) else ""
        return " ".join(filter(None, (agent, steps(path))))

    def painted(self, place: str, width: int) -> str:
        """A place as a line of its own."""
        if not place:
            return self._paint.dim(OUTSIDE)
        shown = clip(place, width)
        agent, bracket, rest = shown.partition("]") if shown.startswith("[") else ("", "", shown)
        return self._agent(agent[1:].rpartition(_WITHIN)[2], agent + bracket) + self._paint.bold(rest)

    def tree(self, done: Sequence[Step], width: int, agent: str = "") -> Iterator[str]:
        """All of them, or those of one agent, with what they took and asked. Those of one name in one place are one."""
        rows = list(_below(_summed(self._marks, done), agent))
        shown = rows[:_ROWS]
        most = min(_NAME, width // 2)
        names = max((min(indent + columns(row.label), most) for indent, row in shown), default=0)
        took = max((columns(row.lasted) for _, row in shown), default=0)
        for indent, row in shown:
            room = names - min(indent, most // 2)
            label = clip(row.label, room)
            painted = self._agent(name_of(row.first), label) if row.first.kind == AGENT else label
            begin = f"{' ' * (names - room)}{painted}{' ' * (room - columns(label))}   {row.lasted.rjust(took)}"
            yield begin + self._facts(row, width - names - took - 3)
        if len(rows) > _ROWS:
            yield self._paint.dim(f"… and {len(rows) - _ROWS:,} more")

    def _facts(self, row: _Sum, room: int) -> str:
        told = ""
        for fact, paint in ((row.failed, self._paint.bad), ("   ".join(row.facts()), str)):
            if fact and room > _LEAST:
                shown = clip(fact, room - 3)
                told += f"   {paint(shown)}"
                room -= columns(shown) + 3
        return told

    def _agent(self, name: str, text: str) -> str:
        return self._paint.strong.hue(self._hues.get(name, 0), text)


@dataclass
class _Sum:
    """Marks of one name in one place, with all that is inside of them."""

    first: Mark
    below: dict[tuple[str, str], _Sum] = field(default_factory=dict)
    count: int = 0
    took: int = 0
    open: int = 0
    errors: list[str] = field(default_factory=list)
    steps: int = 0
    usages: list[Usage | None] = field(default_factory=list)

    @property
    def label(self) -> str:
        name = f"[{name_of(self.first)}]" if self.first.kind == AGENT else name_of(self.first)
        return f"{name} ×{self.count:,}" if self.count > 1 else name

    @property
    def lasted(self) -> str:
        return seconds(self.took) if self.open < self.count else "no end"

    @property
    def failed(self) -> str:
        names = ", ".join(dict.fromkeys(map(plain, self.errors)))
        return f"{f'{len(self.errors):,} failed' if self.count > 1 else 'failed'}: {names}" if names else ""

    def facts(self) -> Iterator[str]:
        if self.steps:
            yield counted(self.steps, "model step")
        if self.count == 1 and self.first.attributes:
            yield attributes(self.first)
        yield from filter(None, [tokens(total(self.usages))])


def _summed(marks: Sequence[Mark], done: Sequence[Step]) -> dict[tuple[str, str], _Sum]:
    roots: dict[tuple[str, str], _Sum] = {}
    sums: list[_Sum] = []
    for mark in marks:
        level = sums[mark.within].below if mark.within is not None else roots
        one = level.setdefault((mark.kind, mark.name), _Sum(mark))
        one.count += 1
        one.took += mark.ended - mark.began if mark.ended is not None else 0
        one.open += mark.ended is None
        one.errors += [mark.error] if mark.error else []
        sums.append(one)
    for step in done:
        for mark in way(marks, step.mark):
            sums[mark.number].steps += 1
            sums[mark.number].usages.append(step.usage)
    return roots


def _below(level: dict[tuple[str, str], _Sum], agent: str) -> Iterator[tuple[int, _Sum]]:
    """All from a level on, with their indent; with `agent` those that are inside of one of that name."""
    ahead = [(0, not agent, one) for one in reversed(level.values())]
    while ahead:  # they may be nested deeper than functions may
        indent, inside, one = ahead.pop()
        inside = inside or (one.first.kind, one.first.name) == (AGENT, agent)
        if inside:
            yield indent, one
        ahead += [(indent + 2 * inside, inside, below) for below in reversed(one.below.values())]
