"""What a program's functions and variables hold where it stands still, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from reenact.debugger.source import lines_of
from reenact.probe.messages import Moment
from reenact.probe.state import Frame, Strand, Variable
from reenact.report.figures import counted, inside
from reenact.report.source import source
from reenact.report.terminal import Paint, clip, columns, padded, plain
from reenact.report.variables import Variables

FORMAT: Final = 1
_AROUND: Final = 2  # lines of source on either side
_NAME: Final = 24  # columns that names are lined up to


class StateDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of `reenact state RUN --step N --json`.

    Lane `lane` is about to make `event`, the first of `step` where that was asked for, which is the `call`; `moment`
    says the same as a place in the replay. `lanes` begins with it, or holds only the one that was asked for. `expanded`
    is what `--expand` asks for.
    """

    state: int = FORMAT
    run: str
    step: int | None = None
    event: int
    call: str
    lane: str
    moment: Moment
    lanes: tuple[Strand, ...]
    modules: dict[str, tuple[Variable, ...]] = {}
    expanded: tuple[Variable, ...] = ()


class Page:
    """How it is written: in lines of so many columns; `whole`: uncut."""

    def __init__(self, *, cwd: str, width: int, paint: Paint, whole: bool = False) -> None:
        self._cwd = cwd
        self._width = width
        self._paint = paint
        self._values = Variables(width, paint, whole=whole)

    def state(self, document: StateDocument) -> Iterator[str]:
        """The functions of the first lane with their variables, and where the other lanes are."""
        paint, strand = self._paint, document.lanes[0]
        yield from self._heading(document, strand)
        if document.expanded:
            for one in document.expanded:
                yield from ("", *self.value(one))
            return
        own = [frame for frame in strand.frames if not frame.library]
        for frame in own:
            yield from ("", *self._frame(frame, strand))
        if not own:
            yield from ("", "  no function of the program's own is running here")
        for module, variables in document.modules.items():
            yield from ("", paint.bold(f"Globals of {plain(module)}"), *self._values.rows(variables))
        if document.lanes[1:]:
            yield from ("", paint.bold("Other lanes"), *self._others(document.lanes[1:]))

    def value(self, variable: Variable) -> Iterator[str]:
        """All of one value."""
        return self._values.all_of(variable)

    def _heading(self, document: StateDocument, strand: Strand) -> Iterator[str]:
        paint = self._paint
        told = f"{plain(document.run)} at {at(document.step, document.event)}"
        where = f"lane {plain(strand.lane)} ({plain(strand.name)})"
        calls = f" is about to make the call {plain(document.call)}" if strand.lane == document.lane else ""
        yield paint.bold(told)
        yield f"  {clip(f'{where}{calls}', self._width - 2)}"

    def _frame(self, frame: Frame, strand: Strand) -> Iterator[str]:
        paint = self._paint
        place = f"{inside(frame.file, self._cwd)}:{frame.line}"
        above = _above(strand, frame)
        note = paint.dim(f"  in {counted(above, 'function')} of libraries") if above else ""
        name = paint.bold(plain(short(frame.function)))
        yield f"{paint.dim(f'#{frame.number}')} {name}  {plain(place)}{note}"
        yield from self._source(frame)
        yield from self._values.rows(frame.variables)

    def _source(self, frame: Frame) -> Iterator[str]:
        first = max(frame.line - _AROUND, 1)
        shown = lines_of(frame.file)[first - 1 : frame.line + _AROUND]
        yield from source(shown, first, frame.line, width=self._width, paint=self._paint)

    def _others(self, strands: Sequence[Strand]) -> Iterator[str]:
        gutter = max(columns(plain(one.lane)) for one in strands)
        names = min(max(columns(plain(one.name)) for one in strands), _NAME)
        for one in strands:
            own = next((frame for frame in one.frames if not frame.library), None)
            at = f"{inside(own.file, self._cwd)}:{own.line}" if own is not None else "in libraries only"
            text = lines_of(own.file)[own.line - 1 : own.line] if own is not None else ()
            said = "".join(text).strip()
            waits = f"waits for {', '.join(one.waits_for)}" if one.waits_for else ""
            thread = f"in thread {one.thread}" if one.thread not in ("", "MainThread") else ""
            name = padded(clip(plain(one.name), names), names)
            rest = plain("  ".join(filter(None, (at, thread, waits, said))))
            yield f"    {padded(plain(one.lane), gutter)}  {name}  {clip(rest, self._width - gutter - names - 8)}"


def _above(strand: Strand, frame: Frame) -> int:
    """How many functions of libraries run between this one and the program's next."""
    count = 0
    for one in strand.frames:
        if one is frame:
            return count
        count = count + 1 if one.library else 0
    return 0


def at(step: int | None, event: int) -> str:
    """A moment in words."""
    return f"step {step} (event {event})" if step is not None else f"event {event}"


def short(function: str) -> str:
    """A function without its module."""
    return function.partition(":")[2] or function
