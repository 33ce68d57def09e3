"""What differs between two states of a program: functions, variables, and what is inside of them, by its path."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from reenact.diff.change import Change, Kind
from reenact.diff.document import json_changes, rewritten
from reenact.diff.pointer import steps
from reenact.probe.state import Frame, State, Strand, Variable
from reenact.probe.values import path

_MOST: Final = 200  # places told of one variable


class What(StrEnum):
    """What has happened to a lane, a function or a variable."""

    NEW = "new"
    GONE = "gone"
    CHANGED = "changed"


class Difference(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One difference: of a lane, of a function in it, of a variable of that.

    `path` leads to the place inside of the variable: `messages[3]['content']`; `change` says what was there and what
    is, unless it lies where neither state shows it.
    """

    what: What
    lane: str
    lane_name: str = ""
    function: str = ""
    variable: str = ""
    path: str = ""
    change: Change | None = None


def differences(before: State, after: State) -> Iterator[Difference]:
    """All of them, lane by lane, from the outermost function in; those of modules come last."""
    old, new = ({one.lane: one for one in state.lanes} for state in (before, after))
    for lane in dict.fromkeys((*new, *old)):
        if lane not in old or lane not in new:
            what = What.NEW if lane in new else What.GONE
            yield Difference(what=what, lane=lane, lane_name=(new.get(lane) or old[lane]).name)
        if lane in new:
            yield from _in_lane(old.get(lane), new[lane])
    for module in after.modules:
        held = before.modules.get(module, ())
        for one in _variables(held, after.modules[module]):
            yield replace(one, function=f"{module}:<module>")


def _in_lane(before: Strand | None, after: Strand) -> Iterator[Difference]:
    old, new = (_own(one) if one is not None else [] for one in (before, after))
    same = 0
    while same < min(len(old), len(new)) and old[same].function == new[same].function:
        same += 1
    found: list[Difference] = []
    told = {re.split(r"[:.]", one.function)[-1] for one in new[:same]}
    for was, now in zip(old[:same], new[:same], strict=True):
        same_as = {one.name: one.same_as for one in was.variables if one.same_as.partition(".")[0] in told}
        again = {one.name for one in now.variables if one.same_as and same_as.get(one.name) == one.same_as}
        changed = (one for one in _variables(was.variables, now.variables) if one.variable not in again)
        found += (replace(one, function=now.function) for one in changed)
    found += (Difference(what=What.GONE, lane="", function=one.function) for one in old[same:])
    for one in new[same:]:
        found.append(Difference(what=What.NEW, lane="", function=one.function))
        found += (replace(each, function=one.function) for each in _variables((), one.variables))
    yield from (replace(one, lane=after.lane, lane_name=after.name) for one in found)


def _own(strand: Strand) -> list[Frame]:
    """The program's own functions of a lane, the outermost first."""
    return [frame for frame in reversed(strand.frames) if not frame.library]


def _variables(before: tuple[Variable, ...], after: tuple[Variable, ...]) -> Iterator[Difference]:
    old, new = ({one.name: one for one in variables} for variables in (before, after))
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            change = Change("", old[name].text, None, Kind.REMOVED)
            yield Difference(what=What.GONE, lane="", variable=name, path=name, change=change)
        elif name not in old:
            change = Change("", None, new[name].text, Kind.ADDED)
            yield Difference(what=What.NEW, lane="", variable=name, path=name, change=change)
        elif not is_same(old[name], new[name]):
            yield from _changes(old[name], new[name])


def is_same(before: Variable, after: Variable) -> bool:
    """Whether a variable holds the same in two states, also where that is not shown."""
    if before.digest and after.digest and not (before.partly or after.partly):
        return before.digest == after.digest
    old, new = (msgspec.json.encode(replace(one, same_as="")) for one in (before, after))
    return old == new


def _changes(before: Variable, after: Variable) -> Iterator[Difference]:
    old, new = _document(before), _document(after)
    changes = json_changes("", old, new) if old != new else rewritten("", old, new)
    found = list(islice(changes, _MOST))
    if not found:
        same = before.type == after.type
        found = [Change("", before.text, after.text, Kind.CHANGED, note="" if same else f"now a {after.type}")]
    for change in found:
        held = after if change.kind is Kind.ADDED else before
        where = _way(held, steps(change.pointer)) if change.pointer else before.name
        yield Difference(what=What.CHANGED, lane="", variable=before.name, path=where, change=change)


def _way(variable: Variable, names: list[str]) -> str:
    """The path to a place in the document of a variable."""
    where, parts, value = variable.name, variable.inside, variable.value
    for name in names:
        part = next((one for one in parts if name in (one.name, _key(one.name), one.name[1:-1])), None)
        if part is not None:
            where, parts, value = path(where, part.name), part.inside, part.value
        elif isinstance(value, list):
            where, value = f"{where}[{name}]", value[int(name)]
        elif isinstance(value, dict):
            where, value = f"{where}[{name!r}]", value[name]
    return where


def _document(variable: Variable) -> Any:
    """What is compared: lists as lists, everything else that has parts by their names, and the rest by its text."""
    if variable.value is not msgspec.UNSET:
        return variable.value
    if not variable.inside:
        return variable.text
    if all(part.name == f"[{at}]" for at, part in enumerate(variable.inside)):
        return [_document(part) for part in variable.inside]
    return {_key(part.name): _document(part) for part in variable.inside}


def _key(name: str) -> str:
    """The name of a part as JSON has it: `role` for `['role']`."""
    if name.startswith(("['", '["')):
        with contextlib.suppress(ValueError, SyntaxError):
            return str(ast.literal_eval(name[1:-1]))
    return name
