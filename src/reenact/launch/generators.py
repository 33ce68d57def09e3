"""Generators that are runs: recorded while they are asked for their next value, and in nobody's sight in between.

What was yielded is the result, with how it ended. Values that were sent in come back in replay if they are plain JSON;
exceptions that were thrown in do not.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

import msgspec

from reenact.launch.entry import encode_result


class Run(Protocol):
    """The run of a generator."""

    def pause(self) -> None:
        """What comes now is not the run's."""

    def resume(self) -> None:
        """What comes now is the run's."""

    def end(self, error: BaseException | None, returned: object = None) -> None:
        """The run is over."""


class Yielded(msgspec.Struct, omit_defaults=True):
    """What a generator gave and was given. `finished`: it came to its end; else its user let go of it."""

    values: list[msgspec.Raw] = []
    sent: dict[int, Any] = {}
    finished: bool = False
    returned: Any = None


class Recorded:
    """Goes along with a generator that is a run (`engine.around`): keeps what it gives and is given."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept = Yielded()

    def gave(self, value: Any) -> None:
        """It gives a value."""
        self._kept.values.append(msgspec.Raw(encode_result(value)))
        self._run.pause()

    def asked(self, sent: Any) -> None:
        """It is asked for the next."""
        self._run.resume()
        if sent is not None:
            self._kept.sent[len(self._kept.values)] = sent

    def end(self, error: BaseException | None, returned: Any = None, *, finished: bool = True) -> None:
        """It is over."""
        self._kept.finished, self._kept.returned = finished, returned
        self._run.end(error, self._kept if error is None else None)


def replayed(generator: Generator[Any, Any, Any], result: bytes) -> None:
    """Takes from the generator what was taken when it was recorded with this result."""
    kept, taken = _kept(result), 0
    with contextlib.closing(generator), contextlib.suppress(StopIteration):
        while kept.finished or taken < len(kept.values):
            generator.send(kept.sent.get(taken))
            taken += 1


async def replayed_async(generator: AsyncGenerator[Any, Any], result: bytes) -> None:
    """As `replayed`."""
    kept, taken = _kept(result), 0
    async with contextlib.aclosing(generator):
        with contextlib.suppress(StopAsyncIteration):
            while kept.finished or taken < len(kept.values):
                await generator.asend(kept.sent.get(taken))
                taken += 1


def _kept(result: bytes) -> Yielded:
    """What the recording kept; one that broke off, or ended by an exception, asked until then."""
    return msgspec.json.decode(result, type=Yielded) if result else Yielded(finished=True)
