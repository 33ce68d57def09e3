"""An editor as far as the Debug Adapter Protocol sees one: it asks, waits, and checks each message by the schema."""

from __future__ import annotations

import importlib.util
import json
import queue
import socket
import subprocess
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import jsonschema

PATIENCE = 60.0  # seconds for an answer: a busy machine takes its time

Message = dict[str, Any]


@cache
def schema() -> Message:
    """The specification's own, as debugpy ships it."""
    spec = importlib.util.find_spec("debugpy")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"
    found: Message = json.loads(path.read_text())
    return found


@cache
def _validator(name: str) -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator({**schema(), "$ref": f"#/definitions/{name}"})


def check(message: Message) -> None:
    """Fails when a message is not as the specification has it."""
    word = message.get("event") or message["command"]
    kind = "Error" if message.get("success") is False else word[0].upper() + word[1:]
    name = f"{kind}{message['type'].capitalize()}"
    assert name in schema()["definitions"], f"{name} is not of the protocol"
    _validator(name).validate(message)


class Gone(Exception):  # noqa: N818
    """The server has ended the connection."""


class Editor:
    """One session."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
        self._read = read
        self._write = write
        self._sequence = 0
        self._came: queue.Queue[Message | None] = queue.Queue()
        self._kept: list[Message] = []
        self.log: list[Message] = []  # all, in both directions
        self._numbers: list[int] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @classmethod
    def of_process(cls, process: subprocess.Popen[bytes]) -> Editor:
        """One that has started the server."""
        reads, writes = process.stdout, process.stdin
        assert reads is not None
        assert writes is not None

        def write(data: bytes) -> None:
            writes.write(data)
            writes.flush()

        return cls(lambda size: _read1(reads, size), write)

    @classmethod
    def of_port(cls, port: int) -> tuple[Editor, socket.socket]:
        """One that has come to a server's port."""
        end = socket.create_connection(("127.0.0.1", port))
        return cls(end.recv, end.sendall), end

    # What it does

    def send(self, command: str, arguments: Message | None = None) -> int:
        """Asks, and does not wait."""
        self._sequence += 1
        message: Message = {"seq": self._sequence, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        check(message)
        self.log.append(message)
        self.raw(json.dumps(message).encode())
        return self._sequence

    def raw(self, body: bytes) -> None:
        """Sends a body that need not be a message."""
        self.bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def bytes(self, data: bytes) -> None:
        """Sends anything."""
        self._write(data)

    def ask(self, command: str, **arguments: Any) -> Message:
        """Asks; the body of the answer."""
        answer = self.answer(self.send(command, arguments))
        assert answer["success"], answer
        body: Message = answer.get("body") or {}
        return body

    def refused(self, command: str, **arguments: Any) -> str:
        """Asks what cannot be done; what is said of it."""
        answer = self.answer(self.send(command, arguments))
        assert not answer["success"], answer
        told: str = answer["body"]["error"]["format"]
        return told

    def answer(self, number: int) -> Message:
        """The answer to a request."""
        return self._await(lambda message: message["type"] == "response" and message["request_seq"] == number)

    def event(self, name: str) -> Message:
        """The next event of that name; its body."""
        body: Message = self._await(lambda message: message.get("event") == name).get("body") or {}
        return body

    def told(self) -> str:
        """All that the console has been told so far."""
        said = [one["body"]["output"] for one in self.log if one.get("event") == "output"]
        return "".join(said)

    def gone(self) -> None:
        """Waits until the server ends the connection."""
        while self._came.get(timeout=PATIENCE) is not None:
            pass

    # What it hears

    def _await(self, wanted: Callable[[Message], bool]) -> Message:
        for message in self._kept:
            if wanted(message):
                self._kept.remove(message)
                return message
        while True:
            try:
                came = self._came.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"nothing came; the last was {self.log[-3:]}") from None
            if came is None:
                raise Gone(str(self.log[-3:]))
            check(came)
            assert came["seq"] > (self._numbers[-1] if self._numbers else 0), "sequence numbers grow"
            self._numbers.append(came["seq"])
            self.log.append(came)
            if wanted(came):
                return came
            self._kept.append(came)

    def _listen(self) -> None:
        data = b""
        try:
            while part := self._read(1 << 16):
                data += part
                while (found := _one(data)) is not None:
                    body, data = found
                    self._came.put(json.loads(body))
        except (OSError, ValueError):
            pass
        self._came.put(None)


def _one(data: bytes) -> tuple[bytes, bytes] | None:
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = int(head.removeprefix(b"Content-Length: "))
    return (rest[:length], rest[length:]) if len(rest) >= length else None


def _read1(stream: BinaryIO, size: int) -> bytes:
    return stream.read1(size)  # type: ignore[attr-defined,no-any-return]  # a buffered one has it
