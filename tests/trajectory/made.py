"""Tapes written by hand, on which every time and byte is known."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from reenact.launch.closing import close
from reenact.launch.manifest import Manifest, encode
from reenact.tape import event as ev
from reenact.tape.close import being_written
from reenact.tape.delta import Bodies
from reenact.tape.recording import Recording
from reenact.tape.writer import TapeWriter

MS = 1_000_000
STARTED = 1_795_000_000_000_000_000
CHAT = "POST https://api.openai.com/v1/chat/completions"
JSON = [("content-type", "application/json")]


class Made:
    """A tape being written: one call of a method is one event, 100 ms after the one before."""

    def __init__(self, path: Path, *target: str) -> None:
        self.path = path
        self.at = 0
        self._bodies = Bodies()
        self._events = self._marks = 0
        self._lanes: dict[str, int] = {}
        self._lines: dict[tuple[str, int], int] = {}
        run = path.stem
        manifest = Manifest(
            run, "desk", STARTED, "0.1.0", "3.12.4", "/bin/python", "linux", "/work", target=list(target or ["desk.py"])
        )
        self._writer = TapeWriter.create(path, run, "desk", STARTED)
        self._writer.add(ev.Start(encode(manifest)))
        self.lane("0", "main")

    def lane(self, path: str, name: str) -> None:
        self._lanes[path] = len(self._lanes)
        self._writer.add(ev.LaneBorn(self._lanes[path], path, name))

    def line(self, line: int, file: str = "/work/desk.py", place: str = "__main__:serve") -> int:
        if (file, line) not in self._lines:
            self._lines[file, line] = len(self._lines)
            self._writer.add(ev.SiteNamed(self._lines[file, line], place, file, line))
        return self._lines[file, line]

    def begin(
        self,
        name: str,
        body: bytes = b"",
        *,
        lane: str = "0",
        line: int = 7,
        kind: ev.Kind = ev.Kind.HTTP,
        **arguments: str,
    ) -> int:
        self._writer.commit()
        event, site = self._events, self.line(line)
        self._events += 1
        self.at += 100 * MS
        delta = self._bodies.shrink(event, body, event - 1)
        head = json.dumps([["content-type", "application/json"], ["authorization", "[redacted]"]]).encode()
        head = head if kind is ev.Kind.HTTP else json.dumps(list(arguments.items())).encode()
        self._writer.add(ev.Began(event, self._lanes[lane], kind, name, site, self.at, head, delta))
        return event

    def part(self, event: int, kind: ev.PartKind, data: bytes = b"", *, after: int = 10, failed: Any = None) -> None:
        self.at += after * MS
        self._writer.add(ev.Part(event, kind, self.at, data, failed))

    def answer(
        self, event: int, status: int, body: bytes, *, headers: Any = JSON, framing: str = "", end: bool = True
    ) -> None:
        reason = {200: "OK", 404: "Not Found", 429: "Too Many Requests"}.get(status, "")
        head = {"status": status, "headers": headers, "reason": reason, "framing": framing}
        self.part(event, ev.PartKind.HEAD, json.dumps(head).encode(), after=30)
        if body:
            self.part(event, ev.PartKind.CHUNK, body, after=5)
        if end:
            self.part(event, ev.PartKind.END, after=0)

    def http(self, name: str, status: int, answer: bytes = b"", body: bytes = b"", *, lane: str = "0") -> int:
        event = self.begin(name, body, lane=lane)
        self.answer(event, status, answer)
        return event

    def connect(self, where: str = "api.openai.com:443", *, lane: str = "0") -> int:
        event = self.begin(f"connect to {where}", lane=lane, kind=ev.Kind.SOCKET)
        self.part(event, ev.PartKind.OPENED, b"0")
        return event

    def over(self, connection: int, what: str, data: bytes = b"", gave: bytes | ev.Failed = b"") -> int:
        """Something done with a connection: sent over it, mostly."""
        event = self.begin(what, data, kind=ev.Kind.SOCKET, over=str(connection))
        if isinstance(gave, ev.Failed):
            self.part(event, ev.PartKind.FAILURE, failed=gave)
        else:
            self.part(event, ev.PartKind.VALUE, gave)
        return event

    def send(self, connection: int, *data: bytes) -> int:
        return min([self.over(connection, "send to it", piece) for piece in data])

    def came(self, connection: int, *data: bytes) -> None:
        for piece in data:
            self.part(connection, ev.PartKind.CHUNK, piece)

    def sleep(self, seconds: float, *, lane: str = "0") -> int:
        event = self.begin(f"sleep {seconds!r}", lane=lane, line=21, kind=ev.Kind.SLEEP)
        self.part(event, ev.PartKind.VALUE, after=int(seconds * 1000))
        return event

    def ask(
        self, messages: list[dict[str, Any]], answer: dict[str, Any] | int, *, lane: str = "0", line: int = 7
    ) -> int:
        """A chat completion; an answer that is a number is the status of a failure."""
        tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
        body = json.dumps({"model": "gpt-5", "messages": messages, "tools": tools}).encode()
        event = self.begin(CHAT, body, lane=lane, line=line)
        if isinstance(answer, int):
            error = {"error": {"message": "try later", "type": "rate_limit"}}
            self.answer(event, answer, json.dumps(error).encode())
        else:
            self.answer(event, 200, completion(answer))
        return event

    def mark(
        self, kind: ev.MarkKind, name: str, *, within: int = -1, lane: str = "0", line: int = 3, **attributes: Any
    ) -> int:
        """An agent or a step begins, and the lane is in it."""
        number = self._marks
        self._marks += 1
        self._writer.add(ev.Mark(self._lanes[lane], kind, self.at, number, within, self.line(line), name, attributes))
        self.inside(number, lane=lane)
        return number

    def inside(self, mark: int, *, lane: str = "0") -> None:
        self._writer.add(ev.Mark(self._lanes[lane], ev.MarkKind.INSIDE, self.at, mark))

    def ended(self, mark: int, error: str = "", *, then: int = -1, lane: str = "0") -> None:
        self._writer.add(ev.Mark(self._lanes[lane], ev.MarkKind.ENDED, self.at, mark, name=error))
        self.inside(then, lane=lane)

    def label(self, kind: ev.MarkKind, name: str = "", **tags: Any) -> None:
        self._writer.add(ev.Mark(0, kind, self.at, name=name, attributes=tags))

    def note(self, slug: str, text: str, line: int) -> None:
        self._writer.add(ev.Note(slug, text, self.line(line)))

    def done(self, status: int | None = 0, error: ev.Failed | None = None) -> Recording:
        """Closes the tape; without a status the process was killed."""
        if status is not None:
            self._writer.add(ev.Ended(self.at + 100 * MS, error))
        self._writer.close()
        return close(self.path, -9 if status is None else status)


def completion(message: dict[str, Any]) -> bytes:
    """The answer of a chat completion."""
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
    usage = {"prompt_tokens": 40, "completion_tokens": 12, "prompt_tokens_details": {"cached_tokens": 8}}
    return json.dumps({"id": "c-1", "model": "gpt-5-2026", "choices": [choice], "usage": usage}).encode()


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def calls(**arguments: dict[str, Any]) -> dict[str, Any]:
    """An answer that calls `look_up` once for each id."""
    asked = [
        {"id": made, "type": "function", "function": {"name": "look_up", "arguments": json.dumps(values)}}
        for made, values in arguments.items()
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def gave(made: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": made, "content": text}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def let_go(folder: Path) -> None:
    """Returns when no process has a tape of the folder open: what was killed takes a moment to be gone."""
    until = time.monotonic() + 60
    while any(being_written(path) for path in folder.glob("*.tape")):
        assert time.monotonic() < until, "somebody still has the tape open"
