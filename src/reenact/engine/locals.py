"""The agent's own variables at each event of a lane: kept as digests in a recording, compared in a replay."""

from __future__ import annotations

import dis
import linecache
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import msgspec

from reenact import _real
from reenact.engine.digest import Digester, fields_of, type_name, values_of
from reenact.engine.divergence import Compared, Datum, Divergence, Site, What
from reenact.engine.glimpse import glimpse
from reenact.engine.lane import Lane
from reenact.engine.place import BOTTOM, Place, is_library, name_of
from reenact.engine.session import Session, site_of
from reenact.engine.variables import variables_of
from reenact.tape.event import LOCALS_SALT, Locals, Snapshot
from reenact.tape.recording import Recording
from reenact.tape.redact import is_secret_variable

MAX_FOUND = 50  # differences that a replay tells

# what a program is, and not what it knows
_CODE = (ModuleType, type, FunctionType, MethodType, BuiltinFunctionType, type(annotations))


class Variables(NamedTuple):
    """The variables of one function on the stack: their digests by name, and what they hold."""

    frame: FrameType
    digests: dict[str, bytes]
    values: dict[str, Any]


class Look:
    """Looks at the variables of the agent's functions on the stack of the calling lane."""

    def __init__(self, salt: bytes, clean: Callable[[bytes], bytes]) -> None:
        self.digester = Digester(salt, clean)
        self.partly = 0
        self.types: dict[str, set[tuple[str, str]]] = {}

    def __call__(self, frame: FrameType | None) -> list[Variables]:
        """One for each function, the outermost first."""
        found: list[Variables] = []
        known: dict[int, tuple[bytes | None, bool]] = {}  # one object has many names
        while frame is not None and id(frame.f_code) not in BOTTOM:
            if not is_library(frame.f_code.co_filename):
                found.append(self._variables(frame, known))
            frame = frame.f_back
        return found[::-1]

    def _variables(self, frame: FrameType, known: dict[int, tuple[bytes | None, bool]]) -> Variables:
        digests: dict[str, bytes] = {}
        values = dict(self._named(frame))
        for name, value in values.items():
            if id(value) not in known:
                known[id(value)] = self.digester.digest(value), self.digester.whole
            digest, whole = known[id(value)]
            if digest is not None:
                digests[name] = digest
                self.partly += not whole
            elif not issubclass(type(value), _CODE):  # isinstance would ask the value
                self.types.setdefault(type_name(type(value)), set()).add((name_of(frame), name))
        return Variables(frame, digests, values)

    def _named(self, frame: FrameType) -> Iterator[tuple[str, Any]]:
        """The variables by name; of an object with attributes that count, each of these."""
        for name, value in variables_of(frame).items():
            if name.startswith("__"):
                continue
            fields = fields_of(type(value))
            inside = [(f"{name}.{own}", held) for own, held in values_of(value, fields)] if fields else [(name, value)]
            for full, held in inside:
                if is_secret_variable(name) or is_secret_variable(full.rpartition(".")[2]):
                    self.digester.secret += 1
                else:
                    yield full, held


class Keep:
    """Keeps the digests on tape (recording)."""

    def __init__(self, session: Session) -> None:
        salt = _real.urandom(16)
        session.keep(Snapshot(LOCALS_SALT, salt))
        self._session = session
        self._look = Look(salt, session.vault.clean)

    def __call__(self, lane: Lane) -> None:
        """The lane is about to make its next event. Never raises."""
        try:
            found = self._look(_real.getframe(1))
            frames = [(self._session.function_site(one.frame), one.digests) for one in found]
            self._session.keep(Locals(lane.index, frames))
            self._session.look_behind(_real.getframe(1))
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)

    def result(self) -> tuple[Compared, list[Divergence]]:
        """Nothing is compared."""
        return Compared(), []


class Compare:
    """Compares with the digests on tape (replay). A difference is told, and keeps nobody from going on."""

    def __init__(self, session: Session, tape: Recording) -> None:
        self._session = session
        self._tape = tape
        self._look = Look(tape.snapshots[LOCALS_SALT], session.vault.clean)
        self._told: set[tuple[str, str]] = set()
        self._counts = Compared()
        self.found: list[Divergence] = []

    def __call__(self, lane: Lane) -> None:
        """The lane is about to make its next event. Never raises."""
        log = self._tape.lanes.get(lane.path)
        recorded = log.locals.get(lane.events) if log is not None else None
        if log is None or recorded is None or log.beside:
            return
        try:
            event = log.events[lane.events].id if lane.events < len(log.events) else None
            self._counts.events += 1
            for divergence in self._differences(recorded, self._look(_real.getframe(1))):
                self._tell(msgspec.structs.replace(divergence, lane=lane.path, event=event))
        except Exception as error:  # noqa: BLE001
            self._session.fault(error)

    def result(self) -> tuple[Compared, list[Divergence]]:
        """What has been compared so far, and the first difference of each variable."""
        look = self._look
        self._counts.partly, self._counts.secret = look.partly, look.digester.secret
        self._counts.types = {name: len(look.types[name]) for name in sorted(look.types)}
        return self._counts, self.found

    def _differences(
        self, recorded: list[tuple[str, dict[str, bytes]]], found: list[Variables]
    ) -> Iterator[Divergence]:
        before, now = [place for place, _ in recorded], [name_of(one.frame) for one in found]
        if before != now:
            told = (f"when recorded, these functions were on the way to this call: {', '.join(before) or 'none'}",)
            yield _difference(
                "the way to this call", ", ".join(now) or "none", found[-1].frame if found else None, told
            )
            return
        for (_, digests), one in zip(recorded, found, strict=True):
            self._counts.values += len(digests.keys() & one.digests.keys())
            for name in [*digests, *(name for name in one.digests if name not in digests)]:
                was, is_now = digests.get(name), one.digests.get(name)
                if was != is_now:
                    shown = glimpse(one.values[name]) if name in one.values else "no such variable"
                    notes = (_known(was, is_now), *_assigned(one.frame.f_code, name))
                    yield _difference(name, shown, one.frame, notes)

    def _tell(self, divergence: Divergence) -> None:
        """Once by variable: one that differs mostly does so at every event from there on."""
        actual, site = divergence.actual, divergence.site
        key = (f"{site.file}:{site.function}" if site is not None else "", getattr(actual, "name", ""))
        if key not in self._told and len(self.found) < MAX_FOUND:
            self._told.add(key)
            self.found.append(divergence)
            self._session.found(divergence)


def _difference(name: str, shown: str, frame: FrameType | None, notes: tuple[str, ...]) -> Divergence:
    actual = Datum("local", name, shown.encode("utf-8", "backslashreplace"))
    return Divergence(What.LOCAL, "", site=_site(frame), actual=actual, notes=notes)


def _known(was: bytes | None, now: bytes | None) -> str:
    if was is None:
        return "when recorded, there was no such variable, or it held nothing that can be compared"
    digest = f"a tape holds digests of variables only: this one's was {was.hex()}"
    return f"{digest}, and is {now.hex()} now" if now is not None else f"{digest}; now there is nothing to compare"


def _assigned(code: CodeType, name: str) -> Iterator[str]:
    """Where the function gives the variable a value, if it does so itself."""
    lines = {one.positions.lineno for one in dis.get_instructions(code) if _sets(one, name) and one.positions}
    told = sorted(line for line in lines if line is not None)
    if len(told) == 1:
        yield f"it is set in line {told[0]}: {linecache.getline(code.co_filename, told[0]).strip()}"
    elif told:
        yield f"it is set in lines {', '.join(map(str, told))}"


def _sets(instruction: dis.Instruction, name: str) -> bool:
    return instruction.opname.startswith("STORE_") and instruction.argval == name


def _site(frame: FrameType | None) -> Site | None:
    return site_of(Place(frame.f_code.co_filename, frame.f_lineno, name_of(frame))) if frame is not None else None
