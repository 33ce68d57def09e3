"""The seam in what passes between the processes of multiprocessing: connections, and semaphores.

Queues, pools, managers, events and conditions are made of these. All that comes to the program through them is on
tape, in its turn; in replay nobody is at the other end.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import os
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

import msgspec

from reenact import _real
from reenact.engine.lane import Lane, muted
from reenact.seams.concurrency.processes import Processes
from reenact.seams.patch import Patches
from reenact.tape.event import Kind

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
            "multiprocessing.managers": self._meet_managers,
            "multiprocessing.heap": partial(self._meet_memory, "Arena"),
            "multiprocessing.shared_memory": partial(self._meet_memory, "SharedMemory"),
        }

    @property
    def replaying(self) -> bool:
        """Whether nobody is at the other end."""
        return self._processes.replaying

    def lane(self) -> Lane | None:
        """The lane of the calling code, if that is in this run."""
        return self._processes.lane()

    def leaves(self) -> None:
        """Something goes to another process."""
        self._processes.leaves()

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
        listener = module.SocketListener
        patches.set(listener, "accept", self._accepting(listener.accept, module.Pipe))

    def _sending(self, real: Callable[..., None]) -> Callable[..., None]:
        def _send_bytes(self_: Any, buf: Any) -> None:
            lane = self.lane()
            if lane is None:
                real(self_, buf)
                return
            self.leaves()
            self.ask(lane, Kind.PIPE, "send to a process", lambda: real(self_, buf), bytes(buf))

        return _send_bytes

    def _receiving(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def _recv_bytes(self_: Any, maxsize: int | None = None) -> Any:
            lane = self.lane()
            if lane is None:
                return real(self_, maxsize)
            came: list[Any] = []

            def perform() -> bytes | None:
                came.append(real(self_, maxsize))
                return came[0] if came[0] is None else came[0].getvalue()

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

    def _accepting(self, real: Callable[[Any], Any], make: Callable[[], tuple[Any, Any]]) -> Callable[[Any], Any]:
        def accept(self_: Any) -> Any:
            lane = self.lane()
            if lane is None:
                return real(self_)
            made: list[Any] = []
            self.ask(lane, Kind.PIPE, "accept a process", lambda: made.append(real(self_)))
            return made[0] if made else make()[0]

        return accept

    # Managers

    def _meet_managers(self, module: ModuleType, patches: Patches) -> None:
        """A manager's objects are known by their addresses. Here, by numbers that are the same in every run."""
        numbers: dict[int, tuple[weakref.ref[Any], int]] = {}

        def number(thing: Any) -> int:
            lane = self.lane()
            if lane is None:
                return id(thing)
            known, own = numbers.get(id(thing), (None, 0))
            if known is None or known() is not thing:
                own = lane.mark()
                with contextlib.suppress(TypeError):  # one without weak references is asked for once, when it is made
                    numbers[id(thing)] = weakref.ref(thing), own
            return own

        vars(module)["id"] = number
        patches.on_undo(lambda: vars(module).pop("id"))

    # Memory

    def _meet_memory(self, kind: str, module: ModuleType, patches: Patches) -> None:
        holder = getattr(module, kind)
        real = holder.__init__

        def __init__(self_: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  it takes the place of one
            lane, memory = self.lane(), self._processes.memory
            found = kind == "Arena" and (kwargs.get("fd", -1) != -1 or args[1:2] not in {(), (-1,)})
            found = found or (kind == "SharedMemory" and not (kwargs.get("create") or args[1:2] == (True,)))
            if lane is None or not (found and self.replaying):
                real(self_, *args, **kwargs)
            elif kind == "Arena":
                with muted():  # its own, and not that of another process
                    real(self_, args[0], _anonymous(args[0]))
            else:
                _stand_in(self_, args[0] if args else kwargs["name"], memory.size_of_next(lane))
            if lane is not None:
                memory.made(lane, self_, found=found)

        __init__.__wrapped__ = real  # type: ignore[attr-defined]
        patches.set(holder, "__init__", __init__)
        if kind == "SharedMemory":
            patches.set(holder, "unlink", self._unlinking(holder.unlink))

    def _unlinking(self, real: Callable[[Any], None]) -> Callable[[Any], None]:
        def unlink(self_: Any) -> None:
            with contextlib.suppress(FileNotFoundError) if self.replaying else contextlib.nullcontext():
                real(self_)

        return unlink


def _anonymous(size: int) -> int:
    """The descriptor of a file without a name: `tempfile` would remember that it was asked for one."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("reenact")
    else:
        path = f"{os.environ.get('TMPDIR', '/tmp')}/reenact-{_real.urandom(8).hex()}"  # noqa: S108  gone at once
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)  # noqa: PTH108  it is text
    os.ftruncate(descriptor, size)
    return descriptor


def _stand_in(shared: Any, name: str, size: int) -> None:
    """As `SharedMemory.__init__` leaves it, with memory that is nobody else's."""
    shared._name = f"/{name}" if shared._prepend_leading_slash else name
    shared._mmap = mmap.mmap(-1, size)
    shared._size, shared._buf = size, memoryview(shared._mmap)


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
