"""The seam in child processes: their start, what passes through their pipes, and their end.

In replay nothing is started. The program reads the answers of the recorded run from pipes that have nobody at their
other end, and what it writes to a child is compared with what it wrote then.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol

import msgspec

from reenact import _real
from reenact.engine import failure
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.divergence import Datum, Divergence, What
from reenact.engine.lane import Lane, current, get_lane, muted
from reenact.engine.session import Session
from reenact.errors import DivergenceError
from reenact.seams.patch import Patches
from reenact.seams.system.joining import Join, Joined, Joins, Start
from reenact.tape import nature
from reenact.tape.event import Child, Failed, Kind, PartKind
from reenact.tape.redact import PLACEHOLDER, is_secret_name

_SERVED = "_reenact_served"  # on a Popen that stands for a child of the recorded run
_JOINED = "_reenact_joined"  # on a Popen, the Pythons that have joined the run by it
_READ_BYTES = 65536
_MAX_SHOWN = 200


class Others(Protocol):
    """Who looks after what other processes do to the run's files."""

    def before_child(self) -> None:
        """One is about to be started."""

    def after_child(self, event: int) -> None:
        """One has ended, as the run knows by that event."""

    def meanwhile(self, event: int) -> None:
        """One has told something by that event, and goes on."""


class _Told(msgspec.Struct, array_like=True):
    """What waiting for a child gave: its status, or None where it still runs; what it had written by then."""

    status: int | None
    expired: bool = False
    out: bytes | None = None
    err: bytes | None = None


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Told).decode


def install(patches: Patches, session: Session, others: Others | None, join: Join | None = None) -> Children:
    """Meets `subprocess`, and what is made of it, and `os.system`. `join` lets Pythons record themselves."""
    seam = Children(session, others, join)
    popen = subprocess.Popen
    patches.set(subprocess, "io", SimpleNamespace(**{**vars(io), "open": seam.open_pipe}))
    patches.set(popen, "_execute_child", seam.starting(popen._execute_child))  # type: ignore[attr-defined]
    patches.set(popen, "_wait", seam.waiting(popen._wait))  # type: ignore[attr-defined]
    patches.set(popen, "_internal_poll", seam.polling(popen._internal_poll))  # type: ignore[attr-defined]
    patches.set(popen, "_communicate", seam.communicating(popen._communicate))  # type: ignore[attr-defined]
    patches.function(os, "system", seam.system(os.system))
    _meet_spawns(patches, "a replay")
    return seam


def meet_shared(patches: Patches) -> None:
    """Runs in code keep no child processes: a recording tells of each, and a replay starts none."""
    popen, replay = subprocess.Popen, "a replay of a run in code"
    patches.set(popen, "_execute_child", _untaped(popen._execute_child, 1, replay))  # type: ignore[attr-defined]
    patches.function(os, "system", _untaped(os.system, 0, replay))
    _meet_spawns(patches, replay)


def _meet_spawns(patches: Patches, replay: str) -> None:
    """What nothing is kept of, whatever the run."""
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            patches.function(os, name, _untaped(getattr(os, name), 1, replay))


def _untaped(real: Callable[..., Any], whose: int, replay: str) -> Callable[..., Any]:
    """`real`, told in a recording and refused in `replay`; the command is its argument number `whose`."""

    def start(*args: Any, **options: Any) -> Any:
        lane = current()
        if lane is None or lane.session is None:
            return real(*args, **options)
        name = shown(args[whose], lane.session.vault.clean_text)
        unwatched(lane, name)
        if lane.session.plan.prefix is not None:
            Crossing.begin(lane, Call(Kind.PROCESS, f"start `{name}`"), revive)
            raise DivergenceError(f"{replay} starts no child process")
        lane.session.note("child", f"`{name}` was started; {replay} does not", _real.getframe(1))
        return real(*args, **options)

    start.__name__ = start.__qualname__ = real.__name__
    return start


def unwatched(lane: Lane, what: str) -> None:
    """In a branch: a process is about to start of which nobody sees what it does. It is a hazard like any.

    Raises:
        OSError: it is refused.
        DivergenceError: the branch is not live, and it would do again what it did.
    """
    session, call = lane.session, Call(Kind.PROCESS, f"start `{what}`")
    assert session is not None  # noqa: S101  callers have asked
    if session.boundary.awaits(lane.path, call.name) or (session.guard is not None and session.live):
        Crossing.begin(lane, call, revive).pull(lambda: Answer(PartKind.VALUE, b""))
    elif session.guard is not None:
        session.diverge(Divergence(What.EXTRA, lane.path, actual=Datum("process", call.name)))


class Children:
    """The child processes of one run."""

    def __init__(self, session: Session, others: Others | None, join: Join | None = None) -> None:
        self._session = session
        self.others = others
        self._joins = Joins(session, join)

    def _lane(self) -> Lane | None:
        lane = get_lane()
        return lane if lane is not None and lane.session is self._session else None

    def shown(self, args: Any) -> str:
        """As `shown`; before it is cut, or a part of a secret would be left."""
        return shown(args, self._session.vault.clean_text)

    def ask(self, lane: Lane, kind: Kind, what: str, body: bytes, perform: Callable[[], bytes]) -> tuple[int, bytes]:
        """The event, and what `perform` gives now, or gave in the recording."""
        crossing = self._begin(lane, kind, what, body)
        return crossing.event, crossing.pull(lambda: Answer(PartKind.VALUE, perform())).data

    def _begin(self, lane: Lane, kind: Kind, what: str, body: bytes) -> Crossing:
        name = what.encode("utf-8", "backslashreplace").decode()
        return Crossing.begin(lane, Call(kind, name, body=body), revive)

    def start(self, lane: Lane, verb: str, start: Start, real: Callable[[Start], int]) -> tuple[int, list[Child], int]:
        """What `real` gives, or gave in the recording; the Pythons that have joined the run by it; and the event."""
        env = {} if start.env is None else {os.fsdecode(key): os.fsdecode(value) for key, value in start.env.items()}
        known = [*nature.of_environment(env), *nature.of_arguments(start.words)]
        self._session.vault.learn(known, nature.is_long)
        name = self.shown(start.args)
        joined = Joined(start, [])

        def perform() -> Answer:
            nonlocal joined
            joined = self._joins.ask(lane, start)
            return Answer(PartKind.VALUE, b"%d" % real(joined.start))

        self.before()
        crossing = self._begin(lane, Kind.PROCESS, f"{verb} `{name}`", command_of(start))
        given = int(crossing.pull(perform).data)
        children = self._joins.began(lane, crossing, joined)
        self.over(crossing.event)
        if self._session.recording:
            frame = _real.getframe(2)
            if joined.why:
                self._session.note("child", f"`{name}` is not recorded itself: {joined.why}", frame)
            if start.ours and not children:
                what = f"what `{name}` writes past this program, to its own output, is not on tape"
                self._session.note("child", what, frame)
        return given, children, crossing.event

    def ended(self, children: list[Child], event: int, status: int | None) -> None:
        """A child has ended, as the run knows by that event; or it has not, where there is no status."""
        self.over(event)
        if status is not None:
            self._joins.ended(children, event, status)

    def _told(self, lane: Lane, child: Any, verb: str, body: bytes, perform: Callable[[], bytes]) -> _Told:
        """What waiting for a child gives, or gave."""
        event, data = self.ask(lane, Kind.EXIT, f"{verb} `{self.shown(child.args)}`", body, perform)
        told = _decode(data)
        self.ended(vars(child).get(_JOINED, []), event, told.status)
        return told

    def before(self) -> None:
        """A child is about to be started."""
        if self.others is not None:
            self.others.before_child()

    def heard(self, event: int) -> None:
        """One that goes on has told something, by that event."""
        if self.others is not None:
            self.others.meanwhile(event)

    def over(self, event: int) -> None:
        """A child has ended, or may have: by that event the run knows."""
        if self.others is not None:
            self.others.after_child(event)

    # Beginning and end

    def starting(self, real: Callable[..., None]) -> Callable[..., None]:
        """The start, before which everything is on disk."""

        def _execute_child(self_: Any, args: Any, executable: Any, *rest: Any) -> None:
            lane = self._lane()
            if lane is None:
                real(self_, args, executable, *rest)
                return
            preexec, close, passed, cwd, env, info, flags, shell, *pipes = rest
            ours = not {-1, 1, 2}.isdisjoint((pipes[3], pipes[5]))
            start = Start(args, executable, cwd, env, bool(shell), ours=ours)
            name = self.shown(args)
            for stream in ("stdin", "stdout", "stderr"):
                pipe = _raw(getattr(self_, stream))
                if pipe is not None:
                    pipe.label = f"{stream} of `{name}`"
            started = False

            def perform(how: Start) -> int:
                nonlocal started
                started = True
                real(self_, how.args, executable, preexec, close, passed, cwd, how.env, info, flags, shell, *pipes)
                return int(self_.pid)

            pid, children, _ = self.start(lane, "start", start, perform)
            setattr(self_, _JOINED, children)
            if not started:
                self_.pid, self_._child_created = pid, True
                setattr(self_, _SERVED, True)
                self._session.stand_ins.add(self_.pid)
                self_._close_pipe_fds(*pipes[:6])

        return _execute_child

    def waiting(self, real: Callable[..., int]) -> Callable[..., int]:
        """Waiting for the end."""

        def _wait(self_: Any, timeout: float | None) -> int:
            lane = self._lane()
            if lane is None or self_.returncode is not None:
                return real(self_, timeout)

            def perform() -> bytes:
                try:
                    return _encode(_Told(real(self_, timeout)))
                except subprocess.TimeoutExpired:
                    return _encode(_Told(None, expired=True))

            told = self._told(lane, self_, "wait for", b"", perform)
            if told.expired:
                raise subprocess.TimeoutExpired(self_.args, timeout or 0)
            self_.returncode = told.status
            return int(self_.returncode)

        return _wait

    def polling(self, real: Callable[..., int | None]) -> Callable[..., int | None]:
        """Asking whether it has ended."""

        def _internal_poll(self_: Any, *args: Any, **kwargs: Any) -> int | None:
            lane = self._lane()
            if args or kwargs or lane is None or self_.returncode is not None:
                if self_.returncode is None and _SERVED in vars(self_):
                    self_.returncode = kwargs.get("_deadstate", args[0] if args else None)
                    return self_.returncode  # type: ignore[no-any-return]  # a finalizer asks, and nobody was started
                return real(self_, *args, **kwargs)
            told = self._told(lane, self_, "ask for the end of", b"", lambda: _encode(_Told(real(self_))))
            self_.returncode = told.status
            return self_.returncode  # type: ignore[no-any-return]

        return _internal_poll

    def communicating(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """All of its input, output and end at once."""

        def _communicate(self_: Any, input: Any, endtime: Any, orig_timeout: Any) -> Any:  # noqa: A002  its name
            lane = self._lane()
            if lane is None:
                return real(self_, input, endtime, orig_timeout)
            live: list[Any] = []

            def perform() -> bytes:
                try:
                    live.append(real(self_, input, endtime, orig_timeout))
                except subprocess.TimeoutExpired as error:
                    live.append(error)
                    return _encode(_Told(None, expired=True, out=_bytes(error.output), err=_bytes(error.stderr)))
                out, err = map(_bytes, live[0])
                return _encode(_Told(self_.returncode, out=out, err=err))

            sent = _bytes(input) or b""
            told = self._told(lane, self_, "communicate with", sent, perform)
            if live:
                if isinstance(live[0], subprocess.TimeoutExpired):
                    raise live[0]
                return live[0]
            if told.expired:
                raise subprocess.TimeoutExpired(self_.args, orig_timeout, output=told.out, stderr=told.err)
            for file in filter(None, (self_.stdin, self_.stdout, self_.stderr)):
                with muted():
                    file.close()
            self_.returncode = told.status
            if self_.text_mode:
                return _text(told.out), _text(told.err)
            return told.out, told.err

        return _communicate

    def system(self, real: Callable[[Any], int]) -> Callable[[Any], int]:
        """`os.system`, from start to end."""

        def system(command: Any) -> int:
            lane = self._lane()
            if lane is None:
                return real(command)
            start = Start(command, shell=True, ours=True)  # noqa: S604  it is not called
            status, children, event = self.start(lane, "os.system", start, lambda how: real(how.args))
            self.ended(children, event, os.waitstatus_to_exitcode(status))
            return status

        return system

    # Pipes

    def open_pipe(self, file: Any, mode: str = "r", buffering: int = -1, *args: Any, **kwargs: Any) -> Any:
        """As `io.open`, for what `subprocess` opens."""
        if self._lane() is None or not isinstance(file, int) or mode not in {"rb", "wb"}:
            return io.open(file, mode, buffering, *args, **kwargs)  # noqa: UP020
        pipe = _Pipe(self, file, mode)
        if buffering == 0:
            return pipe
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        return io.BufferedReader(pipe, size) if mode == "rb" else io.BufferedWriter(pipe, size)


class _Pipe(io.RawIOBase):
    """Our end of a pipe to a child."""

    def __init__(self, children: Children, descriptor: int, mode: str) -> None:
        self._children = children
        self._under = io.FileIO(descriptor, mode)
        self.name, self.mode = descriptor, mode
        self.label = "a pipe"

    def readable(self) -> bool:
        return self.mode == "rb"

    def writable(self) -> bool:
        return self.mode == "wb"

    def fileno(self) -> int:
        return self._under.fileno()

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._under.close()

    def readinto(self, buffer: Any, /) -> int | None:
        try:
            data = self._next(len(buffer))
        except BlockingIOError:
            return None
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        parts: list[bytes] = []
        while data := self._next(_READ_BYTES):
            parts.append(data)
        return b"".join(parts)

    def write(self, data: Any, /) -> int:
        lane = self._children._lane()
        sent = bytes(data)
        if lane is None:
            return self._under.write(sent)
        what = f"write to {self.label}"
        return int(self._children.ask(lane, Kind.PIPE, what, sent, lambda: b"%d" % self._under.write(sent))[1])

    def _next(self, size: int) -> bytes:
        lane = self._children._lane()
        return (
            self._read(size)
            if lane is None
            else self._children.ask(lane, Kind.PIPE, f"read {self.label}", b"", lambda: self._read(size))[1]
        )

    def _read(self, size: int) -> bytes:
        data = self._under.read(size)
        if data is None:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return data


def _raw(file: Any) -> _Pipe | None:
    while file is not None and not isinstance(file, _Pipe):
        file = getattr(file, "buffer", None) or getattr(file, "raw", None)
    return file


def shown(args: Any, clean: Callable[[str], str]) -> str:
    """A command as one would type it, on one line, and not too long."""
    words = Start(args).words
    text = clean(words[0] if len(words) == 1 else shlex.join(words))
    text = " ".join(text.split())
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def command_of(start: Start) -> bytes:
    """All that says what is started; of the environment what is other than this program's own."""
    about: dict[str, Any] = {"args": start.words, "shell": start.shell}
    executable, cwd, env = start.executable, start.cwd, start.env
    if executable is not None:
        about["executable"] = os.fsdecode(executable)
    if cwd is not None:
        about["cwd"] = os.fsdecode(cwd)
    if env is not None:
        given = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
        new = {name: value for name, value in given.items() if os.environ.get(name) != value}
        about["env"] = {name: PLACEHOLDER if is_secret_name(name) else value for name, value in sorted(new.items())}
        about["env_without"] = sorted(set(os.environ) - set(given))
    return json.dumps(about, ensure_ascii=True).encode()


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text) if text is not None else None


def _text(data: bytes | None) -> str | None:
    return data.decode("utf-8", "surrogatepass") if data is not None else None


def revive(failed: Failed) -> BaseException:
    """The exception that the recorded run saw."""
    return failure.decode(failed, ())
