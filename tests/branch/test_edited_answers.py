"""Answers with another decision, as the official SDKs read them: over HTTP, from a server that serves the edited bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reenact.edits import Call, Decision, apply, decided
from reenact.testing import Call as Asked
from reenact.testing import Calls, Reply, Say, Usage
from tests.branch.asking import SDKS, Asking

REPLIES: dict[str, Reply] = {
    "text": Say("The weather in Oslo is fair, and it will stay so.", usage=Usage(120, 7)),
    "call": Asked("weather", {"city": "Oslo", "days": 3}),
    "both": Calls(
        (Asked("weather", {"city": "Oslo"}), Asked("clock", {"zone": "UTC"})), text="Let me see.", usage=Usage(50, 20)
    ),
}
EDITS = {
    "text": Decision("Nein: 12 °C, with rain\nfrom noon on."),
    "call": Decision("", (Call("search", '{"query": "ö", "limit": 1.5, "deep": {"a": [null, true]}}'),)),
    "call kept by name": Decision("", (Call("weather", '{"city": "Tromsø"}'),)),
    "both": Decision("I ask.", (Call("clock", "{}"), Call("weather", '{"city": "Bergen"}'), Call("third", '{"n": 1}'))),
    "cut": Decision("It is", stop="length"),
    "refused": Decision("I will not say.", stop="refusal"),
    "nothing": Decision(),
}
STOPS = {
    "openai.chat": {"end": "stop", "tools": "tool_calls", "length": "length", "refusal": "stop"},
    "openai.responses": {
        "end": "completed",
        "tools": "completed",
        "length": "max_output_tokens",
        "refusal": "completed",
    },
    "anthropic.messages": {"end": "end_turn", "tools": "tool_use", "length": "max_tokens", "refusal": "refusal"},
    "google.gemini": {"end": "STOP", "tools": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"},
    "bedrock.converse": {"end": "end_turn", "tools": "tool_use", "length": "max_tokens", "refusal": "content_filtered"},
}


@pytest.fixture(scope="module")
def asking() -> Iterator[Asking]:
    with Asking() as asking:
        yield asking


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("api", SDKS)
def test_an_sdk_reads_the_other_decision_and_all_else_as_recorded(
    asking: Asking, api: str, reply: str, edit: str, stream: bool
) -> None:
    new = EDITS[edit]
    answer = asking.recorded(api, REPLIES[reply], stream=stream)
    before = asking.served(api, answer, stream=stream)
    after = asking.served(api, apply(answer, new), stream=stream)
    assert after.text == new.text
    assert after.calls == [(call.name, call.object) for call in new.calls]
    assert after.stop == STOPS[api][new.stops]
    assert after.kept == before.kept
    known = {name: made for (name, _), made in zip(before.calls, before.ids, strict=True)}
    assert len(set(after.ids)) == len(after.ids) or api == "google.gemini"
    for (name, _), made in zip(after.calls, after.ids, strict=True):
        assert made == known[name] if name in known else bool(made) != (api == "google.gemini")


@pytest.mark.parametrize("api", SDKS)
def test_a_streamed_text_comes_in_about_as_many_pieces(asking: Asking, api: str) -> None:
    answer = asking.recorded(api, REPLIES["text"], stream=True)
    before = asking.served(api, answer, stream=True)
    new = Decision("Another text of the same length, which is the point.")
    after = asking.served(api, apply(answer, new), stream=True)
    assert before.pieces > 5
    assert before.pieces // 2 <= after.pieces <= before.pieces


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("api", SDKS)
def test_an_unchanged_decision_leaves_every_byte(asking: Asking, api: str, reply: str, stream: bool) -> None:
    answer = asking.recorded(api, REPLIES[reply], stream=stream)
    assert apply(answer, decided(answer)) is answer
