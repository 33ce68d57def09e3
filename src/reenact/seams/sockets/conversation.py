"""A conversation: one connection of the program's, of which no seam knows what is spoken over it.

Its beginning is an event, and what comes over it are the parts of that event, whoever reads them. Each thing that is
sent is an event of its own, of the lane that sends it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import Lane, muted
from reenact.seams.sockets.speech import Speech
from reenact.tape.event import Failed, Kind, PartKind

FALTERING: Final[tuple[type[BaseException], ...]] = (
    TimeoutError,
    BlockingIOError,
    InterruptedError,
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
)
"""After these, more may come."""
OVER: Final = "over"
"""The argument that names the event of the connection."""
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.decode
_decode_failed = msgspec.msgpack.Decoder(Failed).decode

Perform = Callable[[], bytes]


def revive(failed: Failed) -> BaseException:
    """The exception that the recorded run saw."""
    return failure.decode(failed, (socket, ssl, asyncio))


def _begin(lane: Lane, what: str, body: bytes, over: Crossing | None) -> Crossing:
    """An event that tells readers which connection it is of; a replay does not compare that."""
    if over is None:
        return Crossing.begin(lane, Call(Kind.SOCKET, what, body=body), revive)
    return Crossing.begin(lane, Call(Kind.SOCKET, what, ((OVER, str(over.event)),), body), over.revive)


def ask(lane: Lane, what: str, perform: Perform, body: bytes = b"", over: Crossing | None = None) -> bytes:
    """What `perform` gives now, or what it gave in the recording: one event. `over` is the connection that it is of."""
    crossing = _begin(lane, what, body, over)
    return crossing.pull(lambda: Answer(PartKind.VALUE, perform())).data


async def asked(
    lane: Lane, what: str, perform: Callable[[], Awaitable[bytes]], body: bytes = b"", over: Crossing | None = None
) -> bytes:
    """As `ask`, suspending the calling task instead."""
    crossing = _begin(lane, what, body, over)

    async def answer() -> Answer:
        return Answer(PartKind.VALUE, await perform())

    return (await crossing.apull(answer)).data


def say(lane: Lane, label: str, body: bytes, perform: Callable[[], object], over: Crossing) -> None:
    """Sends without waiting for anything: an event that nothing comes back to."""
    crossing = _begin(lane, f"send to {label}", body, over)
    if crossing.served is None:
        with muted():
            perform()
    crossing.close()


def packed(data: bytes, *about: Any) -> bytes:
    """A message with its sender, and what else is known of it, as it stands on tape."""
    return _encode((data, *about))


def message_of(data: bytes) -> tuple[Any, ...]:
    """What `packed` put together; addresses are tuples again."""
    return tuple(tuple(each) if isinstance(each, list) else each for each in _decode(data))


def faltered(error: BaseException) -> bytes:
    """An exception after which more may come, as it stands on tape."""
    return _encode(failure.encode(error))


def raised(data: bytes, crossing: Crossing) -> BaseException:
    """The exception that `faltered` kept."""
    return crossing.revive(_decode_failed(data))


def _part(data: bytes, *, whole: bool = False) -> Answer:
    return Answer(PartKind.CHUNK if data or whole else PartKind.END, data)


class Conversation:
    """What goes over one connection. `label` names the other side; after `faltering` exceptions more may come.

    `messages`: it is that of a WebSocket.
    """

    def __init__(
        self,
        crossing: Crossing,
        label: str,
        faltering: tuple[type[BaseException], ...] = FALTERING,
        *,
        messages: bool = False,
    ) -> None:
        self.crossing = crossing
        self.label = label
        self.sent = Speech(messages=messages).sent
        self._faltering = faltering
        self.tls: Any = None
        self._rest = b""
        self._reading = 0

    @property
    def served(self) -> bool:
        """Whether the tape answers."""
        return self.crossing.served is not None

    def receive(self, size: int, perform: Perform, *, whole: bool = False) -> bytes:
        """Up to `size` bytes of what comes next; `whole`: a message that has its own end. Empty is the end."""
        if self._rest:
            return self._take(size)
        if self.crossing.closed:
            return b"" if self.served else perform()
        late: list[BaseException] = []

        def answer() -> Answer:
            try:
                return _part(perform(), whole=whole)
            except self._faltering as error:
                late.append(error)
                return Answer(PartKind.FALTERED, b"", lambda: faltered(late[0]))

        self._reading += 1
        try:
            given = self.crossing.pull(answer)
        finally:
            self._reading -= 1
        if given.kind is PartKind.FALTERED:
            raise late[0] if late else raised(given.data, self.crossing)
        return given.data if whole else self._given(given.data, size)

    async def areceive(self, size: int, perform: Callable[[], Awaitable[bytes]], *, whole: bool = False) -> bytes:
        """As `receive`, suspending the calling task instead."""
        if self._rest:
            return self._take(size)
        if self.crossing.closed:
            return b"" if self.served else await perform()

        async def answer() -> Answer:
            return _part(await perform(), whole=whole)

        data = (await self.crossing.apull(answer)).data
        return data if whole else self._given(data, size)

    def _given(self, data: bytes, size: int) -> bytes:
        if not self.served:
            return data
        self._rest = data
        return self._take(size)

    def _take(self, size: int) -> bytes:
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def close(self, *, by_agent: bool) -> None:
        """The connection is closed. Who still waits for what comes is told so by the connection itself."""
        if self._reading:
            return
        if by_agent:
            self.crossing.close()
        else:
            self.crossing.drop(whole=True)

    def abandon(self) -> None:
        """The agent lets go of it. Who still waits for what comes is told so, as above."""
        if not self._reading:
            self.crossing.abandon()
