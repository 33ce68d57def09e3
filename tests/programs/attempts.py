"""Steps of a program, each of which may fail: what fails is told in full, and the next step begins."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

PLAIN = (str, int, float, bool, type(None))


def told(error: BaseException | None, depth: int = 0) -> None:
    """An exception as a program can see it: class, text, arguments, attributes, and what it came from."""
    if error is None or depth > 4:
        return
    kind = type(error)
    print("   !" * (depth + 1), f"{kind.__module__}.{kind.__qualname__}: {error}")
    print("   !" * (depth + 1), "of", [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__[1:4]])
    print("   !" * (depth + 1), "args", [arg if isinstance(arg, PLAIN) else type(arg).__name__ for arg in error.args])
    for name in ("errno", "strerror", "status", "code"):
        if hasattr(error, name):
            print("   !" * (depth + 1), name, repr(getattr(error, name)))
    request = getattr(error, "request", None) if not hasattr(error, "_request") else error._request
    if request is not None:
        print("   !" * (depth + 1), "request", request.method, request.url)
    told(error.__cause__, depth + 1)


def attempt(name: str, step: Callable[[], Any]) -> None:
    print("#", name)
    try:
        step()
    except Exception as error:
        told(error)


async def aattempt(name: str, step: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    print("#", name)
    try:
        await step()
    except Exception as error:
        told(error)
