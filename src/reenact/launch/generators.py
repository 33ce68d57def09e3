"""Generators that are runs: recorded while they are asked for their next value, and in nobody's sight in between.

What was yielded is the result, with how it ended. Values that were sent in come back in replay if they are plain JSON;
exceptions that were thrown in do not.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
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


Begin = Callable[[tuple[Any, ...], dict[str, Any]], Run]


class Yielded(msgspec.Struct, omit_defaults=True):
    """What a generator gave and was given. `finished`: it came to its end; else its user let go of it."""

    values: list[msgspec.Raw] = []
    sent: dict[int, Any] = {}
    finished: bool = False
    returned: Any = None


def recorded(function: Callable[..., Generator[Any, Any, Any]], begin: Begin) -> Callable[..., Any]:
    """The generator function, each of whose generators is a run that begins when it is first asked."""

    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        run, kept = begin(args, kwargs), Yielded()
        step: Callable[[], Any] = partial(next, generator)
        try:
            while True:
                try:
                    value = step()
                except StopIteration as end:
                    kept.finished, kept.returned = True, end.value
                    break
                kept.values.append(msgspec.Raw(encode_result(value)))
                run.pause()
                try:
                    sent = yield value
                except GeneratorExit:
                    run.resume()
                    generator.close()
                    break
                except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                    run.resume()
                    step = partial(generator.throw, error)
                else:
                    run.resume()
                    step = partial(_send, kept, generator.send, sent)
        except BaseException as error:
            run.end(error)
            raise
        run.end(None, kept)
        return kept.returned

    return generate


def _send(kept: Yielded, send: Callable[[Any], Any], value: Any) -> Any:
    if value is not None:
        kept.sent[len(kept.values)] = value
    return send(value)


def recorded_async(function: Callable[..., AsyncGenerator[Any, Any]], begin: Begin) -> Callable[..., Any]:
    """As `recorded`."""

    @functools.wraps(function)
    async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        run, kept = begin(args, kwargs), Yielded()
        step: Callable[[], Awaitable[Any]] = partial(anext, generator)
        try:
            while True:
                try:
                    value = await step()
                except StopAsyncIteration:
                    kept.finished = True
                    break
                kept.values.append(msgspec.Raw(encode_result(value)))
                run.pause()
                try:
                    sent = yield value
                except GeneratorExit:
                    run.resume()
                    await generator.aclose()
                    break
                except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                    run.resume()
                    step = partial(generator.athrow, error)
                else:
                    run.resume()
                    step = partial(_send, kept, generator.asend, sent)
        except BaseException as error:
            run.end(error)
            raise
        run.end(None, kept)

    return generate


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
