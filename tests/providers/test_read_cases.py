"""What the recorded traffic has no example of: damage, errors in streams, and the corners of each format."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from reenact.providers import (
    ApiError,
    Media,
    Message,
    ModelCall,
    Other,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Unreadable,
    Usage,
    Wire,
    read,
)

OPENAI = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent"
GEMINI_STREAM = "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/"
JSON, SSE = "application/json", "text/event-stream"
EVENTSTREAM = "application/vnd.amazon.eventstream"
PICTURE = base64.b64encode(bytes(100)).decode()


def call(
    url: str,
    request: object = None,
    answer: object = b"",
    *,
    status: int | None = 200,
    kind: str = JSON,
    headers: tuple[tuple[str, str], ...] = (),
) -> ModelCall:
    asked = {"model": "m"} if request is None else request
    reading = read(
        Wire(
            "POST",
            url,
            (),
            asked if isinstance(asked, bytes) else json.dumps(asked).encode(),
            status,
            (("Content-Type", kind), *headers),
            answer if isinstance(answer, bytes) else json.dumps(answer).encode(),
        )
    )
    assert isinstance(reading, ModelCall), reading
    return reading


def chunk(**delta: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode() + b"\n\n"


def frame(payload: bytes, **headers: str) -> bytes:
    block = b""
    for name, value in headers.items():
        full = ":" + name.replace("_", "-")
        block += bytes([len(full)]) + full.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    body = prelude + struct.pack(">I", zlib.crc32(prelude)) + block + payload
    return body + struct.pack(">I", zlib.crc32(body))


# --- how an answer can be missing


def test_a_request_without_an_answer_is_read() -> None:
    asked = call(OPENAI, {"model": "m", "messages": [{"role": "user", "content": "hi"}]}, status=None)
    assert asked.messages == (Message("user", (Text("hi"),)),)
    assert (asked.answer, asked.error, asked.complete, asked.unread) == (None, None, False, None)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"choices": [{"mess', b"[]", b"\xff"])
def test_a_plain_answer_that_is_no_json_is_kept_as_unread(body: bytes) -> None:
    asked = call(OPENAI, answer=body)
    assert asked.unread is not None
    assert asked.unread.raw == body
    assert asked.unread.reason.startswith("answer: ")
    assert (asked.answer, asked.complete) == (None, False)


@pytest.mark.parametrize(
    ("status", "kind", "body", "error"),
    [
        (
            429,
            JSON,
            b'{"error":{"message":"slow down","type":"tokens","code":"x"}}',
            ApiError(429, "tokens", "slow down"),
        ),
        (400, JSON, b'{"error":"no such model"}', ApiError(400, "", "no such model")),
        (422, JSON, b'{"detail":[{"msg":"field required"}]}', ApiError(422, "", '[{"msg":"field required"}]')),
        (400, JSON, b'{"object":"error","message":"m","type":"BadRequest"}', ApiError(400, "BadRequest", "m")),
        (
            529,
            JSON,
            b'{"type":"error","error":{"type":"overloaded_error","message":"o"}}',
            ApiError(529, "overloaded_error", "o"),
        ),
        (
            503,
            JSON,
            b'[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]',
            ApiError(503, "UNAVAILABLE", "m"),
        ),
        (502, "text/html", b"<html>Bad Gateway</html>", ApiError(502, "", "<html>Bad Gateway</html>")),
        (500, SSE, b'event: error\ndata: {"error":{"type":"t","message":"m"}}\n\n', ApiError(500, "t", "m")),
        (500, JSON, b"", ApiError(500, "", "")),
        (500, JSON, b'"just words"', ApiError(500, "", "just words")),
        (302, JSON, b"", ApiError(302, "", "")),
    ],
)
def test_errors_of_every_shape(status: int, kind: str, body: bytes, error: ApiError) -> None:
    assert call(ANTHROPIC, answer=body, status=status, kind=kind).error == error


def test_an_error_page_is_quoted_only_in_part() -> None:
    error = call(OPENAI, answer=b"x" * 10_000, status=500).error
    assert error is not None
    assert len(error.message) == 500


def test_bedrock_names_the_type_of_an_error_in_a_header() -> None:
    headers = (("x-amzn-ErrorType", "ThrottlingException:http://internal.amazon.com/"),)
    asked = call(BEDROCK + "converse", answer={"message": "Too many"}, status=429, headers=headers)
    assert asked.error == ApiError(429, "ThrottlingException", "Too many")


def test_an_error_in_a_plain_success_is_an_error() -> None:
    asked = call(OPENAI, answer={"error": {"message": "m", "code": 502}})
    assert asked.error == ApiError(502, "", "m")
    assert not asked.complete


# --- streams


def test_a_stream_that_breaks_off_gives_what_came() -> None:
    body = (
        chunk(role="assistant", content="") + chunk(content="Hel") + chunk(content="lo") + b'data: {"choices": [{"del'
    )
    asked = call(OPENAI, {"model": "m", "stream": True}, body, kind=SSE)
    assert asked.answer == Message("assistant", (Text("Hello"),))
    assert (asked.complete, asked.finish_reason, asked.stream) == (False, None, True)
    assert asked.unread == Unreadable("event 3: cut", b'{"choices": [{"del')


def test_an_event_in_the_middle_that_is_no_json_is_told_and_passed_over() -> None:
    done = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
    asked = call(OPENAI, answer=chunk(content="a") + b"data: oops\n\n" + chunk(content="b") + done, kind=SSE)
    assert asked.answer == Message("assistant", (Text("ab"),))
    assert asked.unread is not None
    assert asked.unread.raw == b"oops"
    assert not asked.complete


def test_a_stream_is_known_without_its_content_type() -> None:
    assert call(OPENAI, answer=chunk(content="a"), kind="").answer == Message("assistant", (Text("a"),))


def test_a_plain_answer_that_is_called_a_stream_is_read() -> None:
    asked = call(OPENAI, answer={"choices": [{"message": {"content": "x"}}]}, kind=SSE)
    assert (asked.answer, asked.complete) == (Message("assistant", (Text("x"),)), True)


@pytest.mark.parametrize("url", [OPENAI, RESPONSES, ANTHROPIC, GEMINI_STREAM])
def test_a_stream_of_nothing_but_an_error_has_no_answer(url: str) -> None:
    asked = call(url, {"model": "m", "stream": True}, b'data: {"error": {"message": "no", "code": 429}}\n\n', kind=SSE)
    assert (asked.answer, asked.error, asked.complete) == (None, ApiError(429, "", "no"), False)


@pytest.mark.parametrize("url", [OPENAI, RESPONSES, ANTHROPIC, GEMINI_STREAM, BEDROCK + "converse-stream"])
def test_an_empty_stream_has_no_answer(url: str) -> None:
    asked = call(url, {"model": "m", "stream": True}, b"", kind=EVENTSTREAM if "bedrock" in url else SSE)
    assert (asked.answer, asked.usage, asked.complete, asked.stream) == (None, None, False, True)


def test_an_anthropic_error_in_the_middle_keeps_the_beginning() -> None:
    body = (
        b'event: message_start\ndata: {"type":"message_start","message":{"model":"c","usage":{"input_tokens":3}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use",'
        b'"id":"t","name":"f","input":{}}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",'
        b'"partial_json":"{\\"a\\": \\"b"}}\n\n'
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
    asked = call(ANTHROPIC, answer=body, kind=SSE)
    assert asked.answer == Message("assistant", (ToolCall("t", "f", '{"a": "b'),))
    assert asked.error == ApiError(None, "overloaded_error", "Overloaded")
    assert asked.usage == Usage(input=3)
    assert not asked.complete


def test_a_failed_response_in_a_stream_is_an_error() -> None:
    failed = {"status": "failed", "output": [], "error": {"code": "server_error", "message": "sorry"}}
    body = b"data: " + json.dumps({"type": "response.failed", "response": failed}).encode() + b"\n\n"
    asked = call(RESPONSES, {"model": "m", "input": "x"}, body, kind=SSE)
    assert asked.error == ApiError(None, "server_error", "sorry")
    assert (asked.answer, asked.complete) == (None, False)


def test_a_bedrock_exception_in_a_stream_is_an_error() -> None:
    body = frame(b'{"role":"assistant"}', event_type="messageStart", message_type="event")
    body += frame(
        b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}', event_type="contentBlockDelta", message_type="event"
    )
    failed = frame(b'{"message":"slow"}', exception_type="throttlingException", message_type="exception")
    asked = call(BEDROCK + "converse-stream", {}, body + failed, kind=EVENTSTREAM)
    assert asked.answer == Message("assistant", (Text("Hi"),))
    assert asked.error == ApiError(None, "throttlingException", "slow")
    lost = frame(b"", message_type="error", error_code="InternalError", error_message="gone")
    asked = call(BEDROCK + "converse-stream", {}, body + lost, kind=EVENTSTREAM)
    assert asked.error == ApiError(None, "InternalError", "gone")


def test_a_bedrock_frame_with_a_wrong_crc_ends_the_reading() -> None:
    first = frame(
        b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}', event_type="contentBlockDelta", message_type="event"
    )
    second = bytearray(frame(b'{"stopReason":"end_turn"}', event_type="messageStop", message_type="event"))
    second[-1] ^= 255
    asked = call(BEDROCK + "converse-stream", {}, first + bytes(second), kind=EVENTSTREAM)
    assert asked.answer == Message("assistant", (Text("Hi"),))
    assert asked.unread == Unreadable("frame 1: wrong CRC of the message", bytes(second))
    assert not asked.complete


def test_a_gemini_array_that_breaks_off_gives_what_came() -> None:
    first = {"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]}
    body = b"[" + json.dumps(first).encode() + b'\n,\r\n{"candidates": [{"content": {"parts": [{"te'
    asked = call(GEMINI_STREAM, {}, body)
    assert asked.answer == Message("assistant", (Text("Hel"),))
    assert asked.unread is not None
    assert asked.unread.reason == "element 1: cut"
    assert (asked.complete, asked.stream) == (False, True)


def test_an_answer_without_streaming_to_a_request_for_it_is_read() -> None:
    answer = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    asked = call(OPENAI, {"model": "m", "stream": True}, answer)
    assert (asked.answer, asked.stream, asked.complete) == (Message("assistant", (Text("x"),)), True, True)


# --- chat completions


def test_chat_parts_of_every_sort() -> None:
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "hologram"},
        "nonsense",
    ]
    (message,) = call(OPENAI, {"messages": [{"role": "user", "content": content}]}).messages
    assert message.parts == (
        Text("look"),
        Media("image/png", 100),
        Media("image"),
        Media("audio/wav", 100),
        Media("file"),
        Other("hologram"),
    )


def test_texts_of_one_message_stay_apart() -> None:
    content = [{"type": "text", "text": "a document"}, {"type": "text", "text": "a question"}]
    (message,) = call(OPENAI, {"messages": [{"role": "user", "content": content}]}).messages
    assert message.parts == (Text("a document"), Text("a question"))
    (message,) = call(GEMINI, {"contents": [{"parts": content}]}).messages
    assert message.parts == (Text("a document"), Text("a question"))
    assert message.text == "a document\na question"


def test_chat_calls_and_functions_of_the_old_sort() -> None:
    request = {
        "functions": [{"name": "f", "description": "d", "parameters": {"type": "object"}}],
        "messages": [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "42"},
        ],
    }
    asked = call(OPENAI, request)
    assert asked.tools == (ToolSpec("f", "d", '{"type":"object"}'),)
    assert asked.messages[0].parts == (ToolCall("", "f", "{}"),)
    assert asked.messages[1] == Message("tool", (ToolResult("", "f", "42"),))


def test_chat_tool_calls_in_a_stream_may_lack_their_index() -> None:
    body = chunk(tool_calls=[{"id": "1", "function": {"name": "f", "arguments": "{"}}])
    body += chunk(tool_calls=[{"function": {"arguments": "}"}}])
    body += chunk(tool_calls=[{"id": "2", "function": {"name": "g", "arguments": "{}"}}])
    answer = call(OPENAI, answer=body, kind=SSE).answer
    assert answer is not None
    assert answer.tool_calls == (ToolCall("1", "f", "{}"), ToolCall("2", "g", "{}"))


def test_chat_arguments_that_are_an_object_become_json_text() -> None:
    message = {"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": [1, None]}}}]}
    answer = call(OPENAI, answer={"choices": [{"message": message}]}).answer
    assert answer is not None
    assert answer.tool_calls == (ToolCall("1", "f", '{"a":[1,null]}'),)


def test_mistral_thinks_in_lists() -> None:
    body = chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}])
    body += chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]) + chunk(content="ok")
    answer = call("https://api.mistral.ai/v1/chat/completions", answer=body, kind=SSE).answer
    assert answer == Message("assistant", (Thinking("hm"), Text("ok")))


def test_reasoning_and_refusal_are_read() -> None:
    message = {"content": None, "reasoning_content": "hm", "refusal": "no"}
    answer = call(OPENAI, answer={"choices": [{"message": message}]}).answer
    assert answer == Message("assistant", (Thinking("hm"), Text("no")))


def test_reasoning_outside_completion_tokens_is_counted() -> None:
    usage = {"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}
    assert call(OPENAI, answer={"usage": usage}).usage == Usage(35, 74, reasoning=62)


def test_halves_of_surrogate_pairs_do_not_hide_a_request() -> None:
    raw = b'{"model":"m","messages":[{"role":"user","content":"a\\ud83d"}],"temperature":NaN}'
    (message,) = call(OPENAI, raw).messages
    assert message.text == "a?"


def test_old_function_calls_and_refusals_are_streamed_too() -> None:
    body = chunk(function_call={"name": "f", "arguments": "{"}) + chunk(function_call={"arguments": "}"})
    assert call(OPENAI, answer=body, kind=SSE).answer == Message("assistant", (ToolCall("", "f", "{}"),))
    body = chunk(refusal="I ") + chunk(refusal="won't")
    assert call(OPENAI, answer=body, kind=SSE).answer == Message("assistant", (Text("I won't"),))


def test_a_body_may_begin_with_a_byte_order_mark() -> None:
    assert call(OPENAI, b'\xef\xbb\xbf{"model":"x"}').model == "x"


def test_the_first_status_that_is_no_success_is_an_error() -> None:
    assert call(OPENAI, answer=b"{}", status=299).error is None
    assert call(OPENAI, answer=b"{}", status=300).error == ApiError(300, "", "")


# --- responses


def test_a_response_that_breaks_off_keeps_its_parts_apart_and_in_order() -> None:
    def delta(kind: str, **more: object) -> dict[str, object]:
        return {"type": f"response.{kind}.delta", "output_index": 1, **more}

    events = [
        {"type": "response.created", "response": {"id": "r", "model": "m-1", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "role": "assistant"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "summary": []}},
        delta("output_text", content_index=1, delta="se"),
        delta("output_text", content_index=0, delta="first"),
        delta("output_text", content_index=1, delta="cond"),
        delta("reasoning_summary_text", output_index=0, summary_index=0, delta="hm"),
        delta("output_text", output_index=7, delta="of no item"),
    ]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    asked = call(RESPONSES, {"model": "m", "input": "x"}, body, kind=SSE)
    assert asked.answer == Message("assistant", (Thinking("hm"), Text("first"), Text("second")))
    assert (asked.served, asked.id, asked.complete) == ("m-1", "r", False)


def test_responses_items_of_every_sort() -> None:
    items = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/gif;base64,{PICTURE}"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {"type": "custom_tool_call", "call_id": "a", "name": "sql", "input": "select 1"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "1"},
        {"type": "local_shell_call", "call_id": "b", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "x"}]},
        {"type": "mcp_call", "id": "c", "name": "ask", "arguments": "{}", "output": None, "error": "gone"},
        {"type": "image_generation_call", "id": "d", "result": PICTURE},
        {"type": "item_reference", "id": "e"},
    ]
    messages = call(RESPONSES, {"model": "m", "input": items}).messages
    assert [m.role for m in messages] == ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert messages[1].parts == (Media("image/gif", 100),)
    assert messages[2].parts == (Thinking(""), ToolCall("a", "sql", "select 1"))
    assert messages[3].parts == (ToolResult("a", "sql", "1"),)
    assert messages[4].parts == (ToolCall("b", "local_shell", '{"command":["ls"]}'),)
    assert messages[5].parts == (ToolResult("b", "local_shell", "x"),)
    assert messages[6].parts == (
        ToolCall("c", "ask", "{}", hosted=True),
        ToolResult("c", "ask", "gone", is_error=True),
        ToolCall("d", "image_generation", "", hosted=True),
        Media("image/png", 100),
        Other("item_reference"),
    )


def test_an_incomplete_response_says_why() -> None:
    answer = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "and th"}]}],
    }
    asked = call(RESPONSES, {"model": "m", "input": "x"}, answer)
    assert (asked.finish_reason, asked.complete) == ("max_output_tokens", True)


# --- anthropic


def test_anthropic_results_with_pictures_and_errors() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    content = [
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "text", "text": "x"}, {"type": "image", "source": source}],
        },
        {"type": "tool_result", "tool_use_id": "b", "content": "bad", "is_error": True},
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {"role": "user", "content": content},
        {"role": "user", "content": [*content, {"type": "text", "text": "well?"}]},
    ]
    asked = call(ANTHROPIC, {"messages": messages, "max_tokens": 1})
    assert asked.messages[0].parts == (ToolCall("a", "look", "{}"),)
    assert asked.messages[1] == Message(
        "tool",
        (
            ToolResult("a", "look", "x"),
            Media("image/png", 100),
            ToolResult("b", None, "bad", is_error=True),
            ToolResult("c", None, ""),
        ),
    )
    assert asked.messages[2].role == "user"


def test_anthropic_cache_tokens_are_part_of_the_input() -> None:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300, "output_tokens": 4}
    read_usage = call(ANTHROPIC, answer={"content": [], "usage": usage}).usage
    assert read_usage == Usage(321, 4, cached_input=20, cache_write=300)


def test_anthropic_tools_that_run_there_are_hosted() -> None:
    tools = [
        {"name": "f", "input_schema": {}},
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "bash_20250124"},
    ]
    asked = call(ANTHROPIC, {"messages": [], "max_tokens": 1, "tools": tools})
    assert [(t.name, t.hosted) for t in asked.tools] == [("f", False), ("web_search", True), ("bash_20250124", False)]


# --- gemini


def test_gemini_reads_both_spellings() -> None:
    request = {
        "system_instruction": {"parts": {"text": "be brief"}},
        "contents": {
            "parts": [{"inline_data": {"mime_type": "image/png", "data": PICTURE}}, {"file_data": {"file_uri": "x"}}]
        },
        "tools": [{"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}, {"google_search": {}}],
    }
    asked = call(GEMINI, request)
    assert asked.messages == (
        Message("system", (Text("be brief"),)),
        Message("user", (Media("image/png", 100), Media("file"))),
    )
    assert asked.tools == (ToolSpec("f", "", '{"type":"OBJECT"}'), ToolSpec("google_search", hosted=True))


def test_a_prompt_that_gemini_refuses_has_no_answer_but_a_reason() -> None:
    asked = call(GEMINI, {}, {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (asked.answer, asked.finish_reason, asked.complete) == (None, "SAFETY", True)


def test_gemini_results_and_their_errors() -> None:
    parts = [{"functionResponse": {"name": "f", "response": {"error": "no"}}}, {"functionResponse": {"name": "g"}}]
    (message,) = call(GEMINI, {"contents": [{"role": "user", "parts": parts}]}).messages
    assert message == Message("tool", (ToolResult("", "f", '{"error":"no"}', is_error=True), ToolResult("", "g", "{}")))


def test_gemini_runs_code_and_keeps_caches() -> None:
    parts = [
        {"executableCode": {"id": "a", "code": "1/0"}},
        {"codeExecutionResult": {"id": "a", "outcome": "OUTCOME_FAILED", "output": "division by zero"}},
        {"toolCall": {"id": "b", "toolType": "URL_CONTEXT", "args": {"urls": []}}},
        {"toolResponse": {"id": "b", "toolType": "URL_CONTEXT", "response": {"ok": True}}},
        {"thoughtSignature": "x"},
    ]
    asked = call(GEMINI, {"cachedContent": "cachedContents/1"}, {"candidates": [{"content": {"parts": parts}}]})
    assert asked.messages == (Message("system", (Other("cachedContent"),)),)
    assert asked.answer == Message(
        "assistant",
        (
            ToolCall("a", "code_execution", "1/0", hosted=True),
            ToolResult("a", "code_execution", "division by zero", is_error=True),
            ToolCall("b", "URL_CONTEXT", '{"urls":[]}', hosted=True),
            ToolResult("b", "URL_CONTEXT", '{"ok":true}'),
        ),
    )


# --- bedrock


def test_converse_streams_the_results_of_its_own_tools() -> None:
    events = [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockStart", {"start": {"toolUse": {"toolUseId": "a", "name": "code", "type": "server_tool_use"}}}),
        ("contentBlockDelta", {"delta": {"toolUse": {"input": '{"x": 1}'}}}),
        (
            "contentBlockStart",
            {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "a", "status": "success"}}},
        ),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolResult": [{"text": "2"}, {"text": "3"}]}}),
        ("messageStop", {"stopReason": "end_turn"}),
    ]
    body = b"".join(frame(json.dumps(e).encode(), event_type=kind, message_type="event") for kind, e in events)
    asked = call(BEDROCK + "converse-stream", {}, body, kind=EVENTSTREAM)
    expected = (ToolCall("a", "code", '{"x":1}', hosted=True), ToolResult("a", None, "2\n3"))
    assert asked.answer == Message("assistant", expected)


def test_converse_texts_inside_guards_and_citations_are_texts() -> None:
    content = [
        {"guardContent": {"text": {"text": "a"}}},
        {"citationsContent": {"content": [{"text": "b"}], "citations": []}},
    ]
    asked = call(BEDROCK + "converse", {"system": content, "messages": []})
    assert asked.messages == (Message("system", (Text("a"), Text("b"))),)


def test_converse_blocks_of_every_sort() -> None:
    content = [
        {"text": "x"},
        {"image": {"format": "png", "source": {"bytes": PICTURE}}},
        {"cachePoint": {"type": "default"}},
        {"toolResult": {"toolUseId": "a", "content": [{"json": {"n": 1}}, {"text": "y"}], "status": "error"}},
        {"hologram": {}},
    ]
    (message,) = call(BEDROCK + "converse", {"messages": [{"role": "user", "content": content}]}).messages
    assert message.parts == (
        Text("x"),
        Media("image/png", 100),
        ToolResult("a", None, '{"n":1}\ny', is_error=True),
        Other("hologram"),
    )


def test_invoke_with_anthropics_body_is_read() -> None:
    request = {
        "anthropic_version": "bedrock-2023-05-31",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 1,
    }
    answer = {"content": [{"type": "text", "text": "yo"}], "stop_reason": "end_turn", "usage": {"output_tokens": 2}}
    asked = call(BEDROCK + "invoke", request, answer)
    assert asked.messages == (Message("user", (Text("hi"),)),)
    assert asked.answer == Message("assistant", (Text("yo"),))
    assert asked.usage == Usage(0, 2)


def test_invoke_of_another_model_still_counts_its_tokens() -> None:
    headers = (("X-Amzn-Bedrock-Input-Token-Count", "11"), ("X-Amzn-Bedrock-Output-Token-Count", "7"))
    asked = call(BEDROCK + "invoke", {"prompt": "hi"}, {"generation": "yo"}, headers=headers)
    assert asked.usage == Usage(11, 7)
    assert asked.answer == Message("assistant", (Other("answer of another format"),))


# --- embeddings


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("a", (Text("a"),)),
        (["a", "b"], (Text("a"), Text("b"))),
        ([1, 2, 3], (Other("tokens"),)),
        ([[1, 2], [3]], (Other("tokens"), Other("tokens"))),
    ],
)
def test_embeddings_name_what_was_embedded(given: object, parts: tuple[object, ...]) -> None:
    answer = {"data": [{"embedding": [0.5]}], "model": "e-1", "usage": {"prompt_tokens": 9}}
    asked = call("https://api.openai.com/v1/embeddings", {"model": "e", "input": given}, answer)
    assert asked.messages[0].parts == parts
    assert (asked.usage, asked.served, asked.complete) == (Usage(input=9), "e-1", True)
    assert asked.answer == Message("assistant", (Other("embedding"),))
