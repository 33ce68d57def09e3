"""The seam in what passes between the processes of multiprocessing: connections, and semaphores.

Queues, pools, managers, events and conditions are made of these. All that comes to the program through them is on
tape, in its turn; in replay nobody is at the other end.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

import msgspec

from reenact.engine.lane import Lane
from reenact.seams.concurrency.processes import Processes
from reenact.seams.patch import Patches
from reenact.tape.event import Kind
from reenact.tape.redact import PLACEHOLDER

_PLACEHOLDER = PLACEHOLDER.encode()

_encode = msgspec.msgpack.Encoder().encode
_decode_message = msgspec.msgpack.Decoder(bytes | None).decode
_decode_places = msgspec.msgpack.Decoder(list[int]).decode


class Channels:
    """What the processes of one run share with each other."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def seams(self) -> dict[str, Callable[[ModuleType, Patches], None]]:
        """What is met in which module."""
        return {
            "multiprocessing.connection": self._meet_connections,
            "multiprocessing.synchronize": partial(_meet_semaphores, self),
            "multiprocessing.heap": partial(self._meet_memory, "Arena"),
            "multiprocessing.shared_memory": partial(self._meet_memory, "SharedMemory"),
        }

    def lane(self) -> Lane | None:
        """The lane of the calling code, if that is in this run."""
        return self._processes.lane()

    def ask(self, lane: Lane, kind: Kind, name: str, perform: Callable[[], Any], body: bytes = b"") -> bytes:
        """What `perform` gives, as it stands on tape."""
        event, data = self._processes.ask(lane, kind, name, body, lambda: _encode(perform()))
        self._processes.heard(event)
        return data

    # Connections

    def _meet_connections(self, module: ModuleType, patches: Patches) -> None:
        connection = module.Connection
        patches.set(connection, "_send_bytes", self._sending(connection._send_bytes))
        patches.set(connection, "_recv_bytes", self._receiving(connection._recv_bytes))
        patches.function(module, "wait", self._waiting(module.wait))
        patches.set(module, "SocketClient", self._connecting(module.SocketClient, module.Pipe))

    def _sending(self, real: Callable[..., None]) -> Callable[..., None]:
        def _send_bytes(self_: Any, buf: Any) -> None:
            lane = self.lane()
            if lane is None:
                real(self_, buf)
                return
            self.ask(lane, Kind.PIPE, "send to a process", lambda: real(self_, buf), self._compared(bytes(buf)))

        return _send_bytes

    def _receiving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def _recv_bytes(self_: Any, maxsize: int | None = None) -> Any:
            lane = self.lane()
            if lane is None:
                return real(self_, maxsize)
            came: list[Any] = []

            def perform() -> bytes | None:
                came.append(real(self_, maxsize))
                return came[0] if came[0] is None else self._processes.blanked(came[0].getvalue())

            data = self.ask(lane, Kind.PIPE, "receive from a process", perform)
            return came[0] if came else _message(_decode_message(data))

        return _recv_bytes

    def _waiting(self, real: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def wait(object_list: Iterable[Any], timeout: float | None = None) -> list[Any]:
            lane = self.lane()
            if lane is None:
                return real(object_list, timeout)
            things = list(object_list)

            places = {id(thing): place for place, thing in enumerate(things)}

            def perform() -> list[int]:
                return [places[id(thing)] for thing in real(things, timeout)]

            name = f"wait for {len(things)} connections" if len(things) > 1 else "wait for a connection"
            return [things[place] for place in _decode_places(self.ask(lane, Kind.WAIT, name, perform))]

        wait.__doc__ = real.__doc__
        return wait

    def _connecting(self, real: Callable[[Any], Any], make: Callable[[], tuple[Any, Any]]) -> Callable[[Any], Any]:
        def SocketClient(address: Any) -> Any:  # noqa: N802  its name
            lane = self.lane()
            if lane is None:
                return real(address)
            made: list[Any] = []
            self.ask(lane, Kind.PIPE, "connect to a process", lambda: made.append(real(address)), b"%r" % (address,))
            return made[0] if made else make()[0]

        return SocketClient

    def _compared(self, message: bytes) -> bytes:
        """What is compared of a message. Where a credential is in it, a pickle says how long that is."""
        cleaned = self._processes.clean(message)
        if _PLACEHOLDER not in cleaned:
            return message
        import pickletools  # hardly ever needed

        try:
            told = [f"{op.name} {arg!r}" for op, arg, _ in pickletools.genops(message) if op.name != "FRAME"]
        except ValueError:  # it is no pickle
            return cleaned
        return self._processes.clean("\n".join(told).encode())

    # Memory

    def _meet_memory(self, kind: str, module: ModuleType, patches: Patches) -> None:
        holder = getattr(module, kind)
        real = holder.__init__

        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  it takes the place of one
            lane = self.lane()
            attached = kind == "SharedMemory" and not (kwargs.get("create") or args[1:2] == (True,))
            if lane is not None and attached:
                self._processes.memory.made(lane, None)
            real(self_, *args, **kwargs)
            if lane is not None and not attached:
                self._processes.memory.made(lane, self_)

        __init__.__wrapped__ = real  # type: ignore[attr-defined]
        patches.set(holder, "__init__", __init__)


def _meet_semaphores(channels: Channels, module: ModuleType, patches: Patches) -> None:
    from reenact.seams.concurrency import semaphores

    semaphores.install(module, patches, channels)


def _message(data: bytes | None) -> io.BytesIO | None:
    """As a connection gives it: written, and not yet read."""
    if data is None:
        return None
    message = io.BytesIO()
    message.write(data)
    return message
