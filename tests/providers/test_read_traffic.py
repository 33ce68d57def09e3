"""Real exchanges read as what their JSON says, by checks that share no code with the readers."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from typing import Any

from reenact.providers import Media, ModelCall, NotAModel, Text, Thinking, ToolCall, ToolResult, Wire, read

Wires = list[tuple[str, Wire]]
MODEL_URL = re.compile(
    r"/chat/completions$|/v1/responses$|/v1/responses/compact$|/v1/responses/resp_\w+$|/v1/embeddings$|/v1/messages$"
    r"|:generateContent$|:streamGenerateContent$|/converse$|/converse-stream$|/invoke$"
)


def path(wire: Wire) -> str:
    return wire.url.partition("?")[0]


def is_stream(wire: Wire) -> bool:
    return any(
        key == "content-type" and "event-stream" in value.replace("eventstream", "event-stream")
        for key, value in wire.response_headers
    )


def answered(wires: Wires, ending: str) -> list[tuple[str, ModelCall, dict[str, Any], dict[str, Any]]]:
    """Label, reading, request JSON and answer JSON of the plain successes at an endpoint."""
    found = []
    for label, wire in wires:
        if path(wire).endswith(ending) and wire.status == 200 and not is_stream(wire):
            call = read(wire)
            assert isinstance(call, ModelCall), label
            try:
                request = json.loads(wire.request_body or b"{}")
            except ValueError:
                continue
            found.append((label, call, request, json.loads(wire.response_body)))
    assert found, ending
    return found


def called(call: ModelCall) -> list[tuple[str, str, Any]]:
    assert call.answer is not None
    return [(c.id, c.name, json.loads(c.arguments or "{}")) for c in call.answer.tool_calls]


def said(call: ModelCall) -> str:
    return "".join(part.text for part in call.answer.parts if isinstance(part, Text)) if call.answer else ""


def thought(call: ModelCall) -> str:
    return "".join(part.text for part in call.answer.parts if isinstance(part, Thinking)) if call.answer else ""


def test_every_exchange_is_read_as_the_kind_of_thing_it_is(wires: Wires) -> None:
    kinds = Counter[str]()
    for label, wire in wires:
        reading = read(wire)
        if MODEL_URL.search(path(wire)) and wire.method in ("POST", "GET"):
            assert isinstance(reading, ModelCall), label
            kinds[reading.api] += 1
        else:
            assert isinstance(reading, NotAModel), label
            kinds["no model"] += 1
    assert kinds == {
        "openai.chat": 116,
        "openai.responses": 105,
        "openai.embeddings": 1,
        "anthropic.messages": 99,
        "google.gemini": 70,
        "bedrock.converse": 53,
        "bedrock.invoke": 4,
        "no model": 56,
    }


def test_successes_have_model_answer_usage_and_finish_reason(wires: Wires) -> None:
    for label, wire in wires:
        call = read(wire)
        if not isinstance(call, ModelCall) or call.error is not None:
            continue
        assert call.model, label
        assert call.stream == (is_stream(wire) or b'"stream":true' in wire.request_body), label
        pending = wire.response_body.find(b'"status":"queued"') > 0 or wire.response_body.find(b'"status":"in_prog') > 0
        if pending and not is_stream(wire):
            assert not call.complete, label
            continue
        assert call.complete, label
        assert call.usage is not None, label
        assert call.answer is not None, label
        assert call.finish_reason or call.api == "bedrock.invoke" or path(wire).endswith("/compact"), label


def test_refusals_are_api_errors_with_the_status_and_message_sent(wires: Wires) -> None:
    refused = 0
    for label, wire in wires:
        call = read(wire)
        if isinstance(call, ModelCall) and wire.status is not None and wire.status >= 400:
            body = json.loads(wire.response_body)
            assert call.error is not None, label
            assert call.error.status == wire.status, label
            assert call.error.message == body.get("error", body)["message"], label
            assert call.answer is None, label
            assert not call.complete, label
            refused += 1
    assert refused == 14


def test_providers_are_told_apart_by_host(wires: Wires) -> None:
    hosts = {
        "api.openai.com": "openai",
        "api.groq.com": "groq",
        "api.anthropic.com": "anthropic",
        "generativelanguage.googleapis.com": "google",
        "bedrock-runtime.us-east-1.amazonaws.com": "bedrock",
    }
    for label, wire in wires:
        call = read(wire)
        if isinstance(call, ModelCall):
            assert call.provider == hosts[wire.url.split("/")[2]], label


def test_chat_completions_say_what_their_json_says(wires: Wires) -> None:
    for label, call, request, answer in answered(wires, "/chat/completions"):
        message, usage = answer["choices"][0]["message"], answer["usage"]
        assert (call.model, call.served, call.id) == (request["model"], answer["model"], answer["id"]), label
        assert call.finish_reason == answer["choices"][0]["finish_reason"], label
        assert said(call) == (message.get("content") or ""), label
        assert thought(call) == message.get("reasoning", ""), label
        assert call.answer is not None, label
        hosted = [(p.name, p.arguments) for p in call.answer.parts if isinstance(p, ToolCall) and p.hosted]
        executed = message.get("executed_tools") or []
        assert hosted == [(tool["type"], tool["arguments"]) for tool in executed], label
        results = [p.text for p in call.answer.parts if isinstance(p, ToolResult)]
        assert results == [tool["output"] for tool in executed], label
        assert called(call) == [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or ()
        ], label
        assert call.usage is not None, label
        assert call.usage.input == usage["prompt_tokens"], label
        assert call.usage.input + call.usage.output == usage["total_tokens"], label
        details = usage.get("completion_tokens_details", {})
        if call.provider != "google":
            assert call.usage.output == usage["completion_tokens"], label
            assert call.usage.reasoning == details.get("reasoning_tokens", 0), label
        assert call.usage.cached_input == usage.get("prompt_tokens_details", {}).get("cached_tokens", 0), label


def test_chat_requests_keep_every_message_and_tool(wires: Wires) -> None:
    for label, call, request, _ in answered(wires, "/chat/completions"):
        sent = request["messages"]
        renamed = {"developer": "system"}
        assert [m.role for m in call.messages] == [renamed.get(m["role"], m["role"]) for m in sent], label
        for message, original in zip(call.messages, sent, strict=True):
            if message.role == "tool":
                (result,) = message.parts
                assert isinstance(result, ToolResult), label
                assert (result.id, result.text) == (original["tool_call_id"], original["content"]), label
                assert result.name, label
            else:
                assert message.text == (original.get("content") or ""), label
                ids = [c["id"] for c in original.get("tool_calls") or ()]
                assert [c.id for c in message.tool_calls] == ids, label
        tools = [tool["function"] for tool in request.get("tools", ())]
        assert [(t.name, json.loads(t.parameters)) for t in call.tools] == [
            (t["name"], t["parameters"]) for t in tools
        ], label


def additional_tools(item: object) -> list[dict[str, Any]]:
    return list(item["tools"]) if isinstance(item, dict) and item.get("type") == "additional_tools" else []


def test_responses_say_what_their_json_says(wires: Wires) -> None:
    for label, call, request, answer in answered(wires, "/v1/responses"):
        output = answer["output"]
        assert (call.model, call.served, call.id) == (request["model"], answer["model"], answer["id"]), label
        texts = [c["text"] for item in output if item["type"] == "message" for c in item["content"]]
        assert said(call) == "".join(texts), label
        summaries = ["\n".join(s["text"] for s in item["summary"]) for item in output if item["type"] == "reasoning"]
        assert thought(call) == "".join(summaries), label
        if call.answer is not None:
            functions = [item for item in output if item["type"] == "function_call"]
            assert [c for c in called(call) if c[1] != "tool_search"] == [
                (f["call_id"], f["name"], json.loads(f["arguments"])) for f in functions
            ], label
        if usage := answer["usage"]:
            assert call.usage is not None, label
            read_, written = usage["input_tokens"], usage["output_tokens"]
            assert (call.usage.input, call.usage.output) == (read_, written), label
            assert call.usage.cached_input == usage["input_tokens_details"]["cached_tokens"], label
            assert call.usage.reasoning == usage["output_tokens_details"]["reasoning_tokens"], label
        offered = [*request.get("tools", ()), *(t for i in list(request["input"]) for t in additional_tools(i))]
        for tool, spec in zip(call.tools, offered, strict=True):
            assert tool.name == spec.get("name", spec["type"]), label
            own = spec["type"] == "function" or spec.get("execution") == "client"
            assert tool.hosted is not own, label
            assert tool.description == (spec.get("description") or ""), label
            assert (json.loads(tool.parameters) if tool.parameters else None) == spec.get("parameters"), label
        assert call.continues == (request.get("previous_response_id") or request.get("conversation")), label


def test_responses_requests_keep_instructions_input_and_results(wires: Wires) -> None:
    for label, call, request, _ in answered(wires, "/v1/responses"):
        if instructions := request.get("instructions"):
            assert call.messages[0].role == "system", label
            assert call.messages[0].text == instructions, label
        given = request["input"]
        if isinstance(given, str):
            assert call.messages[-1].text == given, label
            continue
        parts = [part for message in call.messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult) and part.name != "tool_search"]
        assert [(r.id, r.text) for r in results] == [
            (item["call_id"], item["output"]) for item in given if item.get("type") == "function_call_output"
        ], label
        words = [item["content"] for item in given if isinstance(item.get("content"), str)]
        assert [w for w in words if w] == [
            part.text for part in parts if isinstance(part, Text) and part.text in words
        ], label


def test_a_background_answer_is_read_when_it_is_fetched(wires: Wires) -> None:
    fetched = [read(wire) for _, wire in wires if wire.method == "GET" and "/v1/responses/resp_" in wire.url]
    calls = [call for call in fetched if isinstance(call, ModelCall)]
    assert len(calls) == 6
    assert all(call.continues == call.id for call in calls)
    assert [call.complete for call in calls].count(True) == 3


def test_anthropic_messages_say_what_their_json_says(wires: Wires) -> None:
    for label, call, request, answer in answered(wires, "/v1/messages"):
        blocks, usage = answer["content"], answer["usage"]
        assert (call.model, call.served, call.id) == (request["model"], answer["model"], answer["id"]), label
        assert call.finish_reason == answer["stop_reason"], label
        assert said(call) == "".join(b["text"] for b in blocks if b["type"] == "text"), label
        assert thought(call) == "".join(b["thinking"] for b in blocks if b["type"] == "thinking"), label
        assert called(call) == [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"], label
        assert call.answer is not None, label
        hosted = [part for part in call.answer.parts if isinstance(part, ToolCall) and part.hosted]
        assert [h.id for h in hosted] == [
            b["id"] for b in blocks if b["type"] in ("server_tool_use", "mcp_tool_use")
        ], label
        assert call.usage is not None, label
        cached, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        assert call.usage.input == usage["input_tokens"] + cached + written, label
        assert (call.usage.cached_input, call.usage.cache_write) == (cached, written), label
        assert call.usage.output == usage["output_tokens"], label
        thinking = usage.get("output_tokens_details") or {}
        assert call.usage.reasoning == thinking.get("thinking_tokens", 0), label


def test_anthropic_requests_keep_system_messages_and_results(wires: Wires) -> None:
    for label, call, request, _ in answered(wires, "/v1/messages"):
        system = request.get("system")
        assert len(call.messages) == len(request["messages"]) + bool(system), label
        if isinstance(system, list):
            assert call.messages[0].text == "\n".join(block["text"] for block in system), label
        blocks = [b for m in request["messages"] if isinstance(m["content"], list) for b in m["content"]]
        parts = [part for message in call.messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        expected = [b for b in blocks if b["type"].endswith("tool_result")]
        assert [r.id for r in results] == [b["tool_use_id"] for b in expected], label
        for result, block in zip(results, expected, strict=True):
            if block["type"] == "tool_result" and isinstance(block["content"], str):
                assert result.text == block["content"], label
                assert result.is_error is block["is_error"], label
            assert result.name, label
        uploads = [part for part in parts if isinstance(part, Media)]
        assert len(uploads) == sum(b["type"] == "container_upload" for b in blocks), label
        names = [t["name"] for t in request.get("tools", ())] + [s["name"] for s in request.get("mcp_servers", ())]
        assert [t.name for t in call.tools] == names, label


def test_gemini_says_what_its_json_says(wires: Wires) -> None:
    for label, call, request, answer in answered(wires, ":generateContent"):
        candidate, usage = answer["candidates"][0], answer["usageMetadata"]
        parts = candidate.get("content", {}).get("parts", [])
        assert call.served == answer["modelVersion"], label
        assert call.finish_reason == candidate["finishReason"], label
        assert said(call) == "".join(p["text"] for p in parts if "text" in p and not p.get("thought")), label
        assert thought(call) == "".join(p["text"] for p in parts if "text" in p and p.get("thought")), label
        made = [p["functionCall"] for p in parts if "functionCall" in p]
        assert call.answer is not None, label
        assert called(call) == [(f.get("id", ""), f["name"], f["args"]) for f in made], label
        assert call.usage is not None, label
        assert call.usage.input + call.usage.output == usage["totalTokenCount"], label
        assert call.usage.reasoning == usage.get("thoughtsTokenCount", 0), label
        assert call.usage.cached_input == usage.get("cachedContentTokenCount", 0), label
        held = "systemInstruction" in request or "cachedContent" in request
        assert len(call.messages) == len(request["contents"]) + held, label
        sent = [p["text"] for c in request["contents"] for p in c["parts"] if p.get("text") and not p.get("thought")]
        kept = [part.text for m in call.messages if m.role != "system" for part in m.parts if isinstance(part, Text)]
        assert "".join(kept) == "".join(sent), label
        declared = [f["name"] for t in request.get("tools", ()) for f in t.get("functionDeclarations", ())]
        assert [t.name for t in call.tools if not t.hosted] == declared, label
        functions = [f for t in request.get("tools", ()) for f in t.get("functionDeclarations", ())]
        for tool, spec in zip((t for t in call.tools if not t.hosted), functions, strict=True):
            assert tool.description == spec["description"], label
            schema = spec.get("parameters_json_schema", spec.get("parameters"))
            assert (json.loads(tool.parameters) if tool.parameters else None) == schema, label
        hosted = [part for part in call.answer.parts if isinstance(part, ToolCall) and part.hosted]
        assert [h.id for h in hosted] == [
            p[key]["id"] for p in parts for key in ("executableCode", "toolCall") if key in p
        ], label
        results = [part for part in call.answer.parts if isinstance(part, ToolResult)]
        outputs = [p[key] for p in parts for key in ("codeExecutionResult", "toolResponse") if key in p]
        assert [r.id for r in results] == [o["id"] for o in outputs], label
        assert not any(r.is_error for r in results), label


def test_converse_says_what_its_json_says(wires: Wires) -> None:
    for label, call, request, answer in answered(wires, "/converse"):
        blocks, usage = answer["output"]["message"]["content"], answer["usage"]
        assert call.finish_reason == answer["stopReason"], label
        assert said(call) == "".join(b.get("text", "") for b in blocks), label
        reasoning = [b["reasoningContent"] for b in blocks if "reasoningContent" in b]
        assert thought(call) == "".join(r["reasoningText"]["text"] for r in reasoning), label
        tools = [b["toolUse"] for b in blocks if "toolUse" in b]
        assert called(call) == [(t["toolUseId"], t["name"], t["input"]) for t in tools], label
        assert call.usage is not None, label
        assert call.usage.input + call.usage.output == usage["totalTokens"], label
        assert call.usage.cached_input == usage.get("cacheReadInputTokens", 0), label
        assert len(call.messages) == len(request["messages"]) + any("text" in s for s in request.get("system", ())), (
            label
        )
        specs = [t["toolSpec"]["name"] for t in request.get("toolConfig", {}).get("tools", ()) if "toolSpec" in t]
        assert [t.name for t in call.tools if not t.hosted] == specs, label
        described = [t["toolSpec"] for t in request.get("toolConfig", {}).get("tools", ()) if "toolSpec" in t]
        for tool, spec in zip((t for t in call.tools if not t.hosted), described, strict=True):
            assert tool.description == spec.get("description", ""), label
            assert json.loads(tool.parameters) == spec["inputSchema"]["json"], label


def test_bedrock_models_are_named_without_percent_signs(wires: Wires) -> None:
    models = {
        call.model for _, wire in wires if isinstance(call := read(wire), ModelCall) and call.provider == "bedrock"
    }
    assert "us.amazon.nova-micro-v1:0" in models
    assert not any("%" in model for model in models)


def test_the_one_request_that_is_no_json_keeps_its_answer(wires: Wires) -> None:
    unread = [call for _, wire in wires if isinstance(call := read(wire), ModelCall) and call.unread is not None]
    (call,) = unread
    assert call.unread is not None
    assert call.unread.reason.startswith("request:")
    assert call.messages == ()
    assert call.answer is not None
    assert call.usage is not None


def test_reading_is_fast(wires: Wires) -> None:
    def cost(wire: Wire) -> float:
        began = time.perf_counter()
        read(wire)
        return time.perf_counter() - began

    slowest = max(min(cost(wire) for _ in range(3)) for _, wire in wires)
    assert slowest < 0.05, f"{slowest:.3f} s for one exchange"
