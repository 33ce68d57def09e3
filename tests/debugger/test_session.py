"""What every debugger does: motions, breakpoints, watches and exceptions, each with one clear answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from reenact.debugger.session import Debugger, Stop, Why
from reenact.errors import UsageError
from reenact.probe.messages import Moment
from reenact.tape.reader import read
from tests.debugger.terminal import processes_in
from tests.runs import Bench

AGENT = """\
import subprocess, sys

def fetch(n):
    command = [sys.executable, "-I", "-c", f"print({n})"]
    return subprocess.run(command, capture_output=True, text=True).stdout

def check(text):
    if "5" in text:
        raise ValueError("five")
    return text

def main():
    messages = []
    for n in range(4):
        text = fetch(n)
        messages.append({"n": n, "text": text})
    messages[0]["text"] = "corrupted"
    for n in range(4, 6):
        try:
            check(fetch(n))
        except ValueError:
            pass
    return check("50")

main()
"""
APPENDS, CORRUPTS, RAISES, CALLS = 16, 17, 9, 23


@pytest.fixture
def debugger(bench: Bench) -> Iterator[Debugger]:
    with Debugger(read(bench.record(AGENT).path)) as debugger:
        yield debugger


def line(stop: Stop) -> int:
    return stop.position.place.line if stop.position.place is not None else 0


def variables(debugger: Debugger) -> dict[str, str]:
    return {one.name: one.text for one in debugger.variables()}


def test_both_ends_answer(debugger: Debugger) -> None:
    assert debugger.back().why is Why.BEGIN
    assert (debugger.next().why, line(debugger.next())) == (Why.STEP, 3)
    assert debugger.reverse_next().position.moment == Moment(0, 1)
    assert debugger.reverse_resume().why is Why.BEGIN
    assert debugger.position.moment == Moment()
    assert debugger.resume().why is Why.END
    assert debugger.step().why is Why.END
    assert debugger.position.ended
    with pytest.raises(UsageError, match="go back first"):
        debugger.evaluate("1")
    assert line(debugger.reverse_next()) == RAISES
    assert debugger.to_last().position.moment == debugger.position.moment


def test_a_breakpoint_holds_under_its_condition_and_at_its_count(debugger: Debugger) -> None:
    first = debugger.break_at("agent.py", APPENDS, "n >= 1")
    called = debugger.break_in("check", due="2")
    broken = debugger.break_at("agent.py", APPENDS, "nobody")
    once = debugger.break_at("agent.py", CORRUPTS, once=True)
    stop = debugger.resume()
    assert (stop.numbers, debugger.evaluate("n")) == ((first.number,), "1")
    assert "NameError" in stop.faults[broken.number]
    debugger.breakpoints.get(first.number).enabled = False
    assert debugger.resume().numbers == (once.number,)
    stop = debugger.resume()
    assert (stop.numbers, called.hits, debugger.evaluate("text")) == ((called.number,), 2, "'5\\n'")
    stop = debugger.reverse_resume()
    assert (stop.numbers, debugger.evaluate("text")) == ((called.number,), "'4\\n'")
    debugger.breakpoints.delete(called.number)
    assert debugger.reverse_resume().why is Why.BEGIN


def test_an_exception_is_stood_at_where_it_is_raised(debugger: Debugger) -> None:
    stop = debugger.to_raise()
    assert (stop.why, line(stop), stop.text) == (Why.EXCEPTION, RAISES, "ValueError: 'five'")
    assert variables(debugger) == {"text": "'50'"}
    assert debugger.up().line == CALLS
    debugger.break_at_raise("Exception")
    stop = debugger.reverse_resume()
    assert (line(stop), variables(debugger)) == (RAISES, {"text": "'5\\n'"})
    debugger.breakpoints.clear()
    debugger.break_at_raise("KeyError")
    debugger.break_at_raise(uncaught=True)
    stop = debugger.resume()
    assert (stop.numbers, variables(debugger)) == ((3,), {"text": "'50'"})


def test_tells_when_a_value_changed_in_both_directions(debugger: Debugger) -> None:
    debugger.break_in("check")
    debugger.resume()
    debugger.up()
    stop = debugger.when("messages[0]")
    assert (stop.why, line(stop)) == (Why.WATCH, CORRUPTS)
    assert "corrupted" in stop.text
    assert "corrupted" not in debugger.evaluate("messages")
    debugger.breakpoints.clear()
    debugger.watch("messages[0]['text']")
    stop = debugger.resume()
    assert (stop.numbers, stop.place and stop.place.line, line(stop)) == ((2,), CORRUPTS, CORRUPTS + 1)
    assert debugger.when("nothing").why is Why.NOWHERE
    assert line(stop) == CORRUPTS + 1


def test_a_list_that_is_made_anew_and_is_equal_has_not_changed(bench: Bench) -> None:
    program = """\
def main():
    words = ["a", {"b": 1}]
    for n in range(3):
        words = [dict(one) if one != "a" else one for one in words]
    words.append("end")
    return words

main()
"""
    with Debugger(read(bench.record(program).path)) as debugger:
        debugger.break_at("agent.py", 6)
        debugger.resume()
        stop = debugger.when("words")
        assert (line(stop), stop.text) == (5, "[2] is new: 'end'")
        stop = debugger.when("words")
        assert (line(stop), stop.text) == (2, "nothing → ['a', {'b': 1}]")


def test_what_cannot_be_is_told(debugger: Debugger) -> None:
    with pytest.raises(UsageError, match="has no line of code at 99"):
        debugger.break_at("agent.py", 99)
    with pytest.raises(UsageError, match="no expression"):
        debugger.break_in("check", "1 +")
    with pytest.raises(UsageError, match="no steps"):
        debugger.to_step(1)
    with pytest.raises(UsageError, match="there is no event 99: the run has events 0 to"):
        debugger.to_event(99)
    with pytest.raises(UsageError, match="no function of the program runs here yet"):
        debugger.evaluate("1")


def test_a_process_that_is_killed_is_replaced_where_it_stood(debugger: Debugger, bench: Bench) -> None:
    debugger.break_in("check")
    debugger.resume()
    there = debugger.position
    for pid in processes_in(bench.folder):
        os.kill(pid, signal.SIGKILL)
    stop = debugger.next()
    assert (stop.why, stop.position) == (Why.GONE, there)
    assert debugger.evaluate("text") == "'4\\n'"
    assert line(debugger.next()) == line(stop) + 2
