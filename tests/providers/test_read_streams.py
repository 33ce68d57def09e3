"""A streamed answer reads as the same message as a plain one, and a cut stream as its beginning."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from reenact.providers import ModelCall, Text, Thinking, Wire, read

Wires = list[tuple[str, Wire]]
Pieces = Callable[[str], list[str]]
SSE = (("content-type", "text/event-stream"),)
EVENTSTREAM = (("content-type", "application/vnd.amazon.eventstream"),)


def plain(wires: Wires, ending: str) -> Iterator[tuple[str, Wire, ModelCall, dict[str, Any]]]:
    """The plain successes at an endpoint, with their answers as JSON."""
    for label, wire in wires:
        if wire.url.partition("?")[0].endswith(ending) and wire.status == 200 and wire.response_body.startswith(b"{"):
            call = read(wire)
            assert isinstance(call, ModelCall)
            yield label, wire, call, json.loads(wire.response_body)


def streamed(wires: Wires) -> list[tuple[str, Wire, ModelCall]]:
    found = []
    for label, wire in wires:
        kind = dict(wire.response_headers).get("content-type", "")
        call = read(wire)
        if "event" in kind and isinstance(call, ModelCall) and call.error is None:
            found.append((label, wire, call))
    assert len(found) == 63
    return found


def whole(text: str) -> list[str]:
    return [text] if text else []


def single(text: str) -> list[str]:
    return list(text)


def threes(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(0, len(text), 3)]


def sse(events: list[Any], *, named: bool = False) -> bytes:
    rows = []
    for event in events:
        name = f"event: {event['type']}\n" if named else ""
        rows.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(rows).encode()


def frame(kind: str, payload: bytes) -> bytes:
    """One frame of the AWS event stream, written here apart from the decoder."""
    headers = b""
    for name, value in ((":event-type", kind), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack(">I", zlib.crc32(body))


def same(call: ModelCall, other: object, label: str) -> None:
    """Equal but for having been streamed."""
    assert isinstance(other, ModelCall), label
    assert other.answer == call.answer, label
    assert (other.finish_reason, other.usage, other.served) == (call.finish_reason, call.usage, call.served), label
    assert other.complete, label
    assert other.unread == call.unread, label


@pytest.mark.parametrize("pieces", [whole, threes, single])
def test_chat_streams_fold_into_the_plain_answer(wires: Wires, pieces: Pieces) -> None:
    for label, wire, call, answer in plain(wires, "/chat/completions"):
        choice, head = answer["choices"][0], {"id": answer["id"], "model": answer["model"]}
        message = choice["message"]
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning": piece} for piece in pieces(message.get("reasoning") or "")]
        deltas += [{"executed_tools": [tool]} for tool in message.get("executed_tools") or ()]
        deltas += [{"content": piece} for piece in pieces(message.get("content") or "")]
        for at, tool in enumerate(message.get("tool_calls") or ()):
            opening = {**tool, "function": {"name": tool["function"]["name"], "arguments": ""}}
            deltas.append({"tool_calls": [{"index": at, **opening}]})
            for piece in pieces(tool["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
        events.append({**head, "choices": [], "usage": answer["usage"]})
        body = sse(events) + b"data: [DONE]\n\n"
        same(call, read(replace(wire, response_headers=SSE, response_body=body)), label)


@pytest.mark.parametrize("pieces", [whole, threes, single])
def test_anthropic_streams_fold_into_the_plain_answer(wires: Wires, pieces: Pieces) -> None:
    for label, wire, call, answer in plain(wires, "/v1/messages"):
        start = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
        for at, block in enumerate(answer["content"]):
            opening, deltas = block, []
            if block["type"] == "text":
                opening = {**block, "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            elif block["type"] == "thinking":
                opening = {**block, "thinking": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            elif "input" in block:
                opening = {**block, "input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text)]]
            events.append({"type": "content_block_start", "index": at, "content_block": opening})
            events += [{"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": at})
        usage = {"output_tokens": answer["usage"]["output_tokens"], "input_tokens": None}
        delta = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
        body = sse(events, named=True)
        same(call, read(replace(wire, response_headers=SSE, response_body=body)), label)


@pytest.mark.parametrize("framing", ["sse", "array"])
@pytest.mark.parametrize("pieces", [whole, threes, single])
def test_gemini_streams_fold_into_the_plain_answer(wires: Wires, pieces: Pieces, framing: str) -> None:
    for label, wire, call, answer in plain(wires, ":generateContent"):
        candidate = answer["candidates"][0]
        head = {key: answer[key] for key in ("modelVersion", "responseId")}
        parts: list[dict[str, Any]] = []
        for part in candidate.get("content", {}).get("parts", []):
            parts += [{**part, "text": piece} for piece in pieces(part["text"])] if "text" in part else [part]
        events: list[Any] = [{**head, "candidates": [{"content": {"role": "model", "parts": [p]}}]} for p in parts]
        events.append({**head, "usageMetadata": {"promptTokenCount": 1}, "candidates": []})
        last = {key: value for key, value in candidate.items() if key != "content"}
        events.append({**head, "usageMetadata": answer["usageMetadata"], "candidates": [last]})
        url = wire.url.replace(":generateContent", ":streamGenerateContent")
        if framing == "sse":
            other = replace(wire, url=url + "?alt=sse", response_headers=SSE, response_body=sse(events))
        else:
            rows = ",\r\n".join(json.dumps(event, indent=1) for event in events)
            other = replace(wire, url=url, response_body=f"[{rows}\r\n]".encode())
        same(call, read(other), label)


@pytest.mark.parametrize("pieces", [whole, threes, single])
def test_converse_streams_fold_into_the_plain_answer(wires: Wires, pieces: Pieces) -> None:
    for label, wire, call, answer in plain(wires, "/converse"):
        frames = [frame("messageStart", b'{"role":"assistant"}')]

        def add(kind: str, at: int, frames: list[bytes] = frames, **body: object) -> None:
            frames.append(frame(kind, json.dumps({"contentBlockIndex": at, **body}).encode()))

        for at, block in enumerate(answer["output"]["message"]["content"]):
            if tool := block.get("toolUse"):
                add("contentBlockStart", at, start={"toolUse": {k: v for k, v in tool.items() if k != "input"}})
                for piece in pieces(json.dumps(tool["input"])):
                    add("contentBlockDelta", at, delta={"toolUse": {"input": piece}})
            elif reasoning := block.get("reasoningContent"):
                for piece in pieces(reasoning["reasoningText"]["text"]):
                    add("contentBlockDelta", at, delta={"reasoningContent": {"text": piece}})
                add("contentBlockDelta", at, delta={"reasoningContent": {"signature": "s"}})
            else:
                for piece in pieces(block["text"]):
                    add("contentBlockDelta", at, delta={"text": piece})
            add("contentBlockStop", at)
        frames.append(frame("messageStop", json.dumps({"stopReason": answer["stopReason"]}).encode()))
        frames.append(frame("metadata", json.dumps({"usage": answer["usage"]}).encode()))
        body = b"".join(frames)
        url = wire.url.replace("/converse", "/converse-stream")
        same(call, read(replace(wire, url=url, response_headers=EVENTSTREAM, response_body=body)), label)


def test_anthropic_events_come_through_bedrocks_invoke_stream(wires: Wires) -> None:
    found = 0
    for label, wire, call in streamed(wires):
        if call.api != "anthropic.messages":
            continue
        events = [line[6:].encode() for line in wire.response_body.decode().splitlines() if line.startswith("data: ")]
        frames = [
            frame("chunk", json.dumps({"bytes": base64.b64encode(event).decode(), "p": "abc"}).encode())
            for event in events
        ]
        request = json.loads(wire.request_body)
        request.pop("model")
        url = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-x-v1%3A0/invoke-with-response-stream"
        other = read(
            replace(
                wire,
                url=url,
                request_body=json.dumps(request).encode(),
                response_headers=EVENTSTREAM,
                response_body=b"".join(frames),
            )
        )
        same(call, other, label)
        assert isinstance(other, ModelCall)
        assert (other.provider, other.api) == ("bedrock", "bedrock.invoke")
        assert (other.model, other.stream) == ("anthropic.claude-x-v1:0", True)
        found += 1
    assert found == 11


def test_recorded_responses_streams_say_the_same_without_the_event_that_repeats_it_all(wires: Wires) -> None:
    found = 0
    for label, wire, call in streamed(wires):
        if call.api != "openai.responses":
            continue
        blocks = wire.response_body.decode().replace("\r\n", "\n").strip().split("\n\n")
        assert "response.completed" in blocks[-1], label
        for keep_done in (True, False):
            kept = [b for b in blocks[:-1] if keep_done or "output_item.done" not in b]
            other = read(replace(wire, response_body="\n\n".join([*kept, ""]).encode()))
            assert isinstance(other, ModelCall), label
            assert not other.complete, label
            assert other.answer is not None, label
            assert call.answer is not None, label
            spoken = [part for part in call.answer.parts if isinstance(part, Text)]
            assert [part for part in other.answer.parts if isinstance(part, Text)] == spoken, label
            assert other.answer.tool_calls == call.answer.tool_calls, label
            if keep_done:
                assert other.answer == call.answer, label
        found += 1
    assert found == 10


def test_recorded_streams_say_what_their_deltas_say(wires: Wires) -> None:
    for label, wire, call in streamed(wires):
        if call.api == "bedrock.converse":
            continue
        rows = [line.partition(":")[2] for line in wire.response_body.decode().splitlines() if line.startswith("data:")]
        events = [json.loads(row) for row in rows if row.strip() != "[DONE]"]
        text, arguments = [], []
        for event in events:
            match call.api:
                case "openai.chat":
                    for choice in event["choices"]:
                        text.append(choice["delta"].get("content") or "")
                        arguments += [c["function"]["arguments"] for c in choice["delta"].get("tool_calls", ())]
                case "anthropic.messages":
                    text.append(event.get("delta", {}).get("text", ""))
                case "openai.responses":
                    text.append(event["delta"] if event["type"] == "response.output_text.delta" else "")
                    arguments += [event["arguments"]] if event["type"].endswith("function_call_arguments.done") else []
                case "google.gemini":
                    parts = event["candidates"][0].get("content", {}).get("parts", ())
                    text += [part["text"] for part in parts if "text" in part and not part.get("thought")]
        assert call.answer is not None, label
        said = "".join(part.text for part in call.answer.parts if isinstance(part, Text))
        assert said == "".join(text), label
        if arguments:
            assert "".join(c.arguments for c in call.answer.tool_calls) == "".join(arguments), label


def test_a_stream_cut_anywhere_gives_the_beginning_and_is_not_complete(wires: Wires) -> None:
    for label, wire, call in streamed(wires):
        size = len(wire.response_body)
        for at in {size * step // 23 for step in range(23)} | {size // 2 + offset for offset in range(9)}:
            cut = read(replace(wire, response_body=wire.response_body[:at]))
            assert isinstance(cut, ModelCall), label
            assert cut.messages == call.messages, label
            assert cut.stream, label
            if cut.complete:
                assert cut.answer == call.answer, (label, at)
                continue
            assert call.answer is not None, label
            spoken = "".join(p.text for p in call.answer.parts if isinstance(p, Text | Thinking))
            begun = "".join(p.text for p in cut.answer.parts if isinstance(p, Text | Thinking)) if cut.answer else ""
            assert spoken.startswith(begun), (label, at)


def test_an_error_inside_a_recorded_stream_is_found(wires: Wires) -> None:
    failed = [
        call
        for _, wire in wires
        if isinstance(call := read(wire), ModelCall) and call.error is not None and wire.status == 200
    ]
    assert len(failed) == 2
    for call in failed:
        assert call.error is not None
        assert (call.error.status, call.error.type) == (400, "invalid_request_error")
        assert "Tool choice is required" in call.error.message or "Tool call validation failed" in call.error.message
        assert not call.complete
