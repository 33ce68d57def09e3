"""What has become of a call whose outcome is not on tape, as somebody says who resumes its run."""

from __future__ import annotations

import errno
import os
from enum import Enum
from pathlib import Path

import msgspec

from reenact.errors import UsageError
from reenact.seams.http.head import Head, encode_head
from reenact.tape.event import Failed, Kind, Part, PartKind
from reenact.tape.recording import Event, Recording

SKIPPED = "the run was killed during this call, and it was skipped when the run was resumed"
NO_ANSWER = "event {event} ({name}): what a child process did cannot be given by a file; retry or skip it"
NOT_JSON = "event {event} ({name}): a tool's answer has to be JSON, and {file} is not: {reason}"
_OK = 200


class Way(Enum):
    """What is to be done about it."""

    RETRY = "retry"
    SKIP = "skip"
    ANSWER = "answer"


class Fate(msgspec.Struct, frozen=True):
    """`file` holds the answer: a response's body, or a tool's result as JSON."""

    way: Way
    file: Path | None = None


def parts_of(recording: Recording, event: Event, fate: Fate) -> list[Part]:
    """The parts that complete the event on tape.

    Raises:
        UsageError: the file is no answer to it.
    """
    at = recording.latest
    if fate.file is None:
        code = errno.ECONNRESET if event.kind is Kind.HTTP else errno.EINTR
        failed = Failed("builtins", type(OSError(code, "")).__name__, [code, SKIPPED], {})
        return [Part(event.id, PartKind.FAILURE, at, b"", failed)]
    data = _read(event, fate.file)
    if event.kind is Kind.TOOL:
        return [Part(event.id, PartKind.VALUE, at, data)]
    if event.kind is not Kind.HTTP:
        raise UsageError(NO_ANSWER.format(event=event.id, name=event.name))
    kind = "application/json" if _is_json(data) else "text/event-stream"
    head = encode_head(Head(_OK, [("content-type", kind), ("content-length", str(len(data)))], "OK"))
    parts = [(PartKind.HEAD, head), (PartKind.CHUNK, data), (PartKind.END, b"")]
    if _opens(recording):
        parts.insert(0, (PartKind.OPENED, b""))
    return [Part(event.id, kind, at, data) for kind, data in parts]


def _read(event: Event, file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {os.strerror(error.errno or 0)}") from error
    if event.kind is Kind.TOOL:
        try:
            msgspec.json.decode(data)
        except msgspec.MsgspecError as error:
            raise UsageError(NOT_JSON.format(event=event.id, name=event.name, file=file, reason=error)) from error
    return data


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except msgspec.MsgspecError:
        return False
    return True


def _opens(recording: Recording) -> bool:
    """Whether the library that asked tells of a connection before the answer."""
    others = [event.parts[0][1].kind for event in recording.events if event.kind is Kind.HTTP and event.parts]
    return bool(others) and others[-1] == PartKind.OPENED
