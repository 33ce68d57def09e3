"""Puts exchanges of another tool onto a tape, in the form in which the HTTP seams keep theirs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from reenact import __version__, _real
from reenact.engine.call import Call
from reenact.errors import ForeignError
from reenact.foreign.exchange import Answer, Exchange, Found, Message, on_wire
from reenact.launch import closing, entry
from reenact.launch import manifest as manifests
from reenact.launch.manifest import Manifest
from reenact.providers.call import Unreadable
from reenact.providers.encoding import decode_content
from reenact.seams.http.exchange import request
from reenact.seams.http.head import Head, encode_head
from reenact.seams.sockets.conversation import OVER
from reenact.tape import event as ev
from reenact.tape import nature
from reenact.tape.delta import Bodies
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

NO_CLOCK = (
    "from a {sort}: it holds HTTP alone, and of that no order but the one of the file, and no clock of the program"
)
_LATEST = 1 << 60  # ns since the first: more than a tape holds would be a mistake in the file
_COMMIT_BYTES = 8 << 20
_FRAMING = ("transfer-encoding", "connection", "keep-alive")
_FINAL, _WITHOUT_BODY = 200, (204, 304)


def keep(found: Found, source: Path, store: Store, name: str | None = None) -> Recording:
    """A tape with these exchanges, closed. `source` is the file that they are from.

    Raises:
        UsageError: the store cannot be written.
    """
    name, vault = name or source.stem, Vault()
    vault.learn_environment(os.environ)
    run_id, path = store.new(name)
    started = _real.time_ns()
    manifest = Manifest(
        run_id,
        name,
        started,
        __version__,
        python="",
        executable="",
        platform=sys.platform,
        cwd=str(Path.cwd()),
        entry=entry.imported(source.name),
    )
    try:
        with contextlib.closing(TapeWriter.create(path, run_id, name, started)) as writer, writer.in_no_hurry():
            writer.protect(vault)
            writer.add(ev.Start(manifests.encode(manifest)))
            _Tape(writer, vault).keep(found)
        return closing.close(path, 0, vault=vault)
    except BaseException:
        store.remove(path)
        raise


class _Tape:
    """A tape while it is written."""

    def __init__(self, writer: TapeWriter, vault: Vault) -> None:
        self._writer = writer
        self._bodies = Bodies()
        self._vault = vault
        self._events = 0
        self._at = 0
        self._pending = 0

    def keep(self, found: Found) -> None:
        """All that was found."""
        self._writer.add(ev.LaneBorn(0, "0", "main"))
        self._writer.add(ev.Note(entry.IMPORTED, NO_CLOCK.format(sort=found.sort), -1))
        first = min((each.began for each in found.exchanges if each.began is not None), default=0)
        for number, each in enumerate(found.exchanges, 1):
            try:
                self._exchange(each, first)
            except ValueError as error:
                raise ForeignError(f"exchange {number}: its URL cannot be read: {error}") from error
            if each.why:
                self._writer.add(ev.Note(entry.IMPORTED, f"{number} of {len(found.exchanges)}: {each.why}", -1))
        self._writer.add(ev.Ended(self._at, None))

    def _exchange(self, exchange: Exchange, first: int) -> None:
        self._vault.learn_headers(exchange.headers)
        self._vault.learn([*nature.of_url(exchange.url)])
        call = request(exchange.method, exchange.url, exchange.headers, self._clean(exchange.body))
        at = min(exchange.began - first, _LATEST) if exchange.began is not None else self._at
        number = self._began(call, at)
        answer = exchange.answer
        if answer is not None:
            body = self._clean(plain(answer)) if answer.body is not None else b""
            self._part(number, ev.PartKind.HEAD, at + exchange.waited, encode_head(head(answer, body, exchange.method)))
            if body:
                self._part(number, ev.PartKind.CHUNK, at + exchange.took, body)
            self._messages(number, call, exchange.messages, first)
            if answer.body is not None:
                self._part(number, ev.PartKind.END, at + exchange.took, b"")
        self._at = max(self._at, at + exchange.took)

    def _messages(self, number: int, call: Call, messages: tuple[Message, ...], first: int) -> None:
        """What went over a WebSocket, as frames: those that came are parts of the exchange, others events."""
        over = ((OVER, str(number)),)
        host = call.name.partition("://")[2].partition("/")[0]
        for message in messages:
            at = min(max(message.at - first, 0), _LATEST)
            frame = b"".join(_frame(message))
            if message.sent:
                sent = self._began(Call(ev.Kind.SOCKET, f"send to {host}", over, frame), at)
                self._part(sent, ev.PartKind.VALUE, at, b"")
            else:
                self._part(number, ev.PartKind.CHUNK, at, frame)

    def _began(self, call: Call, at: int) -> int:
        number = self._events
        delta = self._bodies.shrink(number, call.body, number - 1)
        self._add(ev.Began(number, 0, call.kind, call.name, -1, at, call.head(), delta), len(delta.middle))
        self._events += 1
        return number

    def _part(self, event: int, kind: ev.PartKind, at: int, data: bytes) -> None:
        self._add(ev.Part(event, kind, at, data), len(data))

    def _add(self, record: ev.AnyRecord, size: int) -> None:
        self._writer.add(record)
        self._pending += size
        if self._pending > _COMMIT_BYTES:
            self._writer.commit()
            self._pending = 0

    def _clean(self, data: bytes) -> bytes:
        return self._vault.clean(data)


def plain(answer: Answer) -> bytes:
    """The body of an answer without its codings, as far as they can be taken off: some tools have done that."""
    body = answer.body or b""
    decoded = decode_content(answer.headers, body)
    return body if isinstance(decoded, Unreadable) else decoded


def head(answer: Answer, body: bytes, method: str) -> Head:
    """The head of an answer that has that body, as it is: of how it came over the wire, nothing is left."""
    bare = method.upper() == "HEAD" or answer.status < _FINAL or answer.status in _WITHOUT_BODY
    dropped = {*_FRAMING, *(() if bare else ("content-length", "content-encoding"))}
    headers = [pair for pair in answer.headers if pair[0].lower() not in dropped]
    length = [] if bare else [("content-length", str(len(body)))]
    return Head(answer.status, [*headers, *length], on_wire(answer.reason), answer.version)


def _frame(message: Message) -> Iterator[bytes]:
    """A message as a frame without a mask (RFC 6455, 5.2)."""
    size = len(message.data)
    first = bytes([0x80 | message.opcode])
    if size < 126:
        yield first + bytes([size])
    elif size < 1 << 16:
        yield first + b"\x7e" + size.to_bytes(2, "big")
    else:
        yield first + b"\x7f" + size.to_bytes(8, "big")
    yield message.data
