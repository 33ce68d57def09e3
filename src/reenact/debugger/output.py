"""What a program writes to stdout and stderr, between any two moments of its run, as the tape has it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from reenact.tape.event import Wrote
from reenact.tape.recording import Recording
from reenact.trajectory.moments import moments

Written = dict[str, dict[int, int]]
"""How many bytes each lane has written, by its path and the number of the stream."""


class Piece(msgspec.Struct, frozen=True):
    """Something written to `stdout` or `stderr`."""

    stream: str
    text: str


class _Stretch(msgspec.Struct, frozen=True):
    """Some output, and where it stands in what its lane wrote to that stream."""

    lane: str
    stream: int
    start: int
    data: bytes


class Output:
    """All output of the run's own process. It is read when it is asked for first."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._found: list[_Stretch] | None = None

    def between(self, before: Written, after: Written) -> Iterator[Piece]:
        """What was written between two moments; nothing, where the second lies before the first.

        It is in the tape's order: what a lane writes between two calls stands together.
        """
        waiting, stream = bytearray(), 0
        for one in self._stretches() if before != after else ():
            start, end = (moment.get(one.lane, {}).get(one.stream, 0) - one.start for moment in (before, after))
            data = one.data[max(start, 0) : max(end, 0)]
            if data and one.stream != stream:
                yield from _piece(stream, waiting)
                waiting, stream = bytearray(), one.stream
            waiting += data
        yield from _piece(stream, waiting)

    def _stretches(self) -> list[_Stretch]:
        if self._found is None:
            self._found = list(_stretches(self._recording))
        return self._found


def _piece(stream: int, data: bytearray) -> Iterator[Piece]:
    if data:
        yield Piece("stdout" if stream == 1 else "stderr", data.decode("utf-8", "replace"))


def _stretches(recording: Recording) -> Iterator[_Stretch]:
    at: dict[tuple[str, int], int] = {}
    for moment in moments(recording):
        if isinstance(moment.record, Wrote) and moment.lane in recording.lanes:
            lane, stream, data = moment.lane, moment.record.stream, moment.record.data
            start = at.get((lane, stream), 0)
            at[lane, stream] = start + len(data)
            yield _Stretch(lane, stream, start, data)
