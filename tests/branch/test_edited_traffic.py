"""Real recorded answers of every API with other decisions: each one as our readers read it, streams as the SDKs do."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from reenact.edits import Answer, Call, Decision, apply, decided, parsed, written
from reenact.errors import EditError
from reenact.providers import ModelCall, Text, Wire, read
from reenact.providers.encoding import dechunk
from tests.branch.asking import SDKS, Asking

Traffic = list[tuple[str, Answer]]
CODINGS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def body_of(message: dict[str, Any]) -> bytes:
    return base64.b64decode(message["body_b64"]) if "body_b64" in message else (message.get("body") or "").encode()


def reading(answer: Answer) -> ModelCall:
    made = read(Wire(answer.method, answer.url, (), answer.request, answer.status, answer.headers, answer.body))
    assert isinstance(made, ModelCall)
    return made


def said(call: ModelCall) -> str:
    return "".join(part.text for part in call.answer.parts if isinstance(part, Text)) if call.answer else ""


def asked(call: ModelCall) -> list[tuple[str, Any]]:
    calls = call.answer.tool_calls if call.answer else ()
    return [(one.name, json.loads(one.arguments or "{}")) for one in calls]


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    """Every answer in which a model decided something, with a label that finds it again."""
    folder = Path(__file__).parents[3] / "shared" / "traffic"
    if not folder.is_dir():
        pytest.skip("no recorded traffic: expected the folder ../shared/traffic beside the repository")
    found: Traffic = []
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            cassette = json.loads(line)
            for at, one in enumerate(cassette["exchanges"]):
                request, response = one["request"], one["response"]
                answer = Answer(
                    request["method"],
                    request["url"],
                    body_of(request),
                    response["status"],
                    tuple(response["headers"].items()),
                    (body_of(response),),
                )
                found.append((f"{file.name}:{cassette['cassette']}#{at}", answer))
    return found


@pytest.fixture(scope="module")
def editable(traffic: Traffic) -> Traffic:
    found = []
    for label, answer in traffic:
        try:
            decided(answer)
        except EditError:
            continue
        found.append((label, answer))
    return found


def test_what_cannot_be_edited_says_why(traffic: Traffic) -> None:
    why = Counter[str]()
    for _, answer in traffic:
        try:
            decided(answer)
        except EditError as problem:
            why[str(problem).partition(" (")[0].partition("http")[0]] += 1
    assert len(traffic) - why.total() == 421
    assert why == {
        "POST ": 44,
        "DELETE ": 13,
        "the recorded answer is an error": 13,
        "the recorded answer is not whole: its stream has no finish_reason": 2,
        "the recorded answer has no content to edit": 4,
        "the recorded answer was still to come, as a background response; edit where it was fetched": 7,
    }


def test_a_decision_is_what_the_readers_read(editable: Traffic) -> None:
    for label, answer in editable:
        call, decision = reading(answer), decided(answer)
        assert call.answer is not None or not (decision.text or decision.calls), label
        assert decision.text == said(call), label
        calls = call.answer.tool_calls if call.answer else ()
        assert [(one.id, one.name) for one in decision.calls] == [(one.id, one.name) for one in calls], label


def test_through_its_text_an_unchanged_decision_leaves_every_byte(editable: Traffic) -> None:
    for label, answer in editable:
        decision = decided(answer)
        assert apply(answer, parsed(written(decision, helping=True), decision)) is answer, label


EDITS: dict[str, Any] = {
    "text": lambda was: Decision("Something new: längér.\n\nAnd more", was.calls, was.stop),
    "beginning kept": lambda was: Decision(was.text + " And more.", was.calls, was.stop),
    "one call": lambda _: Decision("", (Call("new_tool", '{"x": 1.0, "y": ["ä", null, 12345678901234567890]}'),)),
    "calls added": lambda was: Decision(was.text, (*was.calls, Call("new_tool"), Call("other", '{"a": "b"}'))),
    "calls taken away": lambda was: Decision(was.text or "Just text.", was.calls[1:]),
    "calls changed": lambda was: Decision(was.text, tuple(Call(one.name, '{"n": true}', one.id) for one in was.calls)),
    "cut": lambda _: Decision("abc", stop="length"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_every_answer_with_another_decision_says_that_and_is_else_as_recorded(editable: Traffic, edit: str) -> None:
    for label, answer in editable:
        was = decided(answer)
        new = EDITS[edit](was)
        made = apply(answer, new)
        before, after = reading(answer), reading(made)
        assert said(after) == new.text, label
        assert asked(after) == [(one.name, json.loads(one.arguments or "{}")) for one in new.calls], label
        assert after.complete, label
        same = ("provider", "api", "model", "served", "stream", "id", "usage", "error", "unread")
        assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same], label
        if before.answer is not None and after.answer is not None:
            ours = (Text, type(None))
            kept = [
                part
                for part in before.answer.parts
                if not isinstance(part, ours) and part not in before.answer.tool_calls
            ]
            assert all(part in after.answer.parts for part in kept), label
        ids = [one.id for one in decided(made).calls]
        assert len(set(filter(None, ids))) == len([one for one in ids if one]), label
        assert all(one.id in ids for one in new.calls if one.id), label
        assert decided(made).stops == new.stops, label
        lengths = [value for name, value in made.headers if name == "content-length"]
        assert lengths in ([], [str(len(made.body))]), label


def test_the_same_edit_gives_the_same_bytes(editable: Traffic) -> None:
    for label, answer in editable[::10]:
        new = Decision("a b", (Call("new_tool"),))
        assert apply(answer, new) == apply(answer, new), label


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with Asking() as asking:
        yield asking


# what an SDK says of hosted tools that are newer than it is, of the answers as recorded too
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_edited_streams_of_the_real_services_are_read_by_their_sdks(editable: Traffic, asking: Asking) -> None:
    read_by = Counter[str]()
    for label, answer in editable:
        call = reading(answer)
        if not call.stream or call.provider == "groq":
            continue
        new = Decision("Another text, which is new.", (Call("new_tool", '{"x": [1, "ä"]}'),))
        seen = asking.served(call.api, apply(answer, new), stream=True)
        assert (seen.text, seen.calls) == (new.text, [("new_tool", {"x": [1, "ä"]})]), label
        read_by[call.api] += 1
    assert set(read_by) == set(SDKS)
    assert read_by.total() > 50


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_with_a_coding_is_edited_and_has_none_then(editable: Traffic, coding: str) -> None:
    for label, answer in editable[::25]:
        coded = CODINGS[coding](answer.body)
        packed = replace(
            answer,
            chunks=(coded[:10], coded[10:]),
            headers=(*(h for h in answer.headers if h[0] != "content-length"), ("Content-Encoding", coding)),
        )
        new = Decision("new")
        made = apply(packed, new)
        assert decided(made).text == "new", label
        assert not any(name.lower() == "content-encoding" for name, _ in made.headers), label


def test_a_chunked_body_stays_chunked(editable: Traffic) -> None:
    for label, answer in editable[::25]:
        body = answer.body
        wire = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        made = apply(replace(answer, chunks=(wire[:7], wire[7:]), chunked=True), Decision("new", ()))
        assert made.chunked, label
        assert made.chunks[-1] == b"0\r\n\r\n", label
        assert all(dechunk(chunk) != chunk for chunk in made.chunks), label
        assert decided(made).text == "new", label
