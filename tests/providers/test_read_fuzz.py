"""Nothing that a provider, a proxy or a stranger's tape could hold makes a reader raise."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reenact.providers import ModelCall, NotAModel, Unreadable, Wire, news, read
from reenact.testing.wire import eventstream

URLS = (
    "https://api.openai.com/v1/chat/completions",
    "https://api.openai.com/v1/responses",
    "https://api.openai.com/v1/responses/compact",
    "https://api.openai.com/v1/embeddings",
    "https://api.anthropic.com/v1/messages",
    "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent",
    "https://generativelanguage.googleapis.com/v1beta/models/g:streamGenerateContent",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke",
    "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke-with-response-stream",
)
KINDS = ("application/json", "text/event-stream", "application/vnd.amazon.eventstream", "")
# The names that the readers look for, so that random documents reach deep into them.
KEYS = """
    messages role content type text tools function name parameters tool_calls id arguments index choices delta
    message finish_reason usage prompt_tokens total_tokens model stream input output instructions item response
    status summary call_id output_index error code system source data media_type input_schema content_block
    tool_use_id is_error partial_json thinking stop_reason contents parts candidates functionCall functionResponse
    args inlineData mimeType systemInstruction usageMetadata promptTokenCount functionDeclarations toolConfig
    toolSpec inputSchema toolUse toolUseId toolResult reasoningContent reasoningText contentBlockIndex start
    stopReason bytes action queries results executed_tools functions function_call refusal audio image_url url
    reasoning promptFeedback max_tokens detail
""".split()  # noqa: SIM905  one word a line would be a page
WORDS = """
    user assistant system tool text tool_use tool_result message function_call reasoning message_start
    content_block_start content_block_delta message_delta text_delta input_json_delta response.completed error
    response.output_item.added response.output_text.delta web_search_call code_interpreter_call function image_url
    tool_search_call tool_search_output function_call_output image document input_image custom in_progress
""".split()  # noqa: SIM905  one word a line would be a page

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(WORDS),
    st.just("data:image/png;base64,AAAA"),
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
objects = st.dictionaries(st.sampled_from(KEYS), documents, max_size=6)


def readable(reading: object) -> None:
    """A reading is one of the three, can be written as JSON, and can be compared with itself."""
    assert isinstance(reading, ModelCall | NotAModel | Unreadable)
    msgspec.json.encode(reading)
    if isinstance(reading, ModelCall):
        assert reading.continues or not news(reading, reading).messages
        for message in (*reading.messages, *([reading.answer] if reading.answer else [])):
            hash(message)


def body_of(value: object, kind: str) -> bytes:
    text = json.dumps(value)
    if kind == "text/event-stream":
        rows = value if isinstance(value, list) else [value]
        return "".join(f"data: {json.dumps(row)}\n\n" for row in rows).encode()
    return text.encode()


@settings(max_examples=200)
@given(
    st.sampled_from(URLS), st.sampled_from(KINDS), st.sampled_from([None, 200, 302, 400, 500]), st.binary(), st.binary()
)
def test_arbitrary_bytes_never_raise(url: str, kind: str, status: int | None, request: bytes, answer: bytes) -> None:
    readable(read(Wire("POST", url, (), request, status, (("content-type", kind),), answer)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.sampled_from(URLS), st.sampled_from(KINDS[:2]), st.sampled_from([200, 400]), objects, documents)
def test_arbitrary_documents_never_raise(url: str, kind: str, status: int, request: object, answer: object) -> None:
    body = body_of(answer, kind)
    readable(read(Wire("POST", url, (), json.dumps(request).encode(), status, (("content-type", kind),), body)))


@given(
    st.text(max_size=20),
    st.text(max_size=60),
    st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=3),
)
def test_arbitrary_methods_urls_and_headers_never_raise(method: str, url: str, headers: list[tuple[str, str]]) -> None:
    readable(read(Wire(method, url, headers, b"", 200, headers, b"")))


def paths_of(value: object, at: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Every place in a document."""
    places = [at]
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in children:
        places += paths_of(inner, (*at, key))
    return places


def replaced(value: object, at: tuple[object, ...], new: object) -> object:
    """A copy of a document with another value in one place."""
    if not at:
        return new
    if isinstance(value, dict):
        return {key: replaced(inner, at[1:], new) if key == at[0] else inner for key, inner in value.items()}
    assert isinstance(value, list)
    return [replaced(inner, at[1:], new) if index == at[0] else inner for index, inner in enumerate(value)]


class Samples(list[Wire]):
    """Exchanges that hypothesis does not print in full."""

    def __repr__(self) -> str:
        return f"<{len(self)} exchanges>"


@pytest.fixture(scope="module")
def samples(wires: list[tuple[str, Wire]]) -> Samples:
    """A short exchange or two of every sort."""
    chosen: dict[tuple[str, str, int | None, bool], Wire] = {}
    for _, wire in sorted(wires, key=lambda pair: len(pair[1].request_body) + len(pair[1].response_body)):
        reading = read(wire)
        if isinstance(reading, ModelCall) and wire.request_body and not reading.unread:
            tools = reading.answer is not None and bool(reading.answer.tool_calls)
            chosen.setdefault((reading.api, str(reading.stream), wire.status, tools), wire)
    return Samples(chosen.values())


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_real_exchanges_with_one_thing_changed_never_raise(samples: Samples, data: st.DataObject) -> None:
    wire = samples[data.draw(st.integers(min_value=0, max_value=len(samples) - 1))]
    request = json.loads(wire.request_body)
    at = data.draw(st.sampled_from(paths_of(request)))
    request = replaced(request, at, data.draw(documents))
    body = wire.response_body
    if body.startswith(b"{"):
        answer = json.loads(body)
        body = json.dumps(replaced(answer, data.draw(st.sampled_from(paths_of(answer))), data.draw(documents))).encode()
    elif body:
        at_byte = data.draw(st.integers(min_value=0, max_value=len(body) - 1))
        body = body[:at_byte] + data.draw(st.binary(max_size=3)) + body[at_byte + 1 :]
    changed = Wire(wire.method, wire.url, (), json.dumps(request).encode(), wire.status, wire.response_headers, body)
    readable(read(changed))


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("kind", KINDS)
def test_deep_nesting_never_raises(url: str, kind: str) -> None:
    deep = b'{"messages":' * 5000 + b"[" * 5000
    fits = b'{"messages":[{"role":"user","content":' + b"[" * 400 + b"]" * 400 + b"}]}"
    for body in (deep, fits, b"data: " + deep + b"\n\n", b"[" + deep):
        readable(read(Wire("POST", url, (), body, 200, (("content-type", kind),), body)))
        readable(read(Wire("POST", url, (), b"{}", 400, (("content-type", kind),), body)))


@pytest.mark.parametrize("depth", [100, 200, 300, 400, 900])
@pytest.mark.parametrize(
    ("url", "before", "after"),
    [
        (URLS[4], b'{"type":"tool_result","content":[', b"]}"),
        (URLS[7], b'{"citationsContent":{"content":[', b"]}}"),
    ],
    ids=["results", "citations"],
)
def test_what_is_nested_in_its_own_kind_never_raises(url: str, before: bytes, after: bytes, depth: int) -> None:
    """As deep as JSON can be read, and not by ourselves."""
    content = before * depth + b'{"type":"text","text":"x"}' + after * depth
    asked = b'{"max_tokens":1,"messages":[{"role":"user","content":[' + content + b"]}]}"
    answer = b'{"content":[' + content + b'],"output":{"message":{"content":[' + content + b"]}}}"
    readable(read(Wire("POST", url, (), asked, 200, (), answer)))


HUGE = ("1" + "0" * 30, "9" * 4300, "1e308", "1e999", "-" + "9" * 40, "0." + "9" * 400, "NaN")


@pytest.mark.parametrize("number", HUGE, ids=lambda number: number[:9])
@pytest.mark.parametrize("url", URLS)
def test_huge_numbers_never_raise(url: str, number: str) -> None:
    """Anywhere: in counts, in places, in schemas."""
    for name in ("usage", "usageMetadata"):
        counts = ",".join(f'"{key}":{number}' for key in KEYS) + f',"inputTokens":{number},"output_tokens":{number}'
        body = (
            f'{{"{name}":{{{counts}}},"content":[],"index":{number},"max_tokens":{number},"tools":[{{"type":"function",'
        )
        body += (
            f'"function":{{"name":"f","parameters":{{"maximum":{number}}}}},"input_schema":{{"maximum":{number}}}}}],'
        )
        body += f'"messages":[],"input":{number},"choices":[{{"index":{number},"message":{{"content":{number}}}}}]}}'
        for kind in KINDS[:2]:
            answer = f"data: {body}\n\n" if kind == KINDS[1] else body
            readable(read(Wire("POST", url, (), body.encode(), 200, (("content-type", kind),), answer.encode())))


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_of_more_values_than_are_read_are_unreadable(kind: str) -> None:
    """They would take far more memory than they have bytes."""
    frame = eventstream.frame({}, b"")
    bombs = [b"[" + b"[]," * (5 << 20) + b"0]", b"data:{}\n\n" * (1 << 20), frame * ((1 << 17) + 1)]
    began = time.perf_counter()
    for body in bombs:
        reading = read(Wire("POST", URLS[0], (), b"{}", 200, (("content-type", kind),), body))
        assert isinstance(reading, ModelCall)
        assert reading.unread is not None
    assert time.perf_counter() - began < 30
