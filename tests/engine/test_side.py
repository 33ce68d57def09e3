"""Side traffic: what is on the list, which lanes are beside the run, and what a boundary makes of them."""

from __future__ import annotations

import importlib.util
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine.boundary import Boundary
from reenact.engine.divergence import What
from reenact.engine.plan import replay
from reenact.engine.side.shipped import PATTERNS, SENDERS
from reenact.engine.side.traffic import Pattern, SideTraffic
from reenact.errors import UsageError
from reenact.launch.settings import Settings
from reenact.tape.event import Expired, Kind, PartKind, Stream
from reenact.tape.recording import Recording
from tests.engine.playbook import PASSES, Journal, Playbook, asks, refuses, serves

ROOT = Path(__file__).parents[2]

# The list


@pytest.mark.parametrize(
    ("pattern", "request_line", "host"),
    [
        ("t.example.com/v1/*", "POST https://t.example.com/v1/track?key=1", "t.example.com"),
        ("t.example.com/v1/*", "PUT http://T.example.com:8080/v1/a/b", "T.example.com:8080"),
        ("t.example.com/v1/*", "GET https://t.example.com/v1/track", None),
        ("t.example.com/v1/*", "POST https://t.example.com/v2/track", None),
        ("t.example.com/v1/*", "POST https://t.example.com.evil.com/v1/track", None),
        ("t.example.com/v1/*", "POST https://evil.com/t.example.com/v1/track", None),
        ("t.example.com/batch", "POST https://t.example.com/batch/", "t.example.com"),
        ("t.example.com/batch", "POST https://t.example.com/batches", None),
        ("t.example.com/a.b", "POST https://t.example.com/axb", None),
        ("t.example.com", "POST https://t.example.com", "t.example.com"),
        ("t.example.com", "PATCH https://user:password@t.example.com/any/thing", "t.example.com"),
        ("t.example.com:4318/v1/traces", "POST http://t.example.com:4318/v1/traces", "t.example.com:4318"),
        ("t.example.com:443/v1/traces", "POST https://t.example.com/v1/traces", "t.example.com"),
        ("t.example.com:4318/v1/traces", "POST http://t.example.com:4319/v1/traces", None),
        ("*.example.com/e", "POST https://eu.t.example.com/e", "eu.t.example.com"),
        ("*.example.com/e", "POST https://example.com/e", None),
        ("*:4318/v1/logs", "POST http://[::1]:4318/v1/logs", "[::1]:4318"),
        ("[::1]/v1/logs", "POST http://[::1]:4318/v1/logs", "[::1]:4318"),
        ("GET t.example.com/seen", "GET https://t.example.com/seen", "t.example.com"),
        ("GET t.example.com/seen", "POST https://t.example.com/seen", None),
        ("t.example.com", "POST http://[broken/", None),
    ],
)
def test_a_pattern_fits(pattern: str, request_line: str, host: str | None) -> None:
    assert SideTraffic([pattern]).host(request_line) == host


def test_of_the_patterns_that_fit_the_last_one_decides() -> None:
    side = SideTraffic(["a.com", "!a.com/own/*", "a.com/own/but", "HEAD a.com/ping", "b.com", "!b.com"])
    assert side.host("POST https://a.com/any") == "a.com"
    assert side.host("POST https://a.com/own/x") is None
    assert side.host("POST https://a.com/own/but") == "a.com"
    assert side.host("POST https://b.com/any") is None
    assert SideTraffic(["HEAD a.com/ping", "!*"]).host("HEAD https://a.com/ping") is None


@pytest.mark.parametrize(
    "wrong", ["", "!", "https://a.com/x", "/v1/traces", "a.com:port/x", "a.*.com/x", "post a.com/x", "a.com/x?y=1"]
)
def test_a_wrong_pattern_is_told_by_name(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"side-traffic: .* is no pattern"):
        _ = Settings(ROOT, {"side-traffic": [wrong]}).side_traffic


@pytest.mark.parametrize("wrong", ["a.com", [1], {"a": "b"}])
def test_what_is_no_list_of_patterns_is_told(wrong: object) -> None:
    with pytest.raises(UsageError, match="must be a list of texts"):
        _ = Settings(ROOT, {"side-traffic": wrong}).side_traffic


def test_the_projects_own_come_after_the_shipped_ones() -> None:
    assert Settings(ROOT, {"side-traffic": ["a.com"]}).side_traffic == [*PATTERNS, "a.com"]
    assert Settings().side_traffic == [*PATTERNS]


@pytest.mark.parametrize(
    "sent",
    [
        "POST https://api.openai.com/v1/traces/ingest",
        "POST https://api.smith.langchain.com/runs/multipart",
        "POST https://eu.api.smith.langchain.com/runs/batch",
        "PATCH https://api.smith.langchain.com/runs/0b1c",
        "POST https://us.i.posthog.com/batch/",
        "POST https://os-api.agno.com/telemetry/runs",
        "POST https://telemetry.crewai.com:4319/v1/traces",
        "POST http://localhost:4318/v1/traces",
        "POST https://us.cloud.langfuse.com/api/public/otel/v1/traces",
        "POST https://http-intake.logs.us5.datadoghq.com/api/v2/logs",
        "PUT http://localhost:8126/v0.4/traces",
        "POST https://o4504.ingest.us.sentry.io/api/4505/envelope/",
        "HEAD https://huggingface.co/api/telemetry/smolagents",
    ],
)
def test_what_is_shipped_has_the_telemetry_of_well_known_libraries(sent: str) -> None:
    assert SideTraffic(PATTERNS).host(sent) is not None


@pytest.mark.parametrize(
    "own",
    [
        "POST https://api.openai.com/v1/responses",
        "GET https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
        "GET https://api.smith.langchain.com/info",
        "POST https://api.smith.langchain.com/runs/query",
        "POST https://gateway.smith.langchain.com/v1/chat/completions",
        "POST https://us.i.posthog.com/flags/?v=2",
        "POST https://us.i.posthog.com/decide/",
        "GET https://huggingface.co/api/models/gpt2",
        "GET https://cloud.langfuse.com/api/public/v2/prompts/greeting",
        "POST https://sentry.io/api/0/projects/",
        "POST https://logs.example.com/v1/logs",
        "POST https://app.crewai.com/crewai_plus/api/v1/tracing/batches",
    ],
)
def test_what_a_program_uses_the_answer_of_is_not_on_it(own: str) -> None:
    assert SideTraffic(PATTERNS).host(own) is None


def test_the_page_about_side_traffic_shows_the_list() -> None:
    spec = importlib.util.spec_from_file_location("write_side_page", ROOT / "docs" / "write_side_page.py")
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    text = writer.PAGE.read_text(encoding="utf-8")
    assert text == writer.page(), "run: ./task docs"
    assert all(f"| {sender.name} |" in text for sender in SENDERS)


# Lanes beside the run


def journal() -> Journal:
    """Main asks; `0.1` posts on a timer; `0.1.1` is born of that and sleeps; `0.2` sleeps; `0.3` does both things."""
    made = Journal()
    made.exchange("POST /a")
    made.add(Expired(made.lane("0.1")))
    made.aside(PartKind.HEAD, PartKind.CHUNK, PartKind.CLOSED, lane="0.1")
    for lane in ("0.1", "0.1.1", "0.2"):
        made.got(made.asked("sleep 1", lane=lane, kind=Kind.SLEEP), PartKind.VALUE)
    made.wrote(b"it is sent\n", Stream.STDERR, lane="0.1")
    made.aside(PartKind.FAILURE, lane="0.3")
    made.exchange("POST /b", lane="0.3")
    made.aside(lane="0.3")
    return made


def beside(tape: Recording) -> set[str]:
    return {path for path, lane in tape.lanes.items() if lane.beside}


def test_a_lane_with_nothing_but_side_traffic_is_beside_the_run_and_what_was_born_of_it() -> None:
    assert beside(journal().ended()) == {"0.1", "0.1.1"}


def test_a_lane_whose_children_send_is_beside_the_run_unless_one_of_them_does_more() -> None:
    made = Journal()
    for path in ("0", "0.1", "0.1.1", "0.1.2", "0.2", "0.2.1", "0.2.2"):
        made.lane(path)
    made.aside(PartKind.HEAD, lane="0.1.2")
    made.aside(PartKind.HEAD, lane="0.2.1")
    made.exchange("POST /b", lane="0.2.2")
    assert beside(made.ended()) == {"0.1", "0.1.1", "0.1.2", "0.2.1"}


def test_main_and_who_prints_are_never_beside_the_run() -> None:
    made = Journal()
    made.aside(PartKind.HEAD)
    made.aside(PartKind.HEAD, lane="0.1")
    made.wrote(b"the result\n", lane="0.1")
    assert beside(made.ended()) == set()


def test_the_ticks_of_side_traffic_are_passable_and_all_of_a_lane_beside_the_run() -> None:
    tape = journal().ended()
    kinds = [type(tape.ticks[tick]).__name__ for tick in sorted(tape.passable)]
    assert kinds == ["Expired", "AsidePart", "AsidePart", "Part", "Part", "AsidePart"]
    assert {event.lane for event in tape.compared} == {"0", "0.2", "0.3"}
    assert tape.output == 0
    assert tape.side_traffic == {"telemetry": 3}


def test_such_a_lane_may_sleep_as_it_likes_and_nobody_misses_it() -> None:
    playbook = Playbook(Boundary(replay(journal().ended())))
    for lane in ("0.1", "0.1.1", "0.1.7", "0.1.1.4"):
        playbook >> asks("sleep 5", lane=lane, kind=Kind.SLEEP) << PASSES
    assert playbook.boundary.wrote("0.1", Stream.STDERR, b"something else", None) is None
    assert {found.lane for found in playbook.boundary.left()} == {"0", "0.2", "0.3"}


def test_such_a_lane_makes_no_request_of_the_agents_own() -> None:
    playbook = Playbook(Boundary(replay(journal().ended())))
    playbook >> asks("POST /model", lane="0.1") << refuses(What.EXTRA)
    playbook >> asks("POST /model", lane="0.1.7") << refuses(What.EXTRA)


def test_other_lanes_are_compared_although_they_make_such_requests_too() -> None:
    boundary = Boundary(replay(journal().ended()))
    first, none = boundary.aside("0.3"), boundary.aside("0.3")
    assert first is not None
    assert [part.kind for _, part in first.parts] == [PartKind.FAILURE]
    assert none is None, "the other comes after the exchange"
    Playbook(boundary) >> asks("POST /b", lane="0.3") << serves(4)
    second = boundary.aside("0.3")
    assert second is not None
    assert second.parts == []
    assert boundary.aside("0.3") is None
    assert boundary.aside("0.9") is None


def test_a_request_that_was_not_made_again_is_passed_over() -> None:
    boundary = Boundary(replay(journal().ended()))
    Playbook(boundary) >> asks("POST /b", lane="0.3") << serves(4)
    second = boundary.aside("0.3")
    assert second is not None
    assert second.parts == [], "the one before the exchange is past"


def test_a_pattern_of_many_stars_takes_no_time() -> None:
    began = time.perf_counter()
    pattern = Pattern.parse("h" + "/a*" * 40 + "b")
    assert not pattern.fits("POST", "h", None, "/a" * 4000)
    assert pattern.fits("POST", "h", None, "/a" * 4000 + "b")
    assert time.perf_counter() - began < 1


@given(st.text("ab*/", max_size=8), st.text("ab/", max_size=12))
def test_stars_stand_for_anything(path: str, asked: str) -> None:
    meant = ".*".join(map(re.escape, f"/{path}".rstrip("/").split("*"))) + "/?"
    fits = Pattern.parse(f"h/{path}").fits("POST", "h", None, asked)
    assert fits == (re.fullmatch(meant, asked) is not None)
