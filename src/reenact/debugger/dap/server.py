"""The loop: what the editor asks is answered in its order, and what takes longer beside it.

All that touches the run happens in one thread of its own, one thing after another, because a process of the run ends
with the thread that started it. So the loop is free while the run moves: it can be paused, and be asked.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

import msgspec

from reenact.debugger.dap import bodies
from reenact.debugger.dap.framing import Framing, FramingError, framed
from reenact.debugger.dap.messages import Event, Request, Response, Unfit
from reenact.errors import ReenactError

_CHUNK = 1 << 16
_FAILED, _FAULT = 1, 2  # the numbers of errors: what was asked, and our own
_decode = msgspec.json.Decoder(Request).decode
_decode_loosely = msgspec.json.Decoder(Unfit).decode

Log = Callable[[str], None]


class Stream(Protocol):
    """A connection with an editor."""

    def read(self, size: int, /) -> bytes:
        """What has come, at most so much; empty when no more will."""

    def write(self, data: bytes, /) -> None:
        """Sends it all.

        Raises:
            OSError: nobody is there any more.
        """


class RefusedError(Exception):
    """A request that is answered with why it cannot be carried out.

    `short` is a word of the protocol's for it; `show`: the editor should show it to people at once.
    """

    def __init__(self, message: str, *, short: str = "", show: bool = False) -> None:
        super().__init__(message)
        self.short = short
        self.show = show


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer for which the run has to be asked, in its thread."""

    work: Callable[[], bodies.Body | None]


@dataclass(frozen=True, slots=True)
class Begun:
    """An answer, and what begins when it has been sent, in the thread of the run."""

    work: Callable[[], None]
    body: bodies.Body | None = None


Answer = bodies.Body | Asked | Begun | None


class Adapter(Protocol):
    """Who answers. `done`: the editor wants no more of us."""

    done: bool

    def answer(self, request: Request) -> Answer:
        """The answer to a request, or the way to it; in the loop.

        Raises:
            RefusedError: why there is none.
            ReenactError: the same.
            msgspec.ValidationError: its arguments are not those of the protocol.
        """

    def interrupt(self) -> None:
        """Has the run stand still, if it moves; in any thread."""

    def end(self) -> None:
        """Lets go of the run, in its thread."""


class Server:
    """One session with an editor."""

    def __init__(self, stream: Stream, log: Log) -> None:
        self._stream = stream
        self._log = log
        self._inbox: SimpleQueue[Request | None] = SimpleQueue()
        self._sequence = 0
        self._sending = threading.Lock()
        self._jobs: dict[int, Future[bodies.Body | None]] = {}
        self._run = ThreadPoolExecutor(1, "run")

    def serve(self, adapter: Adapter) -> None:
        """Answers until the editor is done, or gone."""
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        try:
            while not adapter.done and (request := self._inbox.get()) is not None:
                self._take(adapter, request)
        finally:
            for job in list(self._jobs.values()):
                job.cancel()
            adapter.interrupt()
            self._run.submit(adapter.end).result()
            self._run.shutdown()

    def say(self, event: str, body: bodies.Body | None = None) -> None:
        """Tells the editor something, from any thread."""
        with self._sending:
            self._sequence += 1
            self._send(Event(seq=self._sequence, event=event, body=body))

    def begin(self, work: Callable[[], None]) -> None:
        """Has something done in the thread of the run, after what waits there."""
        self._run.submit(work).add_done_callback(self._begun)

    def cancel(self, number: int) -> None:
        """Takes a request back that nobody works at yet."""
        job = self._jobs.get(number)
        if job is not None:
            job.cancel()

    def _read(self) -> None:
        framing = Framing()
        try:
            while data := self._stream.read(_CHUNK):
                for body in framing.feed(data):
                    self._came(body)
            if framing.within:
                self._log("! the editor has gone in the middle of a message")
        except (FramingError, OSError) as error:
            self._log(f"! {error}")
        finally:
            self._inbox.put(None)

    def _came(self, body: bytes) -> None:
        self._log(f"> {body.decode('utf-8', 'backslashreplace')}")
        try:
            self._inbox.put(_decode(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            refused = RefusedError(f"this is no request of the protocol: {error}")
            try:
                self._refuse(_decode_loosely(body), refused)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                self.say("output", bodies.Output(category="important", output=f"{refused}\n"))

    def _take(self, adapter: Adapter, request: Request) -> None:
        try:
            answer = adapter.answer(request)
        except Exception as error:  # noqa: BLE001  ours: the session goes on, and the editor is told
            self._refuse(request, error)
            return
        match answer:
            case Asked(work):
                job = self._jobs[request.seq] = self._run.submit(work)
                job.add_done_callback(lambda done: self._asked(request, done))
            case Begun(work, body):
                self._respond(request, body)
                self.begin(work)
            case _:
                self._respond(request, answer)

    def _asked(self, request: Request, done: Future[bodies.Body | None]) -> None:
        self._jobs.pop(request.seq, None)
        if done.cancelled():
            self._refuse(request, RefusedError("it was taken back", short="cancelled"))
        elif (error := done.exception()) is not None:
            self._refuse(request, error)
        else:
            self._respond(request, done.result())

    def _begun(self, done: Future[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            self._log_fault(error)
            text = f"reenact itself failed: {type(error).__name__}: {error}\n"
            self.say("output", bodies.Output(category="important", output=text))
            self.say("terminated")

    def _respond(self, request: Request, body: bodies.Body | None) -> None:
        with self._sending:
            self._sequence += 1
            self._send(
                Response(seq=self._sequence, request_seq=request.seq, success=True, command=request.command, body=body)
            )

    def _refuse(self, request: Request | Unfit, error: BaseException) -> None:
        text, short, show, number = f"{error}", "", False, _FAILED
        match error:
            case RefusedError():
                short, show = error.short, error.show
            case msgspec.ValidationError():
                text = f"the arguments of {request.command} are not those of the protocol: {error}"
            case ReenactError():
                pass
            case _:
                self._log_fault(error)
                text, number = f"reenact itself failed: {type(error).__name__}: {error}", _FAULT
        told = bodies.ErrorBody(error=bodies.Message(id=number, format=text, show_user=show))
        with self._sending:
            self._sequence += 1
            self._send(
                Response(
                    seq=self._sequence,
                    request_seq=request.seq,
                    success=False,
                    command=request.command,
                    message=short or text,
                    body=told,
                )
            )

    def _send(self, message: msgspec.Struct) -> None:
        body = msgspec.json.encode(message)
        self._log(f"< {body.decode()}")
        try:
            self._stream.write(framed(body))
        except OSError:
            self._inbox.put(None)

    def _log_fault(self, error: BaseException) -> None:
        self._log("".join(traceback.format_exception(error)))
