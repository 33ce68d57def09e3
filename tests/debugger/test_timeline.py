"""Moving about in a run: the same moment is the same, forward and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reenact.debugger.timeline import Timeline
from reenact.probe.messages import Break, Moment, Stopped, Stops, Watch
from reenact.tape.reader import read
from tests.runs import Bench

AGENT = """
    import subprocess, sys

    def fetch(n):
        command = [sys.executable, "-S", "-c", f"print({n})"]
        return subprocess.run(command, capture_output=True, text=True).stdout

    def main():
        messages = []
        for n in range(4):
            text = fetch(n)
            messages.append({"n": n, "text": text})
        messages[0]["text"] = "corrupted"
        for n in range(4, 7):
            fetch(n)
        print(messages)

    main()
"""
CORRUPTS = 13  # the line of the program, which begins with an empty one


@pytest.fixture
def timeline(bench: Bench) -> Iterator[Timeline]:
    with Timeline(read(bench.record(AGENT).path)) as timeline:
        yield timeline


def variables(timeline: Timeline) -> dict[str, str]:
    stack = timeline.ask("stack", kind=list[dict[str, object]])
    own = [frame["number"] for frame in stack if str(frame["function"]).endswith(":main")]
    return timeline.ask("locals", own[0], kind=dict[str, str])


def test_goes_to_any_call_in_any_order(timeline: Timeline) -> None:
    seen = {}
    for at in (9, 3, 12, 3, 9, 0):
        told = timeline.seek_call(("0", at))
        assert isinstance(told, Stopped)
        assert told.call == ("0", at)
        found = told.moment, variables(timeline)
        assert seen.setdefault(at, found) == found


def test_a_line_forward_and_a_line_back_are_where_it_was(timeline: Timeline) -> None:
    timeline.seek_call(("0", 5))
    for motion in ("into", "over", "into", "into", "over"):
        before = timeline.moment, variables(timeline), timeline.told
        timeline.forward(Stops("into"))
        assert timeline.moment > before[0]
        timeline.back(Stops("into"))
        told = timeline.told
        assert isinstance(told, Stopped)
        assert isinstance(before[2], Stopped)
        if before[0].line:
            assert (timeline.moment, variables(timeline), told.place) == (before[0], before[1], before[2].place)
        timeline.forward(Stops(motion))  # type: ignore[arg-type]  # one of those


def test_finds_the_line_that_changed_a_value_from_the_end_back(timeline: Timeline) -> None:
    timeline.forward(Stops())
    told = timeline.back(Stops(watches=[Watch("messages[0]", "__main__:main")]))
    assert isinstance(told, Stopped)
    assert told.hit is not None
    assert told.hit.place is not None
    assert (told.hit.why, told.hit.place.line) == ("watch", CORRUPTS)
    assert "corrupted" in told.hit.text
    assert "corrupted" not in variables(timeline)["messages"]  # it is about to be


def test_stops_at_a_breakpoint_whose_condition_holds(timeline: Timeline) -> None:
    told = timeline.forward(Stops(breaks=[Break("agent.py", 12, "n == 2")]))
    assert isinstance(told, Stopped)
    assert told.hit is not None
    assert told.hit.why == "break"
    assert variables(timeline)["n"] == "2"
    there = timeline.moment
    timeline.seek(Moment(1))
    again = timeline.seek(there)
    assert isinstance(again, Stopped)
    assert (again.moment, again.place, variables(timeline)["n"]) == (there, told.place, "2")
