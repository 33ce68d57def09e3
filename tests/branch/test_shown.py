"""`reenact show` of a branch: where it leaves its parent, and what was sent in the place of what was asked."""

from __future__ import annotations

import json

from reenact.testing import ModelServer, Say
from tests.branch.test_fork import CHAT, fork, made
from tests.runs import Bench, Run, settings


def shown(run: Run, *options: str) -> str:
    """What `reenact show` prints of it."""
    done = run.bench.run("-m", "reenact", "show", run.path.stem, *options)
    assert done.status == 0, done.stderr.decode()
    return done.stdout.decode()


def test_what_was_sent_in_the_place_of_a_request_is_shown(bench: Bench) -> None:
    with (
        ModelServer(lambda turn: Say(f"I am {turn.model}")) as server,
        ModelServer(lambda _: Say("elsewhere")) as other,
    ):
        parent = bench.record(CHAT.format(steps=3), env=settings(server))
        options = ("--model", "gpt-5-mini", "--live-endpoint", other.openai)
        branch = made(bench, fork(bench, "last@2", *options, server=server))
        url = f"POST {other.openai}/chat/completions"
    first, own = shown(branch).split(f"── here it leaves {parent.path.stem} at step 2: asked of gpt-5-mini\n")
    assert "sent" not in first.partition("Step 1")[2]
    assert own.count(f"· sent as    {url}\n") == own.count("· sent with  /model: gpt-5 became gpt-5-mini\n") == 2
    assert "here it leaves" not in shown(parent)

    step = shown(branch, "--step", "2")
    assert f"Sent in its place\n  {url}\n  /model\n    - gpt-5\n    + gpt-5-mini\n" in step.replace("^", "")
    whole = json.loads(shown(branch, "--json"))
    assert (whole["run"]["inherited"], whole["run"]["parent_step"]) == (2, 2)
    entries = [entry for one in whole["steps"] for entry in one["entries"]]
    assert entries[0]["sent_as"] is None
    for entry in entries[1:]:
        assert entry["sent_as"]["name"] == url
        assert [change["pointer"] for change in entry["sent_as"]["changes"]] == ["/model"]
        event = json.loads(shown(branch, "--event", str(entry["event"]), "--json"))
        assert json.loads(event["sent"]["text"])["model"] == "gpt-5-mini"
        assert json.loads(event["request"]["body"]["text"])["model"] == "gpt-5"
    assert f"Sent in its place\n  {url}\n" in shown(branch, "--event", "1")


def test_a_branch_without_a_step_is_parted_where_its_own_begins(bench: Bench) -> None:
    with ModelServer(lambda _: Say("fair")) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        program = bench.folder / "agent.py"
        program.write_text(program.read_text().replace('"content": said}', '"content": said.upper()}'))
        branch = made(bench, fork(bench, "last", "--code", server=server))
    first, own = shown(branch).split("── here it leaves ")
    assert ("Step 1" in first, "Step 2" in first, "Step 2" in own) == (True, False, True)


def test_steps_stand_in_the_order_in_which_they_were_asked(bench: Bench) -> None:
    """Also where the first of all is asked again, after which time goes on."""
    with ModelServer(lambda _: Say("fair")) as server:
        parent = bench.record(CHAT.format(steps=2), env=settings(server))
        branch = made(bench, fork(bench, "last@1", server=server))
    assert branch.tape.events[1].at > branch.tape.events[0].at
    assert shown(branch).index("question 0") < shown(branch).index("question 1")
    same = bench.run("-m", "reenact", "diff", parent.path.stem, branch.path.stem)
    assert same.status == 0, same.stdout.decode()
