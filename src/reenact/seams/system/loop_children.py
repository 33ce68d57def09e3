"""The seam in the child processes of event loops: what they answer, and that they end, is let in in its turn.

In replay nothing is started. The loop gets pipes as ever, whose other ends nobody has, and the tape says what comes.
"""

from __future__ import annotations

import asyncio
import asyncio.base_subprocess
import asyncio.unix_events
import io
import os
import socket
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import msgspec

from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import Lane, get_lane, muted
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system.children import Children, revive
from reenact.seams.system.joining import Start
from reenact.tape.event import Child as Joined
from reenact.tape.event import Kind, Part, PartKind

_CHILD = "_reenact_child"
_WATCHERS = ("ThreadedChildWatcher", "PidfdChildWatcher", "_ThreadedChildWatcher", "_PidfdChildWatcher")


class _Came(msgspec.Struct, array_like=True):
    """What came of a child: data from a pipe, the end of one (`data` is None), or its own end (`pipe` is -1)."""

    pipe: int
    data: bytes | None = None
    status: int = 0


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Came).decode


def install(patches: Patches, session: Session, children: Children) -> None:
    """Meets the transports of asyncio's own loops."""
    seam = _Seam(session, children)
    transport = asyncio.unix_events._UnixSubprocessTransport  # type: ignore[attr-defined]
    patches.set(transport, "_start", seam.starting(transport._start))
    patches.set(transport, "_connect_pipes", seam.connecting(transport._connect_pipes))
    for name in ("send_signal", "terminate", "kill", "close"):
        patches.set(transport, name, _quietly(getattr(transport, name)))
    patches.set(transport, "_pipe_data_received", _data(transport._pipe_data_received))
    patches.set(transport, "_pipe_connection_lost", _lost(transport._pipe_connection_lost))
    patches.set(transport, "_process_exited", _exited(transport._process_exited))
    for name in _WATCHERS:
        watcher = getattr(asyncio.unix_events, name, None)
        if watcher is not None:
            patches.set(watcher, "add_child_handler", _watching(watcher.add_child_handler, session))


class _StandIn:
    """A child of the recorded run, as its transport sees it."""

    def __init__(self, pid: int, pipes: dict[int, Any]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._others: list[int] = []
        self.stdin = self._end(0) if 0 in pipes else None
        self.stdout = self._end(1) if 1 in pipes else None
        self.stderr = self._end(2) if 2 in pipes else None

    def _end(self, number: int) -> Any:
        if number == 0:
            ours, other = socket.socketpair()
            self._others.append(other.detach())
            return io.FileIO(ours.detach(), "wb")
        ours_fd, other_fd = os.pipe()
        self._others.append(other_fd)
        return io.FileIO(ours_fd, "rb")

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, _signal: int) -> None:
        """There is nobody to get it."""

    def kill(self) -> None:
        """There is nobody to be killed."""

    terminate = kill

    def gone(self) -> None:
        """Lets go of the other ends."""
        while self._others:
            os.close(self._others.pop())


class _Child:
    """A child under way: what came of it goes on tape in its turn, or comes from there."""

    def __init__(self, transport: Any, crossing: Crossing, children: Children, joined: list[Joined]) -> None:
        self._joined = joined
        self.transport = transport
        self._children = children
        self.crossing = crossing
        self.replaying = crossing.served is not None
        self._context = copy_context()
        self._open = set(transport._pipes) - {0}
        self._ended = False

    def came(self, what: _Came, deliver: Callable[[], None]) -> None:
        """Something has come (recording)."""
        gate = self.crossing.gate

        def arrived() -> None:
            self.crossing.deliver(Answer(PartKind.CHUNK, b"", lambda: _encode(what)))
            self._count(what)
            deliver()

        if gate is None:
            arrived()
        else:
            self._context.run(gate.push, arrived)

    def expect(self) -> None:
        """What is on tape comes when it is its turn (replay)."""
        gate = self.crossing.gate
        if gate is None:
            return
        for tick, part in self.crossing.pushed():
            if part.kind == PartKind.CHUNK:
                self._context.run(gate.on_tick, tick, lambda part=part: self._serve(part))  # type: ignore[misc]

    def _serve(self, part: Part) -> None:
        self.crossing.take(part)
        what = _decode(part.data)
        self._count(what)
        transport, base = self.transport, asyncio.base_subprocess.BaseSubprocessTransport
        if transport._loop is None:
            return
        if what.pipe < 0:
            base._process_exited(transport, what.status)
        elif what.data is not None:
            base._pipe_data_received(transport, what.pipe, what.data)
        else:
            protocol = transport._pipes.get(what.pipe)
            if protocol is not None:
                protocol.disconnected = True
            base._pipe_connection_lost(transport, what.pipe, None)

    def _count(self, what: _Came) -> None:
        if what.pipe < 0:
            self._children.ended(self._joined, self.crossing.event, what.status)
        self._ended = self._ended or what.pipe < 0
        if what.data is None:
            self._open.discard(what.pipe)
        if self._ended and not self._open:
            self.crossing.close()


class _Seam:
    def __init__(self, session: Session, children: Children) -> None:
        self._session = session
        self._children = children

    def _lane(self) -> Lane | None:
        lane = get_lane()
        return lane if lane is not None and lane.session is self._session else None

    def starting(self, real: Callable[..., None]) -> Callable[..., None]:
        def _start(self_: Any, args: Any, *, shell: Any, stdout: Any, stderr: Any, **more: Any) -> None:
            lane = self._lane()
            if lane is None:
                real(self_, args=args, shell=shell, stdout=stdout, stderr=stderr, **more)
                return
            start = Start(
                args,
                more.get("executable"),
                more.get("cwd"),
                more.get("env"),
                bool(shell),
                ours=None in (stdout, stderr),
            )

            def perform(how: Start) -> int:
                given = {**more, "env": how.env}
                real(self_, args=how.args, shell=shell, stdout=stdout, stderr=stderr, **given)
                return int(self_._proc.pid)

            pid, joined, _ = self._children.start(lane, "start", start, perform)
            name = self._children.shown(args)
            if self_._proc is None:
                self_._proc = _StandIn(pid, self_._pipes)
                self._session.stand_ins.add(pid)
            crossing = Crossing.begin(lane, Call(Kind.PIPE, f"answers of `{name}`"), revive)
            setattr(self_, _CHILD, _Child(self_, crossing, self._children, joined))

        return _start

    def connecting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        async def _connect_pipes(self_: Any, waiter: Any) -> None:
            child = _of(self_)
            await real(self_, waiter)
            if child is None:
                return
            pipe = self_._pipes.get(0)
            if pipe is not None:
                self._meet_writes(pipe.pipe, child)
            if child.replaying:
                child.expect()

        return _connect_pipes

    def _meet_writes(self, transport: Any, child: _Child) -> None:
        real = transport.write

        def write(data: Any) -> None:
            lane = self._lane()
            if lane is None:
                if not child.replaying:
                    real(data)
                return

            def perform() -> bytes:
                real(data)
                return b""

            self._children.ask(lane, Kind.PIPE, "write to a child of the loop", bytes(data), perform)

        transport.write = write


def _of(transport: Any) -> _Child | None:
    found: _Child | None = vars(transport).get(_CHILD)
    return found


def _data(real: Callable[..., None]) -> Callable[..., None]:
    def _pipe_data_received(self: Any, fd: int, data: bytes) -> None:
        child = _of(self)
        if child is None:
            real(self, fd, data)
        elif not child.replaying:

            def deliver() -> None:
                if self._loop is not None:
                    real(self, fd, data)

            child.came(_Came(fd, bytes(data)), deliver)

    return _pipe_data_received


def _lost(real: Callable[..., None]) -> Callable[..., None]:
    def _pipe_connection_lost(self: Any, fd: int, error: BaseException | None) -> None:
        child = _of(self)
        if child is None or fd == 0:
            real(self, fd, error)
        elif not child.replaying:
            # the transport counts a pipe as gone before it is told so; it is gone when its turn has come
            protocol = self._pipes[fd]
            protocol.disconnected = False

            def deliver() -> None:
                protocol.disconnected = True
                if self._loop is not None:
                    real(self, fd, error)

            child.came(_Came(fd), deliver)

    return _pipe_connection_lost


def _exited(real: Callable[..., None]) -> Callable[..., None]:
    def _process_exited(self: Any, status: int) -> None:
        child = _of(self)
        if child is None:
            real(self, status)
        elif not child.replaying:
            child.came(_Came(-1, None, status), lambda: real(self, status))

    return _process_exited


def _quietly(real: Callable[..., None]) -> Callable[..., None]:
    """What is done to a child is no event of the run: that it ends by it is."""

    def method(self: Any, *args: Any) -> None:
        child = _of(self)
        if child is None:
            real(self, *args)
            return
        with muted():
            real(self, *args)
        if child.replaying and real.__name__ == "close" and self._proc is not None:
            self._proc.gone()

    method.__name__ = real.__name__
    return method


def _watching(real: Callable[..., None], session: Session) -> Callable[..., None]:
    def add_child_handler(self: Any, pid: int, *args: Any) -> None:
        if pid not in session.stand_ins:
            with muted():
                real(self, pid, *args)

    return add_child_handler
