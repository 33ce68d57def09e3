"""Requests with other results, contexts and models: what SDKs send, changed, and as the model's side then reads it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from reenact.edits import (
    Asked,
    BaseUrlRule,
    Call,
    Decision,
    ModelRule,
    context_rule,
    resigned,
    result_rule,
    tool_answer,
)
from reenact.errors import EditError
from reenact.testing import Call as Called
from reenact.testing import Calls, ModelServer, Reply, Say, Turn
from tests.branch.asking import SDKS
from tests.branch.talking import RESULT, TALKS, text_of

HOST = {
    "openai.chat": "https://api.openai.com",
    "openai.responses": "https://api.openai.com",
    "anthropic.messages": "https://api.anthropic.com",
    "google.gemini": "https://generativelanguage.googleapis.com",
    "bedrock.converse": "https://bedrock-runtime.us-east-1.amazonaws.com",
}
TWICE = Calls((Called("weather", {"city": "Oslo"}), Called("weather", {"city": "Bergen"})))


@dataclass(frozen=True)
class Talk:
    """The five requests of a conversation, and what the model decided in the first."""

    api: str
    asked: list[Asked]
    decision: Decision


class Told(ModelServer):
    """Tells what a request says to a model; `turns` has them in order."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        super().__init__(self._policy)

    def _policy(self, turn: Turn) -> Reply:
        self.turns.append(turn)
        if turn.rounds in (0, 2):
            return TWICE
        return Say(f"Answer {turn.rounds}.")

    def of(self, asked: Asked) -> Turn:
        """What that request says."""
        parts = urlsplit(asked.url)
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(asked.method, target, asked.body, dict(asked.headers))
        response = connection.getresponse()
        response.read()
        connection.close()
        assert response.status == 200
        return self.turns[-1]


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with Told() as server:
        yield server


@pytest.fixture(scope="module", params=list(TALKS))
def talk(request: pytest.FixtureRequest, told: Told) -> Talk:
    api = request.param
    before = len(told.requests)
    client = SDKS[api][0](told)
    try:
        TALKS[api](client)
    finally:
        client.close()
    asked = [
        Asked(one.method, HOST[api] + one.target, tuple(one.headers.items()), one.body)
        for one in told.requests[before:]
    ]
    calls = told.turns[-1].messages
    made = next(message.calls for message in calls if message.calls)
    decision = Decision("", tuple(Call(call.name, json.dumps(call.arguments), call.id) for call in made))
    assert len(asked) == 5
    return Talk(api, asked, decision)


def results(turn: Turn) -> list[str]:
    return [text_of(result.text) for message in turn.messages for result in message.results]


def test_another_result_is_told_in_every_later_request_and_nothing_else_changes(talk: Talk, told: Told) -> None:
    rule = result_rule(talk.decision, "weather#2", "snow").bound(talk.asked[1])
    assert rule.apply(talk.asked[0]) is talk.asked[0]
    for asked in talk.asked[1:]:
        was, now = told.of(asked), told.of(rule.apply(asked))
        assert results(was) == [RESULT] * len(results(was))
        assert results(now) == [RESULT, "snow", *[RESULT] * (len(results(was)) - 2)]
        assert [(m.role, m.text, m.calls) for m in now.messages] == [(m.role, m.text, m.calls) for m in was.messages]


def test_results_in_the_middle_of_a_run_are_those_of_that_step(talk: Talk, told: Told) -> None:
    made = [message.calls for message in told.of(talk.asked[3]).messages if message.calls][1]
    later = Decision("", tuple(Call(call.name, "{}", call.id) for call in made))
    rule = result_rule(later, "weather#1", "snow").bound(talk.asked[3])
    assert [results(told.of(rule.apply(asked))) for asked in talk.asked[1:]] == [
        [RESULT, RESULT],
        [RESULT, RESULT],
        [RESULT, RESULT, "snow", RESULT],
        [RESULT, RESULT, "snow", RESULT],
    ]


def test_a_failed_result_is_one_for_the_model(talk: Talk, told: Told) -> None:
    rule = result_rule(talk.decision, "weather#1", "no such city", failed=True).bound(talk.asked[1])
    result = told.of(rule.apply(talk.asked[1])).messages[-1].results[0]
    assert "no such city" in result.text
    assert result.is_error == (not talk.api.startswith("openai."))  # which has no place for that
    good = result_rule(talk.decision, "weather#1", "fair").bound(rule.apply(talk.asked[1]))
    assert not told.of(good.apply(rule.apply(talk.asked[1]))).messages[-1].results[0].is_error


def test_a_call_is_named_by_tool_number_or_id(talk: Talk) -> None:
    if talk.decision.calls[0].id:
        assert result_rule(talk.decision, talk.decision.calls[1].id, "x").call == talk.decision.calls[1]
    with pytest.raises(EditError, match="calls 'weather' 2 times; say which: "):
        result_rule(talk.decision, "weather", "x")
    with pytest.raises(EditError, match="does not call 'clock'; it calls: weather"):
        result_rule(talk.decision, "clock", "x")
    with pytest.raises(EditError, match="does not call 'weather' 3 times, but 2"):
        result_rule(talk.decision, "weather#3", "x")
    with pytest.raises(EditError, match="brings no result of 'weather'"):
        result_rule(talk.decision, "weather#1", "x").bound(talk.asked[0])


def test_a_patched_message_is_told_in_later_requests_too(talk: Talk, told: Told) -> None:
    at = 1 if talk.api == "openai.chat" else 0
    path = {"google.gemini": "parts/0/text", "bedrock.converse": "content/0/text"}.get(talk.api, "content")
    rule = context_rule(talk.asked[1], json.dumps([{"op": "replace", "path": f"/{at}/{path}", "value": "snow?"}]))
    assert told.of(rule.apply(talk.asked[0])).prompt == "weather?"  # it does not begin with what was patched
    for asked in talk.asked[1:]:
        was, now = told.of(asked), told.of(rule.apply(asked))
        said = [message.text for message in was.messages]
        assert [message.text for message in now.messages] == [word.replace("weather?", "snow?") for word in said]
        assert "snow?" in [message.text for message in now.messages]


def test_messages_are_taken_away_and_added(talk: Talk, told: Told) -> None:
    asked, last = talk.asked[2], talk.asked[4]
    count = len(asked.document()[{"openai.responses": "input", "google.gemini": "contents"}.get(talk.api, "messages")])
    more: Any = {"role": "user", "content": "be quick"}
    if talk.api == "google.gemini":
        more = {"role": "user", "parts": [{"text": "be quick"}]}
    elif talk.api == "bedrock.converse":
        more = {"role": "user", "content": [{"text": "be quick"}]}
    patch = [{"op": "remove", "path": f"/{count - 1}"}, {"op": "add", "path": "/-", "value": more}]
    rule = context_rule(asked, json.dumps(patch))
    assert told.of(rule.apply(asked)).prompt == "be quick"
    before, after = told.of(last).messages, told.of(rule.apply(last)).messages
    assert [m.text for m in after] == [m.text.replace("and tomorrow?", "be quick") for m in before]


def test_what_stands_beside_the_messages_is_patched_from_the_root(talk: Talk, told: Told) -> None:
    path = {
        "openai.chat": "/messages/0/content",
        "openai.responses": "/instructions",
        "anthropic.messages": "/system",
        "google.gemini": "/systemInstruction/parts/0/text",
        "bedrock.converse": "/system/0/text",
    }[talk.api]
    rule = context_rule(talk.asked[0], json.dumps([{"op": "replace", "path": path, "value": "Be long."}]))
    for asked in talk.asked:
        assert told.of(asked).messages[0].text == "Be brief."
        assert told.of(rule.apply(asked)).messages[0].text == "Be long."


def test_a_patch_that_does_not_fit_is_told_by_its_operation(talk: Talk) -> None:
    patch = [{"op": "test", "path": "/0/role", "value": "nobody"}]
    with pytest.raises(EditError, match=r"operation 1 of the patch, test '/[a-z]+/0/role': "):
        context_rule(talk.asked[0], json.dumps(patch))
    with pytest.raises(EditError, match="there is no 99: the list has "):
        context_rule(talk.asked[0], json.dumps([{"op": "remove", "path": "/99"}]))


def test_another_model_is_asked(talk: Talk, told: Told) -> None:
    for asked in talk.asked:
        assert told.of(ModelRule("maker.model-2").apply(asked)).model == "maker.model-2"
        assert ModelRule("any-model").apply(asked) is asked or asked.url == ModelRule("any-model").apply(asked).url


def test_another_place_is_asked_and_gets_no_key_but_its_own(talk: Talk, told: Told) -> None:
    base = {"openai.chat": told.openai, "openai.responses": told.openai}.get(talk.api, told.url)
    secret = ("authorization", "Bearer of-the-other-place")
    asked = Asked(talk.asked[1].method, talk.asked[1].url, (*talk.asked[1].headers, secret), talk.asked[1].body)
    sent = BaseUrlRule(base, "own-key").apply(asked)
    assert sent.url.startswith(base + "/")
    assert results(told.of(sent)) == results(told.of(asked))
    values = [value for _, value in sent.headers]
    assert not any("of-the-other-place" in value or value == "any" or "AWS4" in value for value in values)
    assert sum("own-key" in value for value in values) == 1
    assert dict(sent.headers).get("host", urlsplit(base).netloc) == urlsplit(base).netloc
    assert BaseUrlRule(base, "own-key").apply(sent) == sent


def test_what_is_no_base_url_is_refused() -> None:
    with pytest.raises(EditError, match="'localhost:11434' is no base URL"):
        BaseUrlRule("localhost:11434")


def test_the_length_is_that_of_the_new_body(talk: Talk) -> None:
    for rule in (ModelRule("another-one"), result_rule(talk.decision, "weather#1", "snöw").bound(talk.asked[1])):
        sent = rule.apply(talk.asked[1])
        assert dict(sent.headers)["content-length"] == str(len(sent.body))


def aws(body: bytes, secret: str = "secret") -> Asked:
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-micro-v1%3A0/converse"
    request = AWSRequest("POST", url, headers={"content-type": "application/json"}, data=body)
    request.context["timestamp"] = "20260101T000000Z"
    SigV4Auth(Credentials("AKIAANY", secret, "token"), "bedrock", "us-east-1").add_auth(request)
    return Asked("POST", url, tuple(request.headers.items()), body)


def test_a_signed_request_is_signed_anew_as_the_sdk_would() -> None:
    before = aws(b'{"messages":[]}')
    after = before.saying({"messages": [{"role": "user"}]})
    date = dict(before.headers)["X-Amz-Date"]
    done = resigned(before, after, "secret")
    request = AWSRequest("POST", done.url, headers={"content-type": "application/json"}, data=done.body)
    request.context["timestamp"] = date
    signer = SigV4Auth(Credentials("AKIAANY", "secret", "token"), "bedrock", "us-east-1")
    request.headers["X-Amz-Date"] = date
    request.headers["X-Amz-Security-Token"] = "token"
    expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    assert dict(done.headers)["Authorization"].endswith(f"Signature={expected}")
    assert resigned(before, before, "secret") == before
    with pytest.raises(EditError, match="signed with AKIAANY"):
        resigned(before, after, "another secret")


def test_a_value_of_a_tool_is_given_as_it_was() -> None:
    assert tool_answer("f", b'"fair"', "snow") == b'"snow"'
    assert json.loads(tool_answer("f", b'{"t": 1}', '{"t": 2}')) == {"t": 2}
    assert tool_answer("f", b"null", "3") == b"3"
    with pytest.raises(EditError, match="the result of 'f' has to be JSON, as it was"):
        tool_answer("f", b"[1]", "snow")
    with pytest.raises(EditError, match="'f' gave back no plain JSON"):
        tool_answer("f", b'{"$object": ["m:C", {}]}', '{"t": 2}')
    assert b"$object" in tool_answer("f", b'{"$object": ["m:C", {}]}', '{"$object": ["m:C", {"t": 1}]}')
