"""What `reenact show` prints: golden texts, safe for the terminal, and JSON.

With UPDATE_GOLDEN=1 in the environment the golden files are written instead of compared.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reenact.report import document, timeline
from reenact.report import event as events
from reenact.report import run as runs
from reenact.report import step as steps
from reenact.report.speech import pretty
from reenact.report.terminal import Paint, clip, columns, plain, preview
from reenact.tape.event import Failed, Kind, MarkKind, PartKind
from reenact.tape.recording import Recording
from reenact.testing.wire import eventstream
from reenact.trajectory import Entry, trajectory
from tests.trajectory.made import CHAT, JSON, MS, STARTED, Made, calls, completion, gave, says, system, user

GOLDEN: Final = Path(__file__).parent / "golden"
NOW: Final = STARTED + 5 * 60_000 * MS
REFUSED: Final = Failed("httpx2", "ConnectError", ["[Errno 111] Connection refused"], {})


def desk(made: Made) -> Recording:
    """Tools, retries, events outside the steps, and a note."""
    messages = [
        system("You serve the orders desk."),
        user("Where is order 5512?\n\nI have waited " + "so " * 60 + "long."),
    ]
    made.http("GET https://shop.example/config", 200, b"{}")
    made.ask(messages, calls(c1={"order": 5512}, c2={"order": "5513"}))
    made.http("GET https://shop.example/orders/5512", 200, b'{"left": "Oslo"}')
    made.http("GET https://shop.example/orders/5513", 404, b"{}")
    made.sleep(0.05)
    made.sleep(0.05)
    messages += [calls(c1={"order": 5512}, c2={"order": "5513"}), gave("c1", "It left Oslo."), gave("c2", "unknown")]
    made.ask(messages, 429, line=12)
    made.sleep(0.2)
    made.ask(messages, says("5512 left Oslo.\nI know nothing of 5513."), line=12)
    made.note("unseen", "connected to 192.0.2.7:6379", 30)
    made.http("POST https://shop.example/mail", 200, b"ok")
    return made.done()


def side_by_side(made: Made) -> Recording:
    """Lanes, and an end by an exception."""
    for number, name in ((1, "planner"), (2, "a name that is too long to be shown")):
        made.lane(f"0.{number}", name)
        made.ask([user(f"Question {number}")], says(f"Answer {number}"), lane=f"0.{number}")
    made.part(made.begin(CHAT, b'{"model":"gpt-5","messages":[]}'), PartKind.FAILURE, failed=REFUSED)
    return made.done(1, Failed("openai", "APIConnectionError", ["Connection error."], {}, REFUSED))


def agents(made: Made) -> Recording:
    """Two agents at work at the same time, one of them with steps, a tool of another, and what is in neither."""
    made.lane("0.1", "plan")
    made.lane("0.2", "criticise")
    made.ask([user("Where to?")], says("Oslo"))
    made.label(MarkKind.SESSION, "support-4711")
    made.label(MarkKind.TAGS, env="prod", beta="")
    lead = made.mark(MarkKind.AGENT, "supervisor")
    plan = made.mark(MarkKind.AGENT, "planner", within=lead, lane="0.1", role="plans the trip")
    find = made.mark(MarkKind.STEP, "find flights", within=plan, lane="0.1", city="Oslo")
    first = [user("Flights to Oslo?")]
    made.ask(first, calls(c1={"order": 1}), lane="0.1")
    critic = made.mark(MarkKind.AGENT, "critic", within=lead, lane="0.2", role="finds what is wrong")
    made.ask([user("What speaks against it?")], says("The rain"), lane="0.2")
    tool = made.mark(MarkKind.AGENT, "fetcher", within=find, lane="0.1")
    made.http("GET https://shop.example/flights", 200, lane="0.1")
    made.ended(tool, then=find, lane="0.1")
    made.ask([*first, calls(c1={"order": 1}), gave("c1", "7 o'clock")], says("At seven"), lane="0.1")
    made.ended(find, then=plan, lane="0.1")
    for number in range(3):
        turn = made.mark(MarkKind.STEP, "turn", within=critic, lane="0.2")
        made.sleep(0.05, lane="0.2")
        made.ended(turn, "LookupError" if number else "", then=critic, lane="0.2")
    made.ended(critic, "LookupError", lane="0.2")
    made.ask([user("Sum up")], says("Oslo at seven"))
    made.ended(lead)
    made.http("POST https://shop.example/mail", 200, b"ok")
    return made.done()


def hostile(made: Made) -> Recording:
    """What would take over a terminal, and letters that are wide or no letters."""
    evil = "\x1b[2J\x1b]0;owned\x07 \u202egnorw \u200b\n\x00 \r\x9b31m"
    made.lane("0.1", evil)
    made.label(MarkKind.SESSION, evil)
    made.label(MarkKind.TAGS, **{evil: evil})
    made.mark(
        MarkKind.STEP, evil, within=made.mark(MarkKind.AGENT, evil, lane="0.1", role=evil), lane="0.1", **{evil: evil}
    )
    made.ask([user(evil), user("日本語の長い文章です。" * 30)], calls(**{evil: {evil: evil}}), lane="0.1")
    event = made.begin(f"GET https://shop.example/{evil}", kind=Kind.HTTP)
    made.part(event, PartKind.FAILURE, failed=Failed("evil", evil, [evil], {}))
    made.note("fault", evil, 3)
    return made.done()


def nothing(made: Made) -> Recording:
    """A program that asked nobody."""
    return made.done()


def killed(made: Made) -> Recording:
    """A request that was under way when the process was killed."""
    made.begin(CHAT, b'{"model":"gpt-5","messages":[{"role":"user","content":"Hello"}]}')
    return made.done(None)


def rewritten(made: Made) -> Recording:
    """A history that was cut down, many new messages, and an answer that ran into its limit."""
    messages = [user(f"fact {number}") for number in range(12)]
    made.ask(messages, says("ok"))
    cut = completion(says("The facts are")).replace(b'"stop"', b'"length"')
    body = json.dumps({"model": "gpt-5", "messages": [user("all facts"), *messages[9:], user("go on")]}).encode()
    made.http(CHAT, 200, cut, body)
    return made.done()


CASES: Final[dict[str, Callable[[Made], Recording]]] = {
    case.__name__: case for case in (desk, side_by_side, agents, hostile, nothing, killed, rewritten)
}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reenact.report.moment.local", lambda _ns, **_: "2026-11-18 20:26:40")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "desk-7f3a.tape", "desk.py", "--city", "Tromsø")


def printed(recording: Recording, width: int = 100, *, color: bool = False, live: bool = False) -> str:
    found = trajectory(recording)
    run = runs.run(recording, found, live=live)
    return "\n".join(timeline.text(run, found, now=NOW, width=width, paint=Paint(on=color))) + "\n"


def printed_step(recording: Recording, number: int, *, color: bool = False) -> str:
    return "\n".join(steps.text(step_document(recording, number), width=100, paint=Paint(on=color))) + "\n"


def step_document(recording: Recording, number: int) -> steps.StepDocument:
    found = trajectory(recording)
    step = found.steps[number - 1]
    return steps.StepDocument(run=runs.run(recording, found), step=step, given=steps.given(step, found.steps))


def printed_event(recording: Recording, number: int, *, color: bool = False) -> str:
    found = events.document(recording, entry(recording, number), run="desk-7f3a", step=1)
    lanes = {lane.path: lane.name for lane in recording.lanes.values()}
    return "\n".join(events.text(found, cwd="/work", lanes=lanes, width=100, paint=Paint(on=color))) + "\n"


def entry(recording: Recording, number: int) -> Entry:
    found = trajectory(recording)
    entries = [*found.outside, *(one for step in found.steps for one in step.entries)]
    return next(one for one in entries if one.event == number)


def golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("name", CASES)
def test_the_timeline_is_the_golden_one(name: str, made: Made) -> None:
    golden(f"timeline-{name.replace('_', '-')}", printed(CASES[name](made)))


def test_a_step_in_full_is_the_golden_one(made: Made) -> None:
    recording = desk(made)
    golden("step-tools", printed_step(recording, 1))
    golden("step-retry", printed_step(recording, 2))


def test_an_event_byte_for_byte_is_the_golden_one(made: Made) -> None:
    recording = desk(made)
    golden("event-http", printed_event(recording, 1))
    golden("event-sleep", printed_event(recording, 4))


def test_an_event_that_failed_or_is_no_text_is_the_golden_one(made: Made) -> None:
    event = made.begin("GET https://shop.example/picture")
    made.answer(event, 200, bytes(range(256)) * 3, headers=[("content-type", "image/png")], end=False)
    made.part(event, PartKind.FAILURE, failed=Failed("httpx2", "ReadError", ["cut"], {}, REFUSED))
    golden("event-binary", printed_event(made.done(), 0))


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", CASES)
def test_the_timeline_fits_the_terminal(name: str, width: int, made: Made) -> None:
    assert max(map(columns, printed(CASES[name](made), width).split("\n"))) <= width


def test_colours_change_nothing_but_colours(made: Made) -> None:
    recording = desk(made)
    for show in (
        printed,
        lambda tape, **how: printed_step(tape, 1, **how),
        lambda tape, **how: printed_event(tape, 1, **how),
    ):
        assert re.sub(r"\x1b\[\d+m", "", show(recording, color=True)) == show(recording)
    assert "\x1b[31m" in printed(recording, color=True)


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_no_control_character_reaches_the_terminal(name: str, color: bool, made: Made) -> None:
    recording = CASES[name](made)
    shown = [printed(recording, color=color)]
    shown += [printed_step(recording, step.number, color=color) for step in trajectory(recording).steps]
    shown += [printed_event(recording, event.id, color=color) for event in recording.events]
    for text in shown:
        assert re.sub(r"\x1b\[[\d;]+m", "", text).replace("\n", "").isprintable()


def test_a_run_that_goes_on_says_so(made: Made) -> None:
    assert printed(killed(made), live=True).startswith("Run desk-7f3a  still being recorded\n")


@pytest.mark.parametrize("name", CASES)
def test_the_documents_are_json(name: str, made: Made) -> None:
    recording = CASES[name](made)
    found = trajectory(recording)
    run = runs.run(recording, found)
    told = json.loads(document.encode(timeline.Timeline(run=run, steps=found.steps, outside=found.outside)))
    assert set(told) == {"timeline", "run", "steps", "outside", "marks"}
    assert told["run"]["events"] == len(recording.events)
    assert len(told["steps"]) == told["run"]["steps"]
    for step in found.steps:
        assert json.loads(document.encode(step_document(recording, step.number)))["step"]["number"] == step.number
    for event in recording.events:
        one = json.loads(document.encode(events.document(recording, entry(recording, event.id), run="r", step=None)))
        assert one["entry"]["event"] == event.id


def test_the_keys_of_the_json_are_these(made: Made) -> None:
    """They are documented, and users build upon them: a key may come, none may go."""
    recording = desk(made)
    found = trajectory(recording)
    told = json.loads(
        document.encode(timeline.Timeline(run=runs.run(recording, found), steps=found.steps, outside=found.outside))
    )
    assert told["timeline"] == 1
    assert set(told["run"]) >= {
        *("id", "name", "program", "cwd", "python", "reenact", "started", "started_at", "duration", "recording"),
        *("outcome", "exit_status", "error", "steps", "model_calls", "events", "usage", "uncounted", "lanes"),
        *("notes", "digest"),
    }
    assert set(told["steps"][0]) >= {
        *("number", "lane", "provider", "api", "model", "served", "stream", "site", "began", "answered", "ended"),
        *("begins", "news", "tools", "answer", "finish_reason", "complete", "usage", "attempts", "entries"),
    }
    assert set(told["outside"][0]) >= {
        *("event", "lane", "kind", "name", "began", "ended", "status", "sent", "received", "model", "usage"),
        *("value", "trouble", "site"),
    }
    assert told["run"]["program"] == ["python", "desk.py", "--city", "Tromsø"]
    assert told["run"]["usage"]["input"] == 80
    assert told["run"]["notes"][0]["slug"] == "unseen"


def test_a_body_without_its_coding_says_why(made: Made) -> None:
    event = made.begin("GET https://shop.example/x")
    made.answer(event, 200, b"no gzip", headers=[*JSON, ("content-encoding", "gzip")])
    recording = made.done()
    response = events.document(recording, entry(recording, 0), run="r", step=None).response
    assert response is not None
    assert response.body.fault.startswith("gzip: ")
    assert "as it came:)\n  no gzip\n" in printed_event(recording, 0)


def test_frames_of_an_event_stream_are_shown_as_what_they_hold(made: Made) -> None:
    frame = eventstream.event("messageStart", b'{"role":"assistant"}')
    event = made.begin("POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream", b"{}")
    made.answer(event, 200, frame + b"\xff", headers=[("content-type", "application/vnd.amazon.eventstream")])
    assert '  messageStart\n    {\n      "role": "assistant"\n    }\n' in printed_event(made.done(), 0)


# what fills a row to its last column, and what is wider or narrower than a letter is often enough
texts: Final = st.text(max_size=300) | st.lists(
    st.sampled_from(["a", " ", "é", "漢", "e\u0301", "…"]).flatmap(
        lambda letter: st.integers(1, 130).map(letter.__mul__)
    ),
    max_size=6,
).map("".join)


@given(texts, st.integers(40, 120), st.integers(1, 4))
@example("00000000\x1b\x1b\x1b¡\U00011daa\U00018d09", 40, 2)
def test_a_preview_keeps_within_its_rows(text: str, width: int, rows: int) -> None:
    found = preview(text, width, rows)
    assert 1 <= len(found) <= rows
    assert all(columns(row) <= width and row.isprintable() for row in found)


@given(texts, st.integers(1, 120))
def test_what_is_cut_fits(text: str, width: int) -> None:
    cut = clip(plain(text), width)
    assert columns(cut) <= width
    assert cut == plain(text) or (cut.endswith("…") and plain(text).startswith(cut[:-1]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u0301", "a\u0301"),
        ("\U0001f600\ufe0f", "\U0001f600\ufe0f"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + "\\u0301\\u0301"),
        ("a\u3164\u2800b", "a\\u3164\\u2800b"),
        ("x\U000e0141", "x\\U000e0141"),
        ("\x1b[31m\x9b\u202e\u2066", "\\x1b[31m\\x9b\\u202e\\u2066"),
    ],
)
def test_what_nobody_would_see_is_escaped(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert json.loads(document.encode(text)) == text


@pytest.mark.parametrize(
    "deep", ['[[["a"]],' * 50_000 + "0]", "[" * 300 + "]" * 300, ("[" * 200 + "]" * 200 + ",") * 3000]
)
def test_json_that_is_nested_deep_does_not_grow_without_bounds(deep: str) -> None:
    assert len(pretty(f"[{deep.rstrip(',')}]")) < 100 * len(deep)


anything: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=12,
)
messages: Final = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool", "\x1b"]), "content": anything}),
    max_size=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(messages, anything, st.binary(max_size=60), st.sampled_from([200, 404, 0, -7]))
def test_whatever_is_on_tape_is_shown(
    tmp_path_factory: pytest.TempPathFactory, asked: object, answer: object, noise: bytes, status: int
) -> None:
    made = Made(tmp_path_factory.mktemp("tape") / "desk-7f3a.tape")
    for body in (msgspec.json.encode({"messages": asked, "tools": answer}), noise):
        made.http(CHAT, status, msgspec.json.encode({"choices": [{"message": answer}], "usage": answer}), body)
        made.answer(
            made.begin(CHAT, body),
            200,
            noise,
            headers=[("content-encoding", "gzip"), ("content-type", "text/event-stream")],
        )
    recording = made.done()
    text = printed(recording) + "".join(printed_event(recording, event.id) for event in recording.events)
    text += "".join(printed_step(recording, step.number) for step in trajectory(recording).steps)
    assert text.replace("\n", "").isprintable()


def test_marks_that_are_nested_deep_are_told_from_outside(made: Made) -> None:
    mark = -1
    for number in range(3000):
        mark = made.mark(MarkKind.AGENT if number % 100 else MarkKind.STEP, f"level {number}", within=mark)
    made.ask([user("So deep?")], says("Yes"))
    shown = printed(made.done(), 80)
    assert "… and 2,976 more" in shown
    assert max(map(columns, shown.splitlines())) <= 80
