"""Functions of every sort with something that goes along with each of their calls: a run, a mark."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import Any, Protocol, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Along(Protocol):
    """What goes along with one call of a function that gives one value."""

    def end(self, error: BaseException | None, returned: Any = None) -> None:
        """The call is over."""


class AlongGenerator(Protocol):
    """What goes along with a generator. It begins when the generator is first asked, and is away between two values."""

    def gave(self, value: Any) -> None:
        """The generator gives a value, and is away."""

    def asked(self, sent: Any) -> None:
        """The generator is asked for its next value, maybe in another context, and was sent this."""

    def end(self, error: BaseException | None, returned: Any = None, *, finished: bool = True) -> None:
        """The generator is over. `finished` is false when it was let go of before its end."""


Begin = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Called with a function and what it is given. What goes along with that call, None for nothing."""


def around(function: F, begin: Begin) -> F:
    """The function, with what `begin` gives at each of its calls."""
    if isinstance(function, classmethod | staticmethod):
        return type(function)(around(function.__func__, begin))
    if inspect.isgeneratorfunction(function):
        made = _generator(function, begin)
    elif inspect.isasyncgenfunction(function):
        made = _async_generator(function, begin)
    elif inspect.iscoroutinefunction(function):
        made = _coroutine(function, begin)
    else:
        made = _plain(function, begin)
    return cast("F", functools.wraps(function)(made))


def _plain(function: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        along: Along | None = begin(function, args, kwargs)
        if along is None:
            return function(*args, **kwargs)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            along.end(error)
            raise
        along.end(None, result)
        return result

    return called


def _coroutine(function: Callable[..., Awaitable[Any]], begin: Begin) -> Callable[..., Any]:
    async def called(*args: Any, **kwargs: Any) -> Any:
        along: Along | None = begin(function, args, kwargs)
        if along is None:
            return await function(*args, **kwargs)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            along.end(error)
            raise
        along.end(None, result)
        return result

    return called


class _Nothing:
    """Goes along with a generator where nothing does."""

    def gave(self, value: Any) -> None:
        pass

    def asked(self, sent: Any) -> None:
        pass

    def end(self, error: BaseException | None, returned: Any = None, *, finished: bool = True) -> None:
        pass


_NOTHING = _Nothing()


def _generator(function: Callable[..., Generator[Any, Any, Any]], begin: Begin) -> Callable[..., Any]:
    def generate(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        along: AlongGenerator = begin(function, args, kwargs) or _NOTHING
        step: Callable[[], Any] = partial(next, generator)
        finished, returned = False, None
        try:
            while True:
                try:
                    value = step()
                except StopIteration as end:
                    finished, returned = True, end.value
                    break
                along.gave(value)
                try:
                    sent = yield value
                except GeneratorExit:
                    along.asked(None)
                    generator.close()
                    break
                except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                    along.asked(None)
                    step = partial(generator.throw, error)
                else:
                    along.asked(sent)
                    step = partial(generator.send, sent)
        except BaseException as error:
            along.end(error)
            raise
        along.end(None, returned, finished=finished)
        return returned

    return generate


def _async_generator(function: Callable[..., AsyncGenerator[Any, Any]], begin: Begin) -> Callable[..., Any]:
    async def generate(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        along: AlongGenerator = begin(function, args, kwargs) or _NOTHING
        step: Callable[[], Awaitable[Any]] = partial(anext, generator)
        finished = False
        try:
            while True:
                try:
                    value = await step()
                except StopAsyncIteration:
                    finished = True
                    break
                along.gave(value)
                try:
                    sent = yield value
                except GeneratorExit:
                    along.asked(None)
                    await generator.aclose()
                    break
                except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                    along.asked(None)
                    step = partial(generator.athrow, error)
                else:
                    along.asked(sent)
                    step = partial(generator.asend, sent)
        except BaseException as error:
            along.end(error)
            raise
        along.end(None, finished=finished)

    return generate
