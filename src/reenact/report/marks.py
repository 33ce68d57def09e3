"""What the program says of itself: a tree of its agents and steps, and the line that tells where in it something is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reenact.providers import Usage
from reenact.report.figures import counted, seconds
from reenact.report.run import tokens, total
from reenact.report.terminal import Paint, clip, columns, plain
from reenact.trajectory import Mark, Step, way

OUTSIDE: Final = "(outside of all marks)"
_AGENT: Final = "agent"
_ROWS: Final = 24  # of a tree that are told
_NAME: Final = 40  # columns of a name with its indent
_WITHIN: Final = " > "


def agents(path: Sequence[Mark]) -> str:
    """The agents on the way to a mark, outermost first."""
    return _WITHIN.join(_name(mark) for mark in path if mark.kind == _AGENT)


def steps(path: Sequence[Mark]) -> str:
    """The steps on the way to a mark, inside of its innermost agent."""
    last = max((at for at, mark in enumerate(path) if mark.kind == _AGENT), default=-1)
    return _WITHIN.join(_name(mark) for mark in path[last + 1 :])


def role(path: Sequence[Mark]) -> str:
    """What the innermost agent is there for, and its other attributes."""
    mark = next((mark for mark in reversed(path) if mark.kind == _AGENT), None)
    return attributes(mark) if mark is not None else ""


def attributes(mark: Mark) -> str:
    """The attributes of a mark; of the role only what it is."""
    told = [value if name == "role" else f"{name}={value}" for name, value in mark.attributes.items()]
    return plain(", ".join(map(str, told)))


class Marks:
    """The marks of one run, in colours that tell its agents apart."""

    def __init__(self, marks: Sequence[Mark], paint: Paint) -> None:
        self._marks = marks
        self._paint = paint
        names = dict.fromkeys(_name(mark) for mark in marks if mark.kind == _AGENT)
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

    def tree(self, done: Sequence[Step], width: int) -> Iterator[str]:
        """All of them, with what they took and asked; those of one name in one place are told together."""
        rows = list(_below(_summed(self._marks, done), 0))
        names = max((min(indent + columns(row.label), _NAME) for indent, row in rows[:_ROWS]), default=0)
        for indent, row in rows[:_ROWS]:
            label = clip(row.label, names - indent)
            facts = clip("   ".join(row.facts()), width - names - 3)
            painted = self._agent(_name(row.first), label) if row.first.kind == _AGENT else label
            yield f"{' ' * indent}{painted}{' ' * (names - indent - columns(label))}   {facts}".rstrip()
        if len(rows) > _ROWS:
            yield self._paint.dim(f"… and {len(rows) - _ROWS:,} more")

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
        name = f"[{_name(self.first)}]" if self.first.kind == _AGENT else _name(self.first)
        return f"{name} ×{self.count:,}" if self.count > 1 else name

    def facts(self) -> Iterator[str]:
        yield seconds(self.took) if self.open < self.count else "no end"
        if self.steps:
            yield counted(self.steps, "step")
        yield from filter(None, [tokens(total(self.usages))])
        if self.errors:
            names = ", ".join(dict.fromkeys(map(plain, self.errors)))
            yield f"failed: {names}" if self.count == 1 else f"{len(self.errors):,} failed: {names}"
        if self.count == 1 and self.first.attributes:
            yield attributes(self.first)


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


def _below(level: dict[tuple[str, str], _Sum], indent: int) -> Iterator[tuple[int, _Sum]]:
    for one in level.values():
        yield indent, one
        yield from _below(one.below, indent + 2)


def _name(mark: Mark) -> str:
    return plain(mark.name) or mark.kind
