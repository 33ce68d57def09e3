"""A branch: a run that goes on from a step of another. Its tape holds what is new; the rest is on its parent's.

They part when the answer at that step began to come. What was asked before, and not answered, has the answer that it
had: it owes nothing to the step. That its parent gave it up later does: a branch asks that again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from reenact.errors import TapeCorruptError, TapeError
from reenact.tape import event as ev
from reenact.tape.journal import assembled
from reenact.tape.resent import Resent

DEEPEST = 64  # branches of branches
_LASTING = (ev.Kind.SOCKET, ev.Kind.PIPE)
_GIVEN_UP = (ev.PartKind.CANCELLED, ev.PartKind.GIVEN_UP)
_OF_FILES = (ev.Saw, ev.Content, ev.Snapshot, ev.SiteNamed, ev.Redacted)  # files as the run found them, whenever it did
_ORPHANED = (
    "{path} is a branch of {parent}, which is not in {folder}: a branch holds only what is new. "
    "Put {parent}.tape beside it."
)
_OTHER_PARENT = "{path} is a branch of another {parent} than the one beside it: that tape has changed, or was replaced"

Read = Callable[[Path], tuple[bytes, Iterator[ev.AnyRecord]]]
"""The last of a tape's chain, and its own records."""


def composed(path: Path, read: Read, depth: int = 0) -> Iterator[ev.AnyRecord]:
    """All records of a run: of a branch those that its parents hold, then `Branch`, then its own.

    Raises:
        TapeError: a parent is not there, or is another one by now.
    """
    _, own = read(path)
    start, second = next(own, None), next(own, None)
    if isinstance(start, ev.Start) and isinstance(second, ev.Branch):
        if depth == DEEPEST:
            raise TapeCorruptError(f"{path}: more than {DEEPEST} branches, one of the other")
        yield from _of_parent(path, read, start, second, depth)
        yield second
        start = second = None
    yield from (record for record in (start, second) if record is not None)
    yield from own


def _of_parent(path: Path, read: Read, start: ev.Start, branch: ev.Branch, depth: int) -> Iterator[ev.AnyRecord]:
    parent = path.with_name(f"{branch.parent}{path.suffix}")
    told = {"path": path, "parent": branch.parent, "folder": path.parent}
    if "/" in branch.parent or not parent.is_file():
        raise TapeError(_ORPHANED.format(**told))
    if read(parent)[0] != branch.digest:
        raise TapeError(_OTHER_PARENT.format(**told))
    inherited = forked(assembled(composed(parent, read, depth + 1)), branch)
    for record in inherited:
        yield ev.Start(together(record.manifest, start.manifest)) if isinstance(record, ev.Start) else record


def forked(records: Iterable[ev.AnyRecord], branch: ev.Branch) -> Iterator[ev.AnyRecord]:
    """What of a run its branch has in common with it, with the answers of the branch in their places."""
    return _Forked(branch).of(records)


class _Forked:
    def __init__(self, branch: ev.Branch) -> None:
        self._event, self._before = branch.event, branch.before
        self._edits: dict[int, list[ev.Part]] = {}
        for part in branch.edits:
            self._edits.setdefault(part.event, []).append(part)
        self._begun: dict[int, int] = {}  # kinds
        self._lanes: set[str] = set()  # of Pythons that were started
        self._given: set[int] = set()
        self._over = False
        self._resent = Resent()

    def of(self, records: Iterable[ev.AnyRecord]) -> Iterator[ev.AnyRecord]:
        for record in records:
            if isinstance(record, ev.Part):
                yield from self._part(record)
            elif isinstance(record, ev.Sent):
                yield from self._resent.of(record, record.event if self._stays(record.event) else None)
            elif self._has(record):
                yield record
        for event in sorted(self._edits.keys() & self._begun.keys() - self._given):
            yield from self._edits[event]
            yield ev.Given(event, ev.Giver.PERSON)

    def _part(self, part: ev.Part) -> Iterator[ev.Part | ev.Given]:
        event = part.event
        if event in self._edits or event == self._event:
            if event not in self._given and event in self._edits:
                yield from (msgspec.structs.replace(edit, at=part.at) for edit in self._edits[event])
                yield ev.Given(event, ev.Giver.PERSON)
            self._given.add(event)
            self._over = self._over or event == self._event
        elif event in self._begun and not (self._over and self._is_parents(part)):
            yield part

    def _is_parents(self, part: ev.Part) -> bool:
        """Whether what comes after they part is the parent's alone: its program's doing, or over what goes on."""
        return self._begun[part.event] in _LASTING or part.kind in _GIVEN_UP

    def _stays(self, event: int) -> bool:
        """Whether the event was asked before they part, and is not asked again."""
        return event in self._begun and (event in self._edits or event != self._event)

    def _has(self, record: ev.AnyRecord) -> bool:
        match record:
            case ev.Branch() | ev.Ended() | ev.Exited() | ev.Left():
                return False
            case ev.Began(event=event):
                self._over = self._over or (self._before and event == self._event)
                if not self._over:
                    self._begun[event] = record.kind
                return not self._over
            case ev.Wrote() if self._before:
                return False
            case ev.Child(event=event, lane=lane):
                if not self._over or event in self._begun:
                    self._lanes.add(lane)
                return lane in self._lanes
            case ev.Kin(lane=lane):
                return lane in self._lanes
            case ev.Changed(event=event):
                return event in self._begun
            case ev.Given(event=event) | ev.Moved(event=event):
                return self._stays(event) and (isinstance(record, ev.Moved) or event not in self._edits)
            case _:
                return not self._over or isinstance(record, _OF_FILES)


def rows(branch: ev.Branch | None) -> dict[str, str | int]:
    """What the table `run` says of a branch; nothing of a run that is none."""
    if branch is None:
        return {}
    return {"parent": branch.parent, "parent_step": branch.step, "edited": branch.what}


def news(parent: bytes, manifest: bytes) -> bytes:
    """What a manifest says other than that of the parent."""
    before, now = json.loads(parent), json.loads(manifest)
    gone = dict.fromkeys(before.keys() - now.keys())
    return json.dumps({key: value for key, value in now.items() if before.get(key) != value} | gone).encode()


def together(parent: bytes, news: bytes) -> bytes:
    """The inverse of `news`."""
    try:
        before, own = json.loads(parent), json.loads(news)
        whole = {**before, **own}
    except (ValueError, TypeError, RecursionError) as error:
        raise TapeCorruptError(f"the manifest of a branch cannot be read: {error}") from error
    return json.dumps({key: value for key, value in whole.items() if value is not None}).encode()
