"""Several steps edited in one fork: the first is where the branch leaves its parent, the others come when it is live."""

from __future__ import annotations

import json
import os
import signal

import pytest

from reenact.tape.event import Giver
from reenact.testing import Call, Fail, ModelServer, Say
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.branch.test_fork import CHAT, LOOKUP, SEVERAL, Counting, fork, made, verified
from tests.branch.test_shown import shown
from tests.runs import Bench, Run, settings


def notes(run: Run) -> list[str]:
    """What its tape says of edits that were not made."""
    return [note.text for note, _ in run.tape.notes if note.slug == "edit"]


def test_answers_of_two_steps(bench: Bench) -> None:
    for name in ("second", "fourth"):
        (bench.folder / name).write_text(f"the {name}, by hand")
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=5), env=settings(server))
        options = ("--step", "2", "--response", "second", "--step", "4", "--response", "fourth")
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
        assert len(server.requests) == 5 + 2
    said = [line.split(" ", 1)[1] for line in branch.text.splitlines()]
    assert said == [
        "answer 1 to question",
        "the second, by hand",
        "answer 6 to question",
        "the fourth, by hand",
        "answer 7 to question",
    ]
    assert branch.tape.given == {1: Giver.PERSON, 3: Giver.PERSON}
    assert b"the fourth, by hand" in branch.tape.body(branch.tape.events[4])
    assert not notes(branch)
    assert shown(branch).count("· answered by hand, and not by the model") == 2


LOOKING = LOOKUP.replace(', "and I had", result)', ")")
CITIES = ("Oslo", "Rome", "Cairo")


def travelling(turn: Turn) -> Reply:
    """A model that looks three cities up, one after the other, and says at the end what it was told."""
    results = [result.text for message in turn.messages for result in message.results]
    if len(results) < len(CITIES):
        return Call("lookup", {"city": CITIES[len(results)]})
    return Say(" | ".join(results))


@pytest.mark.parametrize("is_boundary", [True, False])
def test_results_of_two_steps(bench: Bench, is_boundary: bool) -> None:
    for name in ("first", "third"):
        (bench.folder / name).write_text(f"the {name}, by hand")
    mark = "import reenact\n    @reenact.tool" if is_boundary else ""
    with ModelServer(travelling) as server:
        parent = bench.record(LOOKING.format(mark=mark), env=settings(server))
        options = ("--tool-result", "lookup=first", "--step", "3", "--tool-result", "lookup=third")
        branch = verified(made(bench, fork(bench, "last@1", "--allow", "all", *options, server=server)))
    second = parent.text.split(" | ")[1]
    assert branch.text == f"the first, by hand | {second} | the third, by hand\n"
    assert not notes(branch)


def test_each_call_of_a_tool_has_its_own_result(bench: Bench) -> None:
    for name in ("one", "two"):
        (bench.folder / name).write_text(name)
    twice = "lookup(**json.loads(call.function.arguments)) + lookup(city='Bonn')"
    program = LOOKING.format(mark="import reenact\n    @reenact.tool")
    program = program.replace("lookup(**json.loads(call.function.arguments))", twice)
    with ModelServer(travelling) as server:
        bench.record(program, env=settings(server))
        edits = ("--tool-result", "lookup#2=two", "--tool-result", "lookup#1=one")
        options = ("--allow", "all", "--step", "1", "--step", "2", *edits)
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
    assert branch.text.split(" | ")[1] == "onetwo"
    assert branch.text.count("Bonn") == 2
    assert not notes(branch)


def test_an_answer_and_the_result_of_the_tool_that_it_calls(bench: Bench) -> None:
    (bench.folder / "answer").write_text('@call lookup\n{"city": "Lima"}\n')
    (bench.folder / "result").write_text("a result by hand")
    with ModelServer(travelling) as server:
        bench.record(LOOKING.format(mark=""), env=settings(server))
        options = ("--step", "2", "--response", "answer", "--tool-result", "lookup=result")
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
    assert branch.text.split(" | ")[1] == "a result by hand"
    assert '"Cairo"' in branch.text.split(" | ")[2]
    assert not notes(branch)


def test_another_context_at_a_later_step(bench: Bench) -> None:
    (bench.folder / "patch").write_text(json.dumps([{"op": "replace", "path": "/0/content", "value": "other words"}]))
    (bench.folder / "answer").write_text("by hand")
    with ModelServer(lambda turn: Say(turn.messages[0].text[:11])) as server:
        bench.record(CHAT.format(steps=4), env=settings(server))
        options = ("--step", "1", "--response", "answer", "--step", "3", "--context", "patch")
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
    assert branch.text.splitlines() == ["0 by hand", "1 question 0 ", "2 other words", "3 other words"]
    assert not notes(branch)


def test_what_is_tried_again_is_no_other_step(bench: Bench) -> None:
    """The step after a failure has the number that `show` gives it."""
    (bench.folder / "answer").write_text("by hand")
    failed: list[str] = []

    def model(turn: Turn) -> Reply:
        asked = turn.messages[-1].text
        if "question 1" in asked and len(failed) < 4 and failed.append(asked) is None and len(failed) > 1:
            return Fail(status=429)
        return Say(f"{len(turn.messages)}")

    program = CHAT.format(steps=4).replace("max_retries=0", "max_retries=5")
    with ModelServer(model) as server:
        bench.record(program, env=settings(server))
        options = ("--step", "1", "--step", "4", "--response", "answer")
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
    assert len(failed) == 4, "it was asked three times more"
    assert [line.split(" ", 1)[1] for line in branch.text.splitlines()] == ["1", "3", "5", "by hand"]
    assert not notes(branch)


def test_what_the_branch_does_not_come_to_is_told(bench: Bench) -> None:
    (bench.folder / "end").write_text("that is all")
    (bench.folder / "result").write_text("never told")
    with ModelServer(travelling) as server:
        bench.record(LOOKING.format(mark=""), env=settings(server))
        options = ("--step", "2", "--response", "end", "--step", "3", "--tool-result", "lookup=result")
        done = fork(bench, "last", *options, "--step", "4", "--response", "result", server=server)
        branch = verified(made(bench, done))
    assert branch.text == "that is all\n"
    assert notes(branch) == [
        "another result of lookup at step 3: it came to 2 steps",
        "another answer at step 4: it came to 2 steps",
    ]
    assert b"edits of this branch that were not made:" in done.stderr


def test_an_answer_that_had_been_asked_for_when_it_left(bench: Bench) -> None:
    """Of what was under way in other tasks at the first step, answers can be other, too."""
    (bench.folder / "first").write_text("first by hand")
    (bench.folder / "second").write_text("second by hand")
    with ModelServer(Counting(), chunk_delay=0.01) as server:
        bench.record(SEVERAL, env=settings(server))
        options = ("--step", "2", "--response", "first", "--step", "5", "--response", "second")
        branch = verified(made(bench, fork(bench, "last", *options, server=server)))
    assert "first by hand" in branch.text
    assert "second by hand" in branch.text
    assert sorted(branch.tape.given.values()) == [Giver.PERSON, Giver.PERSON]


def test_edits_that_are_no_edits_are_told(bench: Bench) -> None:
    (bench.folder / "x").write_text("by hand")
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        for options, words in (
            (("--step", "1", "--step", "2"), b"nothing is edited at step 2"),
            (("--step", "1", "--response", "x", "--response", "x"), b"step 1 has 2 other answers"),
            (("--step", "1", "--step", "9", "--response", "x"), b"has no step 9"),
            (("--step", "2", "--step", "3", "--step", "2", "--response", "x"), b"named twice"),
            (("--step", "1", "--step", "2", "--context", "x"), b"patch"),
        ):
            done = fork(bench, "last", *options, server=server)
            assert done.status == 2, (options, done.stderr)
            assert words in done.stderr, (options, done.stderr)
    assert len(bench.store.ids()) == 1


def test_a_branch_that_is_killed_goes_on_as_it_was_edited(bench: Bench) -> None:
    (bench.folder / "answer").write_text("by hand")
    program = CHAT.format(steps=5).replace(
        "messages=history)", 'messages=history, extra_headers={"x-pid": str(os.getpid())})'
    )
    killed: list[int] = []

    def model(turn: Turn) -> Reply:
        if len(server.requests) == 5 + 3 and not killed:
            killed.append(int(dict(turn.request.headers)["x-pid"]))
            os.kill(killed[0], signal.SIGKILL)
        return Say(f"I am {turn.model}")

    with ModelServer(model) as server:
        bench.record(program, env=settings(server))
        options = ("--step", "1", "--model", "gpt-5-mini", "--step", "4", "--response", "answer")
        assert fork(bench, "last", *options, "--name", "child", server=server).status != 0
        done = bench.run("-m", "reenact", "resume", "last", "--retry", env=settings(server))
        branch = verified(made(bench, done))
    assert killed
    assert branch.text.splitlines() == [
        *(f"{at} I am gpt-5-mini" for at in (0, 1, 2)),
        "3 by hand",
        "4 I am gpt-5-mini",
    ]
    sent = [json.loads(body)["model"] for _, _, body in branch.tape.sendings()]
    assert sent == ["gpt-5-mini"] * 4
