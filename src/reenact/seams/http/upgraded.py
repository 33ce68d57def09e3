"""What goes over a connection of httpx that is HTTP no more: a WebSocket, after the answer 101.

What comes are the parts of the exchange that asked for it; what is sent are events of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

from reenact.engine.crossing import Crossing
from reenact.engine.lane import current, muted
from reenact.seams.sockets.conversation import FALTERING, Conversation, ask, asked

SWITCHING = 101
_NAME = "network_stream"


def take(crossing: Crossing, response: Any, label: str, modules: Iterable[ModuleType]) -> None:
    """The stream below a response that has switched protocols is one of ours from now on."""
    beneath = [module for module in modules if module.__name__.startswith("httpcore")]
    late = [module.ReadTimeout for module in beneath]
    talk = Conversation(crossing, label, (*FALTERING, *late), messages=True)
    response.stream.let_go = talk.abandon
    response.extensions[_NAME] = _Stream(talk, response.extensions.get(_NAME))


def take_async(crossing: Crossing, response: Any, label: str) -> None:
    """As `take`, for an asynchronous client."""
    talk = Conversation(crossing, label, messages=True)
    response.extensions[_NAME] = _AsyncStream(talk, response.extensions.get(_NAME))


class _Stream:
    """As a `NetworkStream` of httpcore; without a real one in replay."""

    def __init__(self, talk: Conversation, real: Any) -> None:
        self._talk, self._real = talk, real

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if current() is None and self._real is not None:
            return bytes(self._real.read(max_bytes, timeout))
        return self._talk.receive(max_bytes, lambda: self._real.read(max_bytes, timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        lane = current()
        if lane is None:
            if self._real is not None:
                self._real.write(buffer, timeout)
            return

        def perform() -> bytes:
            self._real.write(buffer, timeout)
            return b""

        ask(lane, f"send to {self._talk.label}", perform, self._talk.sent(bytes(buffer)), self._talk.crossing)

    def close(self) -> None:
        if self._real is not None:
            with muted():
                self._real.close()

    def get_extra_info(self, info: str) -> Any:
        return self._real.get_extra_info(info) if self._real is not None else None


class _AsyncStream:
    """As an `AsyncNetworkStream` of httpcore; without a real one in replay."""

    def __init__(self, talk: Conversation, real: Any) -> None:
        self._talk, self._real = talk, real

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if current() is None and self._real is not None:
            return bytes(await self._real.read(max_bytes, timeout))
        return await self._talk.areceive(max_bytes, lambda: self._real.read(max_bytes, timeout))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        lane = current()
        if lane is None:
            if self._real is not None:
                await self._real.write(buffer, timeout)
            return

        async def perform() -> bytes:
            await self._real.write(buffer, timeout)
            return b""

        await asked(lane, f"send to {self._talk.label}", perform, self._talk.sent(bytes(buffer)), self._talk.crossing)

    async def aclose(self) -> None:
        if self._real is not None:
            with muted():
                await self._real.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._real.get_extra_info(info) if self._real is not None else None
