"""One word of a prompt is changed after the recording: verify names the step, the line and the word."""

from __future__ import annotations

from pathlib import Path

import pytest

from reenact.testing import Call, ModelServer, Reply, Say, Turn
from tests.runs import Bench, Run, settings

PROGRAM = """
    import json
    from openai import OpenAI

    TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    client = OpenAI()
    history = [{"role": "system", "content": "You plan trips."}]

    def ask(text):
        history.append({"role": "user", "content": text})
        while True:
            answer = client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message
            history.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                print(answer.content)
                return
            for call in answer.tool_calls:
                history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps({"sunny": True})})

    ask("Where should I go in May?")
    ask("Is the weather good there for long walks?")
    ask("Then book a small hotel for three nights near the harbour, please.")
    ask("Thank you.")
"""
LINE = 12  # of the call that sends the history
STEP = 4  # the second question took two steps: the call of the tool, and the answer


def policy(turn: Turn) -> Reply:
    return (
        Call("weather", {"city": "Bergen"})
        if "weather" in turn.prompt and not turn.results
        else Say(f"Yes, {turn.index}.")
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    bench = Bench(tmp_path_factory.mktemp("changed"))
    with ModelServer(policy) as server:
        run = bench.record(PROGRAM, env=settings(server))
    assert run.verify().passed
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("small hotel", "cheap hotel"))
    return run


def test_verify_names_the_step_the_line_and_the_word(run: Run) -> None:
    verified = run.verify()
    assert (verified.status, verified.document["verdict"]) == (1, "diverged")
    first = verified.divergences[0]
    assert (first["what"], first["step"], first["lane"]) == ("mismatch", STEP, "0")
    assert (Path(first["site"]["file"]).name, first["site"]["line"]) == ("agent.py", LINE)
    assert first["site"]["source"].startswith("answer = client.chat.completions.create(")
    (change,) = first["changes"]
    pieces = [(piece["mark"], piece["text"]) for hunk in change["hunks"] for piece in hunk["pieces"]]
    assert change["pointer"] == "/messages/7/content"
    assert [piece for piece in pieces if piece[0] != "same"] == [("removed", "small"), ("added", "cheap")]
    assert first["cause"]["slug"]


def test_the_report_for_people_says_the_same(run: Run) -> None:
    done = run.bench.run("-m", "reenact", "verify", "last")
    told = done.stdout.decode()
    assert done.status == 1
    assert f"step {STEP}" in told
    assert f"agent.py:{LINE}" in told
    assert "/messages/7/content" in told
    removed, added = (next(line for line in told.splitlines() if line.strip().startswith(mark)) for mark in "-+")
    assert "small" in removed
    assert "cheap" in added
    assert "\x1b" not in told


def test_replay_stops_there_and_makes_no_further_call(run: Run) -> None:
    done = run.replay()
    assert done.status == 1
    assert done.stdout.count(b"Yes, ") == 2
    assert b"cheap" in done.stderr


def test_an_agent_that_swallows_the_difference_fails_all_the_same(bench: Bench) -> None:
    program = """
        import httpx, os
        for word in ("one", "two", "three"):
            try:
                body = {"model": "m", "messages": [{"role": "user", "content": word}]}
                httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
            except BaseException:
                pass
        print("done")
    """
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("two", "too"))
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["what"] == "mismatch"


def test_an_agent_that_stops_early_fails(bench: Bench) -> None:
    program = """
        import httpx, os
        for word in ("one", "two", "three"):
            body = {"model": "m", "messages": [{"role": "user", "content": word}]}
            httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
    """
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace(', "three"', ""))
    verified = run.verify()
    assert verified.status == 1
    assert [one["what"] for one in verified.divergences] == ["missing"]
    assert verified.boundaries == (3, 2, 2)


def test_observe_goes_on_and_lists_every_difference(bench: Bench) -> None:
    program = """
        import httpx, os
        for word in ("one", "two", "three", "four"):
            body = {"model": "m", "messages": [{"role": "user", "content": word}]}
            httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)
    """
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("two", "too").replace("four", "for"))
    verified = run.verify("--observe")
    assert verified.status == 1
    assert [(one["what"], one["event"]) for one in verified.divergences] == [("mismatch", 1), ("mismatch", 3)]
    assert verified.boundaries == (4, 4, 2)
