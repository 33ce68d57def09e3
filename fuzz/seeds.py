"""`python -m fuzz.seeds`: writes the inputs that fuzzing begins with, and the words that it tries, again.

They have the shapes of what providers, servers and recordings write, and nobody's words. What was found since stands
beside them, by other names, and stays.
"""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec
import zstandard

from fuzz.__main__ import WORDS
from fuzz.targets import BETWEEN, CORPUS, SECRET
from reenact.debugger.dap.framing import framed
from reenact.launch.manifest import Manifest, encode
from reenact.tape import event as ev
from reenact.tape.close import close
from reenact.tape.writer import TapeWriter
from reenact.testing.wire import eventstream

_TOOL: Final = {"type": "object", "properties": {"city": {"type": "string"}}}
_USAGE: Final = {"prompt_tokens": 3, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 1}}
_CHAT: Final = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "u"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "t"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": _TOOL}}],
}
_CHAT_ANSWER: Final = {
    "id": "i",
    "model": "m",
    "choices": [
        {
            "message": {"content": "a", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
            "finish_reason": "stop",
        }
    ],
    "usage": _USAGE,
}
_CHAT_STREAM: Final[list[dict[str, Any]]] = [
    {"id": "i", "choices": [{"index": 0, "delta": {"content": "a", "reasoning_content": "r"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": _USAGE},
]
_RESPONSES: Final = {
    "model": "m",
    "instructions": "s",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "t"},
    ],
    "tools": [{"type": "function", "name": "f", "parameters": _TOOL}, {"type": "web_search"}],
    "previous_response_id": "resp_1",
}
_ITEM: Final = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
_RESPONSES_ANSWER: Final = {
    "id": "resp_2",
    "model": "m",
    "status": "completed",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "r"}]},
        {"type": "web_search_call", "id": "w", "action": {"query": "q"}},
        {"type": "code_interpreter_call", "id": "k", "code": "1", "outputs": []},
        {"type": "image_generation_call", "id": "g", "result": "AAAA"},
        {"type": "tool_search_call", "call_id": "t", "arguments": {}},
        _ITEM,
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 1}},
}
_RESPONSES_STREAM: Final[list[dict[str, Any]]] = [
    {"type": "response.created", "response": {"id": "resp_2", "status": "in_progress"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "role": "assistant"}},
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a"},
    {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "c"}},
    {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": "{}"},
    {"type": "response.output_item.done", "output_index": 0, "item": _ITEM},
    {"type": "response.completed", "response": _RESPONSES_ANSWER},
]
_MESSAGES: Final = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "t"}]},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            ],
        },
    ],
    "tools": [{"name": "f", "input_schema": _TOOL}, {"type": "web_search_20250305", "name": "web_search"}],
}
_MESSAGES_ANSWER: Final = {
    "id": "i",
    "model": "m",
    "content": [{"type": "thinking", "thinking": "r"}, {"type": "text", "text": "a"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 1},
}
_MESSAGES_STREAM: Final[list[dict[str, Any]]] = [
    {"type": "message_start", "message": {"id": "i", "model": "m", "usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "f"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
]
_GEMINI: Final = {
    "systemInstruction": {"parts": [{"text": "s"}]},
    "contents": [
        {"role": "user", "parts": [{"text": "u"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"error": "t"}}}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "f", "parameters": _TOOL}]}, {"googleSearch": {}}],
}
_GEMINI_ANSWER: Final = {
    "candidates": [
        {
            "content": {"parts": [{"text": "r", "thought": True}, {"executableCode": {"code": "1"}}, {"text": "a"}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3},
    "modelVersion": "m",
}
_CONVERSE: Final = {
    "system": [{"text": "s"}],
    "messages": [
        {"role": "user", "content": [{"text": "u"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [{"json": {}}]}}]},
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": _TOOL}}}]},
}
_CONVERSE_ANSWER: Final = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "r"}}},
                {"citationsContent": {"content": [{"text": "a"}]}},
            ],
        }
    },
    "stopReason": "end_turn",
    "usage": {"inputTokens": 1, "outputTokens": 2},
}
_CONVERSE_STREAM: Final = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}}),
    ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c", "name": "f"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{}"}}}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2}}),
]
_EMBEDDINGS: Final = (
    {"model": "m", "input": ["a", "b"]},
    {"data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 1}},
)

_OPENAI, _AWS = "https://api.openai.com/v1", "https://bedrock-runtime.us-east-1.amazonaws.com/model/m"
_GOOGLE: Final = "https://generativelanguage.googleapis.com/v1beta/models/g"
_JSON, _SSE, _FRAMES = "application/json", "text/event-stream", "application/vnd.amazon.eventstream"


def _sse(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(b"event: %s\ndata: %s\n\n" % (str(row.get("type", "")).encode(), _dumped(row)) for row in rows)


def _frames(rows: list[tuple[str, Any]]) -> bytes:
    return b"".join(eventstream.event(name, _dumped(row)) for name, row in rows)


def _dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _exchange(
    url: str, request: object, answer: object, kind: str = _JSON, status: int = 200, coding: str = ""
) -> bytes:
    body = answer if isinstance(answer, bytes) else _dumped(answer)
    return f"POST {url} {status} {kind} {coding}\n".encode() + _dumped(request) + BETWEEN + body


def _exchanges() -> dict[str, bytes]:
    wrapped = [("chunk", {"bytes": base64.b64encode(_dumped(row)).decode()}) for row in _MESSAGES_STREAM]
    anthropic = "https://api.anthropic.com/v1/messages"
    return {
        "chat": _exchange(f"{_OPENAI}/chat/completions", _CHAT, _CHAT_ANSWER),
        "chat-stream": _exchange(f"{_OPENAI}/chat/completions", _CHAT, _sse(_CHAT_STREAM), _SSE),
        "chat-gzip": _exchange(
            f"{_OPENAI}/chat/completions", _CHAT, gzip.compress(_dumped(_CHAT_ANSWER), mtime=0), coding="gzip"
        ),
        "chat-error": _exchange(
            f"{_OPENAI}/chat/completions", _CHAT, {"error": {"type": "e", "message": "m"}}, status=429
        ),
        "responses": _exchange(f"{_OPENAI}/responses", _RESPONSES, _RESPONSES_ANSWER),
        "responses-stream": _exchange(f"{_OPENAI}/responses", _RESPONSES, _sse(_RESPONSES_STREAM), _SSE),
        "embeddings": _exchange(f"{_OPENAI}/embeddings", *_EMBEDDINGS),
        "messages": _exchange(anthropic, _MESSAGES, _MESSAGES_ANSWER),
        "messages-stream": _exchange(anthropic, _MESSAGES, _sse(_MESSAGES_STREAM), _SSE),
        "gemini": _exchange(f"{_GOOGLE}:generateContent", _GEMINI, _GEMINI_ANSWER),
        "gemini-stream": _exchange(f"{_GOOGLE}:streamGenerateContent", _GEMINI, _sse([_GEMINI_ANSWER] * 2), _SSE),
        "gemini-array": _exchange(f"{_GOOGLE}:streamGenerateContent", _GEMINI, [_GEMINI_ANSWER] * 2),
        "converse": _exchange(f"{_AWS}/converse", _CONVERSE, _CONVERSE_ANSWER),
        "converse-stream": _exchange(f"{_AWS}/converse-stream", _CONVERSE, _frames(_CONVERSE_STREAM), _FRAMES),
        "invoke": _exchange(f"{_AWS}/invoke", {**_MESSAGES, "anthropic_version": "b"}, _MESSAGES_ANSWER),
        "invoke-stream": _exchange(f"{_AWS}/invoke-with-response-stream", _MESSAGES, _frames(wrapped), _FRAMES),
    }


_TEXT: Final = b"The quick brown fox, twice. The quick brown fox, twice.\n" * 3


def _encodings() -> dict[str, bytes]:
    return {
        "gzip": b"gzip\n" + gzip.compress(_TEXT, mtime=0),
        "deflate": b"deflate\n" + zlib.compress(_TEXT),
        "zstd": b"zstd\n" + zstandard.compress(_TEXT),
        "both": b"gzip, zstd\n" + zstandard.compress(gzip.compress(_TEXT, mtime=0)),
        "chunked": b"\n" + b"4\r\nWiki\r\n5;a=b\r\npedia\r\n0\r\nT: x\r\n\r\n",
    }


def _headers() -> dict[str, bytes]:
    kinds = [
        b"\x00",
        b"\x02\x01",
        b"\x04" + bytes(4),
        b"\x06\x00\x01a",
        b"\x07\x00\x01b",
        b"\x08" + bytes(8),
        b"\x09" + bytes(16),
    ]
    every = b"".join(b"\x01%c" % (97 + at) + kind for at, kind in enumerate(kinds))
    event = b"\x0b:event-type\x07\x00\x0cmessageStart\x0d:message-type\x07\x00\x05event"
    failed = b"\x0f:exception-type\x07\x00\x01E\x0d:message-type\x07\x00\x09exception"
    return {
        "every": every + BETWEEN + b"{}",
        "event": event + BETWEEN + _dumped(_CONVERSE_STREAM[0][1]),
        "exception": failed + BETWEEN + b'{"message":"m"}',
    }


def _messages() -> dict[str, bytes]:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
    chunked = head + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nt: x\r\n\r\n"
    return {
        "length": b"POST /v1 HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\nhi"
        + BETWEEN
        + head
        + b"content-length: 2\r\n\r\nhi",
        "chunked": b"POST /v1 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + BETWEEN + chunked,
        "until-closed": b"GET / HTTP/1.0\n\n" + BETWEEN + b"HTTP/1.0 200\n folded: x\n\nhi",
        "preliminary": b"GET / HTTP/1.1\r\n\r\n" + BETWEEN + b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"\r\n",
    }


def _connections() -> dict[str, bytes]:
    secret, ok = b"the key is " + SECRET, b"HTTP/1.1 200 OK\r\n"
    packed = gzip.compress(secret, mtime=0)
    events = _sse(
        [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("sk-proj-4b1c", "0d8e7f6a5b4c")]
    )
    packer, terms = zlib.compressobj(wbits=-15), b"server_max_window_bits=12"
    said = [packer.compress(secret) + packer.flush(zlib.Z_SYNC_FLUSH) for _ in range(2)]
    frames = b"".join(bytes((0xC1, len(one) - 4)) + one[:-4] for one in said)
    accept = b"HTTP/1.1 101 Go\r\nsec-websocket-accept: x\r\nsec-websocket-extensions: permessage-deflate; "
    masked = b"\x81\x82mask" + bytes((one ^ other for one, other in zip(b"hi", b"mask", strict=False)))
    return {
        "packed": masked
        + BETWEEN
        + ok
        + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
        + packed,
        "chunked": BETWEEN
        + ok
        + b"transfer-encoding: chunked\r\n\r\n8\r\nsk-proj-\r\n10\r\n4b1c0d8e7f6a5b4c\r\n0\r\n\r\n",
        "spelled": BETWEEN + ok + b"content-type: text/event-stream\r\n\r\n" + events,
        "messages": masked + BETWEEN + accept + terms + b"\r\n\r\n" + frames,
        "fresh": BETWEEN + accept + b"server_no_context_takeover\r\n\r\n" + frames,
        "begins-within": BETWEEN + ok + b"content-length: 40\r\n\r\nhello " + ok + ok,
        "other": b"PASS secret" + BETWEEN + b"220 ready " + secret,
    }


def _run() -> list[ev.AnyRecord]:
    """A record of every sort that a reader looks into."""
    manifest = Manifest(
        "fuzz-0001", "fuzz", 1, "0.1.0", "3.11.9", "/bin/python", "linux", "/work", target=["agent.py"], tags={"a": "b"}
    )
    failed = ev.Failed(
        "httpx", "ReadError", ["cut"], {"errno": 1}, ev.Failed("builtins", "OSError", [], {}), suppressed=True
    )
    head = b'{"status":200,"headers":[["content-type","application/json"]],"reason":"OK"}'
    over = b'[["over","2"]]'
    spoken = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    asked = b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n{}"
    url = f"POST {_OPENAI}/chat/completions"
    first = _dumped(_CHAT)
    child: list[ev.AnyRecord] = [ev.Start(encode(manifest)), ev.LaneBorn(0, "0.2", "child"), ev.Ended(9, None)]
    return [
        ev.Start(encode(manifest)),
        ev.LaneBorn(0, "0", "main"),
        ev.LaneBorn(1, "0.1", "work"),
        ev.SiteNamed(0, "agent:ask", "/work/agent.py", 7),
        ev.Saw("/work/a", ev.Sight.FILE, 0o644, 3, 5, bytes(32), None),
        ev.Content(bytes(32), b"abc"),
        ev.Mark(0, ev.MarkKind.AGENT, 1, 0, -1, 0, "planner", {"role": "plans", "n": 1}),
        ev.Mark(0, ev.MarkKind.INSIDE, 1, 0),
        ev.Draws(0, [(1, 0, [1.5, 2.5]), (20, 0, [b"ab"]), (32, 0, [[1, 0]])]),
        ev.Began(0, 0, ev.Kind.HTTP, url, 0, 2, b'[["a","b"]]', ev.Delta(-1, 0, 0, first)),
        ev.Part(0, ev.PartKind.HEAD, 3, head),
        ev.Part(0, ev.PartKind.CHUNK, 4, _dumped(_CHAT_ANSWER)),
        ev.Part(0, ev.PartKind.END, 5, b""),
        ev.Began(1, 1, ev.Kind.HTTP, url, 0, 6, b"[]", ev.Delta(0, 70, 40, b",")),
        ev.Part(1, ev.PartKind.FAILURE, 7, b"", failed),
        ev.Began(2, 0, ev.Kind.SOCKET, "connect to h:80", 0, 8, b"[]", ev.Delta(-1, 0, 0, b"")),
        ev.Part(2, ev.PartKind.OPENED, 9, b"0"),
        ev.Began(3, 0, ev.Kind.SOCKET, "send to it", 0, 10, over, ev.Delta(-1, 0, 0, asked)),
        ev.Part(3, ev.PartKind.VALUE, 11, b"70"),
        ev.Part(2, ev.PartKind.CHUNK, 12, spoken),
        ev.Part(2, ev.PartKind.CLOSED, 13, b""),
        ev.Began(4, 0, ev.Kind.STDIN, "stdin", 0, 14, b"", ev.Delta(-1, 0, 0, b"")),
        ev.Part(4, ev.PartKind.VALUE, 15, b"typed\n"),
        ev.Aside(0, 1, "telemetry"),
        ev.AsidePart(0, ev.PartKind.HEAD, 200),
        ev.Timer(0, 1.5, 1),
        ev.Expired(1),
        ev.Signal(15, -1, 3),
        ev.Wrote(0, 1, b"said\n"),
        ev.Note("unseen", "connected to h", 0),
        ev.Locals(0, [(0, {"a": bytes(8)})]),
        ev.Mark(0, ev.MarkKind.ENDED, 16, 0, name="KeyError"),
        ev.Mark(0, ev.MarkKind.TAGS, 16, attributes={"a": "b"}),
        ev.Kin("0.2", "child", msgspec.msgpack.encode(child)),
        ev.Left("/work/a", ev.Sight.NOTHING),
        ev.Ended(17, failed),
        ev.Exited(1),
    ]


def _records() -> dict[str, bytes]:
    run = _run()
    return {"run": msgspec.msgpack.encode(run), "short": msgspec.msgpack.encode(run[:13])}


def _files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz-0001.tape"
        writer = TapeWriter.create(path, "fuzz-0001", "fuzz", 1)
        for record in _run()[:13]:
            writer.add(record)
        writer.close()
        close(path, 0)
        return {"closed": path.read_bytes()}


def _differences() -> dict[str, bytes]:
    other = json.loads(_dumped(_CHAT))
    other["messages"][0]["content"] = "at 12:01 of 2026-01-02, <Tool at 0x7f12345678>"
    other["messages"][2:3] = []
    parts = [
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n%s\r\n--x--\r\n' % value for value in (b"1", b"2")
    ]
    return {
        "json": b"application/json https://h/a?b=1\n" + _dumped(_CHAT) + BETWEEN + _dumped(other),
        "text": b"text/plain https://h\none two\nthree four" + BETWEEN + b"one 2\nfour three",
        "form": b"application/x-www-form-urlencoded https://h\na=1&b=2" + BETWEEN + b"b=2&a=3",
        "parts": b"multipart/form-data;boundary=x https://h\n" + parts[0] + BETWEEN + parts[1],
        "bytes": b"image/png https://h\n\x00\xff\x01" + BETWEEN + b"\x00\xff\x02",
    }


def _settings() -> dict[str, bytes]:
    return {
        "all": b"""[tool.reenact]
boundaries = ["pkg.mod:Class.method"]
side-traffic = ["telemetry.example.com/v1/*", "!GET *.example.com:8080/a*b*c"]
sample = 0.25
tags = { env = "prod", beta = true, n = 1 }
[[tool.reenact.normalizers]]
name = "a"
pointer = "/a/*/b~1c"
url = "https://*/a?*"
[[tool.reenact.normalizers]]
name = "b"
regex = "(?P<x>a+)b"
replace = "\\\\g<x>"
[[tool.reenact.normalizers]]
name = "c"
header = "x"
[[tool.reenact.normalizers]]
name = "d"
query = "key"
[[tool.reenact.normalizers]]
name = "trace"
enabled = false
"""
    }


def _imported() -> dict[str, bytes]:
    """Cassettes as vcrpy writes them (YAML, JSON), and HARs as browsers do: with times, base64, and a WebSocket."""
    asked = {"method": "POST", "uri": "https://h/v1/chat/completions", "body": json.dumps(_CHAT)}
    came = {"status": {"code": 200, "message": "OK"}, "body": {"string": json.dumps(_CHAT_ANSWER)}}
    headers = {"Content-Type": ["application/json"], "set-cookie": ["a=b"]}
    pair = {"request": {**asked, "headers": {"accept": ["*/*"]}}, "response": {**came, "headers": headers}}
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z",
        "time": 12.5,
        "timings": {"blocked": 1, "dns": -1, "connect": -1, "send": 0, "wait": 10, "receive": 1.5},
        "request": {
            "method": "POST",
            "url": "https://h/v1?a=b",
            "headers": [{"name": "accept", "value": "*/*"}],
            "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "b"}]},
        },
        "response": {
            "status": 200,
            "statusText": "OK",
            "headers": [{"name": "content-type", "value": "text/plain; charset=latin-1"}],
            "content": {"size": 3, "mimeType": "text/plain", "text": "YWJj", "encoding": "base64"},
        },
        "_webSocketMessages": [{"type": "send", "time": 1767225600.5, "opcode": 1, "data": "a"}],
    }
    old = {"status_code": 200, "http_version": "HTTP/1.1", "headers": headers, "content": "a"}
    yaml = (
        "interactions:\n- request:\n    body: !!binary |\n      YWJj\n    headers: {accept: ['*/*']}\n    method: GET\n"
        "    uri: http://h/\n  response:\n    body: {string: !!python/unicode 'a'}\n    headers: {}\n"
        "    status: {code: 200, message: OK}\nversion: 1\n"
    )
    return {
        "cassette.json": json.dumps({"interactions": [pair], "version": 1}).encode(),
        "cassette-old.json": json.dumps({"interactions": [{**pair, "response": old}], "version": 1}).encode(),
        "cassette.yaml": yaml.encode(),
        "har": json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode(),
        "har-failed": json.dumps({"log": {"entries": [{**entry, "response": {"status": 0, "_error": "e"}}]}}).encode(),
        "anchors.yaml": b"interactions: &a [*a]\n",
    }


def _texts() -> dict[str, bytes]:
    return {
        "controls": "\x1b[2J\x1b]0;t\x07\r\n\x9b31m\u202eabc\u200b\ufeff\x7f\t.".encode(),
        "wide": ("\u6f22\u5b57 " * 40 + "e\u0301" * 20 + "\U0001f600\ufe0f").encode(),
        "words": b"word " * 60 + b"w" * 200,
        "json": b'{"a": [1, {"b": "\\u202e"}]}',
        "surrogate": b"a\xed\xb3\xbfb",
    }


_SEEDS: Final = {
    "asked": lambda: {"session": _asked()},
    "difference": _differences,
    "encoding": _encodings,
    "exchange": _exchanges,
    "file": _files,
    "frames": _headers,
    "imported": _imported,
    "connection": _connections,
    "messages": _messages,
    "records": _records,
    "settings": _settings,
    "text": _texts,
}


def _words() -> bytes:
    """The names and texts in the seeds that are JSON, as libFuzzer's dictionaries have them."""
    found: dict[str, None] = {}

    def collect(value: object) -> None:
        match value:
            case dict():
                for key, inner in value.items():
                    found[f'"{key}":'] = None
                    collect(inner)
            case list() | tuple():
                for inner in value:
                    collect(inner)
            case str() if len(value) > 3:
                found[f'"{value}"'] = None

    documents = (_CHAT, _CHAT_ANSWER, _CHAT_STREAM, _RESPONSES, _RESPONSES_ANSWER, _RESPONSES_STREAM, _MESSAGES)
    more = (_MESSAGES_ANSWER, _MESSAGES_STREAM, _GEMINI, _GEMINI_ANSWER, _CONVERSE, _CONVERSE_ANSWER, _CONVERSE_STREAM)
    collect([*documents, *more])
    other = (
        _JSON,
        _SSE,
        _FRAMES,
        "gzip",
        "deflate",
        "zstd",
        "br",
        "chunked",
        "transfer-encoding: ",
        "content-length: ",
        "content-encoding: ",
        "sec-websocket-accept: x",
        "server_no_context_takeover",
    )
    of_imports = ("interactions:", '"log":', '"entries":', "!!binary |", "&a ", "*a", '"encoding": "base64"')
    texts = [
        *found,
        *other,
        *of_imports,
        "data: ",
        "\n\n",
        "\n====\n",
        "https://",
        "/converse-stream",
        "/responses",
        "NaN",
        "1e999",
    ]
    return b"".join(b'"%s"\n' % _quoted(text) for text in texts)


def _quoted(text: str) -> bytes:
    return b"".join(
        b"\\x%02x" % byte if byte < 32 or byte > 126 or byte in b'"\\' else bytes([byte]) for byte in text.encode()
    )


def _asked() -> bytes:
    """What an editor says at first."""
    source = {"path": "a.py"}
    said: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"adapterID": "reenact"}),
        ("setBreakpoints", {"source": source, "breakpoints": [{"line": 3, "condition": "n", "hitCondition": "% 2"}]}),
        ("breakpointLocations", {"source": source, "line": 1, "endLine": 9}),
        ("attach", {}),
        ("evaluate", {"expression": "n", "frameId": 1, "context": "repl"}),
        ("cancel", {"requestId": 1}),
        ("disconnect", {}),
    ]
    return b"".join(
        framed(json.dumps({"seq": at, "type": "request", "command": command, "arguments": given}).encode())
        for at, (command, given) in enumerate(said, 1)
    )


def main() -> None:
    """Writes them."""
    for target, make in _SEEDS.items():
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
        for name, data in make().items():
            (CORPUS / target / name).write_bytes(data)
    WORDS.write_bytes(_words())


if __name__ == "__main__":
    main()
