"""Builds a `Recording` of the records of a journal."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from io import BytesIO

from msgspec.structs import replace

from reenact.errors import TapeCorruptError
from reenact.tape import event as ev
from reenact.tape.journal import data_of, with_data
from reenact.tape.recording import Aside, Event, LaneLog, Marked, Recording, ancestors, parents_of

AROUND = (ev.Kind.SLEEP, ev.Kind.CONNECT, ev.Kind.CLOSE)
"""What a lane may do around its side traffic, and be beside the run."""

_DEEP = 16  # exceptions in exceptions: a recording keeps four
_PATH = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")


class Builder:
    """Folds records into a recording, resolving interned lanes and sites. `most` is given for an outline."""

    def __init__(self, recording: Recording, most: int | None = None) -> None:
        self._recording = recording
        self._most = most
        self._lanes: dict[int, LaneLog] = {}
        self._sites: dict[int, ev.SiteNamed] = {}
        self._slices: BytesIO | None = None
        self._held: defaultdict[int, int] = defaultdict(int)  # bytes of each answer (outline)

    def add(self, record: ev.AnyRecord) -> None:
        """The next record of the journal."""
        if type(record) is ev.Slice:
            self._slices = self._slices or BytesIO()
            self._slices.write(record.data)
            return
        if self._slices is not None and (data := data_of(record)):
            self._slices.write(data)
            # which gives away its memory, and does not copy it
            record, self._slices = with_data(record, self._slices.getvalue()), None
        self._add(record)

    def _add(self, record: ev.AnyRecord) -> None:  # noqa: C901, PLR0912, PLR0915  one case per record
        recording = self._recording
        try:
            match record:
                case ev.Began():
                    self._began(record)
                case ev.Part():
                    arrived = ev.PartKind(record.kind) not in ev.NO_TICK
                    if record.event < 0:
                        raise IndexError(record.event)  # noqa: TRY301  what the journal says, not what we did
                    if record.failed is not None:
                        _check_depth(record.failed)
                    event = recording.events[record.event]
                    if self._most is not None:
                        record = self._outlined(record, event, self._most)
                    event.parts.append((len(recording.ticks) if arrived else -1, record))
                    if arrived:
                        recording.ticks.append(record)
                case ev.Aside():
                    if record.aside != len(recording.asides):
                        raise IndexError(record.aside)  # noqa: TRY301  as above
                    lane = self._lanes[record.lane]
                    aside = Aside(record.host, len(lane.events))
                    lane.asides.append(aside)
                    recording.asides.append(aside)
                case ev.AsidePart():
                    if record.aside < 0:
                        raise IndexError(record.aside)  # noqa: TRY301  as above
                    if record.failed is not None:
                        _check_depth(record.failed)
                    arrived = ev.PartKind(record.kind) not in ev.NO_TICK
                    recording.asides[record.aside].parts.append((len(recording.ticks) if arrived else -1, record))
                    if arrived:
                        recording.ticks.append(record)
                case ev.Signal() if record.lane_events >= 0:
                    recording.signals.append(record)
                case ev.Timer() | ev.Signal():
                    recording.ticks.append(record)
                case ev.Expired():
                    self._lanes[record.lane].expired.append(len(recording.ticks))
                    recording.ticks.append(record)
                case ev.Draws():
                    self._draws(record)
                case ev.Sent(event=event):
                    recording.sent.append(record)
                    recording.events[event]
                case ev.Given(event=event):
                    recording.given[recording.events[event].id] = ev.Giver(record.giver)
                case ev.Moved(event=event):
                    recording.events[event].moved[record.generator] = record.state
                case ev.Stored():
                    self._lanes[record.lane].stored += 1
                    if self._most is None:
                        recording.stored.append(record)
                case ev.Unread(count=count) if count > 0:
                    del self._lanes[record.lane].draws[record.kind, record.place][-count:]
                case ev.Wrote():
                    self._wrote(record, self._lanes[record.lane])
                case ev.LaneBorn():
                    if not _PATH.fullmatch(record.path):
                        raise ValueError(record.path)  # noqa: TRY301  as above
                    lane = self._lanes[record.index] = LaneLog(record.path, record.name, index=record.index)
                    recording.lanes[record.path] = lane
                case ev.SiteNamed():
                    self._sites[record.index] = record
                    recording.sites = max(recording.sites, record.index + 1)
                case ev.Note():
                    recording.notes.append((record, self._sites.get(record.site)))
                case ev.Start():
                    recording.manifest = record.manifest
                case ev.Branch():
                    recording.branch, recording.inherited = record, len(recording.events)
                case ev.Snapshot():
                    recording.snapshots[record.name] = record.data
                case ev.Spun():
                    recording.spun[len(recording.ticks)] = record.turns
                case ev.Handed():
                    recording.forced.add(len(recording.ticks))
                case ev.Collected():
                    lane = self._lanes[record.lane]
                    lane.collected[len(lane.events)] = record.generation
                case ev.Locals():
                    lane = self._lanes[record.lane]
                    frames = [(self._sites[site].place, digests) for site, digests in record.frames]
                    lane.locals[len(lane.events)] = frames
                case ev.Mark():
                    self._marked(record)
                case ev.Saw():
                    recording.saw[record.path] = _seen(record)
                case ev.Content():
                    recording.contents[record.digest] = record.data
                case ev.Changed():
                    recording.changed.setdefault(record.event, []).append(_seen(record.found))
                case ev.Again():
                    recording.again.setdefault(record.found.path, {})[record.meeting] = _seen(record.found)
                case ev.Left():
                    ev.Sight(record.kind)
                    recording.left[record.path] = record
                case ev.Child(status=None):
                    recording.joined.setdefault(record.event, []).append(record)
                case ev.Child(status=int(status)):
                    recording.ends[record.lane] = status
                case ev.Kin():
                    recording.kin.setdefault(record.lane, []).append(record)
                case ev.Redacted():
                    recording.placeholders.update(record.placeholders)
                    recording.lost += record.lost
                case ev.Ended():
                    if record.error is not None:
                        _check_depth(record.error)
                    recording.ended = record
                case ev.Exited():
                    recording.status = record.status
        except (KeyError, IndexError, ValueError) as error:
            raise TapeCorruptError(f"{recording.path}: {type(record).__name__} refers to what is not there") from error

    def _outlined(self, part: ev.Part, event: Event, most: int) -> ev.Part:
        if part.kind != ev.PartKind.CHUNK:
            return part
        self._held[event.id] += len(part.data)
        if self._held[event.id] <= most:
            return part
        event.left_out += len(part.data)
        return replace(part, data=b"")

    def _wrote(self, record: ev.Wrote, lane: LaneLog) -> None:
        own = lane.wrote.setdefault(record.stream, bytearray())
        together = self._recording.wrote.setdefault(record.stream, bytearray())
        if self._most is not None and len(together) > self._most:
            lane.left_out += len(record.data)
        else:
            own.extend(record.data)
            together.extend(record.data)

    def _began(self, record: ev.Began) -> None:
        recording, lane = self._recording, self._lanes[record.lane]
        if record.event != len(recording.events):
            raise IndexError(record.event)
        event = Event(
            record.event,
            lane.path,
            ev.Kind(record.kind),
            record.name,
            self._sites.get(record.site),
            record.at,
            record.head,
            record.body,
            mark=lane.mark,
        )
        recording.events.append(event)
        lane.events.append(event)

    def _marked(self, record: ev.Mark) -> None:
        marks, lane = self._recording.marks, self._lanes[record.lane]
        kind, site = ev.MarkKind(record.kind), self._sites.get(record.site)
        match kind:
            case ev.MarkKind.AGENT | ev.MarkKind.STEP:
                if record.mark != len(marks) or not -1 <= record.within < len(marks):
                    raise IndexError(record.mark)
                attributes, within = record.attributes, record.within
                marks.append(Marked(kind, record.name, attributes, within, lane.path, site, record.at))
            case ev.MarkKind.ENDED | ev.MarkKind.INSIDE:
                if not -(kind is ev.MarkKind.INSIDE) <= record.mark < len(marks):
                    raise IndexError(record.mark)
                if kind is ev.MarkKind.INSIDE:
                    lane.mark = record.mark
                else:
                    marks[record.mark].ended, marks[record.mark].error = record.at, record.name
                return
            case ev.MarkKind.SESSION:
                self._recording.session = record.name
            case ev.MarkKind.TAGS:
                self._recording.tags.update({key: str(value) for key, value in record.attributes.items()})
        lane.marks.append((record, site.place if site is not None else ""))

    def _draws(self, record: ev.Draws) -> None:
        draws = self._lanes[record.lane].draws
        for kind, site, values in record.draws:
            draws.setdefault((kind, self._sites[site].place), []).extend(values)


def _seen(saw: ev.Saw) -> ev.Saw:
    ev.Sight(saw.kind)
    return saw


def _check_depth(failed: ev.Failed) -> None:
    """That exceptions in exceptions are no more than one can go through."""
    level = [failed]
    for _ in range(_DEEP):
        level = [inner for one in level for inner in (*one.nested.values(), one.cause) if inner is not None]
        if not level:
            return
    raise ValueError("too deep")


def set_aside(recording: Recording) -> None:
    """Tells the lanes that are beside the run, and the ticks that nobody need wait for.

    Such a lane crosses nothing but side traffic, itself or by lanes that it bore, and what a thread does around it; or
    it was born of one and does no more. Main is the run itself, and what is written to stdout is what the run was for.
    """
    lanes, parents = recording.lanes, parents_of(recording.lanes)
    quiet = {path for path, lane in lanes.items() if path != recording.main and _is_quiet(lane)}
    loud = _all_above(lanes.keys() - quiet, parents)
    sending = {path for path, lane in lanes.items() if lane.asides}
    above = _all_above(sending, parents) - loud
    for path, lane in lanes.items():  # those that bore others come first
        parent = lanes.get(path.rpartition(".")[0])
        lane.beside = path in quiet and (path in sending or path in above or (parent is not None and parent.beside))
        ticks = [tick for aside in lane.asides for tick, _ in aside.parts]
        if lane.beside:
            lane.times = sorted([*lane.expired, *(tick for event in lane.events for tick, _ in event.parts)])
            ticks += lane.times
        recording.passable.update(tick for tick in ticks if tick >= 0)


def _is_quiet(lane: LaneLog) -> bool:
    return all(event.kind in AROUND for event in lane.events) and ev.Stream.STDOUT not in lane.wrote


def _all_above(paths: Iterable[str], parents: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        for above in ancestors(path, parents):
            if above in found:
                break  # and all above that one are
            found.add(above)
    return found
