"""`reenact diff`: two runs compared, with real programs and by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reenact.report.terminal import columns
from reenact.tape.event import Failed
from reenact.testing import Call, Fail, ModelServer, Say, Script
from reenact.testing.policy import Choice
from tests.cli.desk import Desk
from tests.runs import Bench, settings
from tests.trajectory.made import Made, calls, gave, says, system, user

# What it asks, which tool it has, what that gives back and how it ends are arguments.
AGENT = """
    import json, os, sys, httpx
    given = json.loads(sys.argv[1])
    client = httpx.Client(base_url=os.environ["OPENAI_BASE_URL"])
    tools = [{"type": "function", "function": {"name": "look_up", "description": given.get("tool", "Looks up.")}}]
    def ask(messages):
        asked = {"model": given.get("model", "gpt-5"), "messages": messages, "tools": tools, **given.get("set", {})}
        answer = client.post("/chat/completions", json=asked)
        return answer.json()["choices"][0]["message"] if answer.is_success else {"content": "failed"}
    messages = [{"role": "system", "content": "You keep the books."},
                {"role": "user", "content": given.get("question", "What does Oslo owe?") + (" " + input() if given.get("reads") else "")}]
    while True:
        said = ask(messages)
        messages.append(said)
        for call in said.get("tool_calls") or ():
            if "url" in given:
                httpx.get(os.environ["BASE"] + given["url"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": given.get("result", '{"total": 1234.5}')})
        if not said.get("tool_calls"):
            break
    print(said["content"])
    sys.exit(given.get("status", 0))
"""
ASKS, ANSWERS = Call("look_up", {"invoice": "A-17"}), Say("Oslo owes 1,234.50 EUR.")

OPENAI = """
    import json
    from openai import OpenAI
    client = OpenAI()
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    messages = [{"role": "user", "content": "What does Oslo owe?"}]
    while True:
        said = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            break
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "1234.5"} for call in said.tool_calls]
    print(said.content)
"""
ANTHROPIC = """
    from anthropic import Anthropic
    client = Anthropic()
    tools = [{"name": "look_up", "input_schema": {"type": "object"}}]
    messages = [{"role": "user", "content": "What does Oslo owe?"}]
    while True:
        said = client.messages.create(model="claude-5", max_tokens=100, messages=messages, tools=tools)
        messages.append({"role": "assistant", "content": [block.model_dump() for block in said.content]})
        asked = [block for block in said.content if block.type == "tool_use"]
        if not asked:
            break
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": block.id, "content": "1234.5"} for block in asked]})
    print(said.content[0].text)
"""


def recorded(bench: Bench, given: dict[str, Any], *script: Choice, program: str = AGENT, stdin: str = "") -> str:
    """The id of a run of the agent."""
    with ModelServer(Script(*script)) as server:
        if not stdin:
            return bench.record(program, json.dumps(given), env=settings(server)).path.stem
        desk = Desk(bench.folder)
        desk.write(program)
        before = set(bench.store.ids())
        done = desk.reenact("record", "-q", "agent.py", json.dumps(given), env=settings(server), said=stdin)
        assert done.returncode == 0, done.stderr
        return (set(bench.store.ids()) - before).pop()


def diff(bench: Bench, *words: str) -> tuple[int, dict[str, Any]]:
    done = bench.run("-m", "reenact", "diff", *words, "--json")
    assert done.status in (0, 1), done.stderr.decode()
    return done.status, json.loads(done.stdout)


def told(bench: Bench, *words: str) -> str:
    done = bench.run("-m", "reenact", "diff", *words)
    assert done.status in (0, 1), done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, str]:
    """A run that the others are compared with."""
    bench = Bench(tmp_path_factory.mktemp("base"))
    return bench, recorded(bench, {}, ASKS, ANSWERS)


def test_two_runs_that_do_the_same_are_the_same(base: tuple[Bench, str]) -> None:
    bench, run = base
    other = recorded(bench, {}, ASKS, ANSWERS)
    status, found = diff(bench, run, other)
    assert (status, found["same"], found["first"]) == (0, True, None)
    assert found["counts"] == {"same": 2, "differ": 0, "only_a": 0, "only_b": 0}
    text = told(bench, run, other)
    assert text.startswith(f"{run} and {other} are the same\n")
    assert text.endswith("Steps 1–2 are the same\n")


CASES: dict[str, tuple[dict[str, Any], tuple[Choice, ...], tuple[int | None, int | None], str, str]] = {
    "prompt": ({"question": "What does Bergen owe?"}, (ASKS, ANSWERS), (1, 1), "prompt", "user"),
    "model": ({"model": "gpt-5-mini"}, (ASKS, ANSWERS), (1, 1), "model", ""),
    "parameter": ({"set": {"temperature": 0.5}}, (ASKS, ANSWERS), (1, 1), "parameter", "temperature"),
    "offered": ({"tool": "Finds an invoice."}, (ASKS, ANSWERS), (1, 1), "offered tool", "look_up: description"),
    "arguments": ({}, (Call("look_up", {"invoice": "A-18"}), ANSWERS), (1, 1), "tool arguments", "look_up"),
    "call": ({}, (Call("search", {"invoice": "A-17"}), ANSWERS), (1, 1), "tool call", "look_up"),
    "result": ({"result": '{"total": 1243.5}'}, (ASKS, ANSWERS), (2, 2), "tool result", "look_up"),
    "answer": ({}, (ASKS, Say("Oslo owes 1,243.50 EUR.")), (2, 2), "answer", ""),
    "a step more": ({}, (ASKS, ASKS, ANSWERS), (None, 2), "step", ""),
    "a step less": ({}, (ANSWERS,), (2, None), "step", ""),
    "error": ({}, (ASKS, Fail(500, message="out of order", should_retry=False)), (2, 2), "error", ""),
    "event": ({"url": "/orders/17"}, (ASKS, ANSWERS), (1, 1), "event", ""),
    "outcome": ({"status": 3}, (ASKS, ANSWERS), (None, None), "outcome", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_difference_is_named(base: tuple[Bench, str], case: str) -> None:
    given, script, places, sort, name = CASES[case]
    bench, run = base
    status, found = diff(bench, run, recorded(bench, given, *script))
    assert (status, found["same"]) == (1, False)
    first = found["first"]
    if case == "a step less":  # that the answer is another one comes first, or that a step is missing: both are so
        assert first["difference"]["sort"] in ("tool call", "answer", "step")
        assert found["counts"]["only_a"] == 1
        return
    assert (first["a"], first["b"]) == places
    assert (first["difference"]["sort"], first["difference"]["name"]) == (sort, name)
    text = told(bench, run, "last")
    assert text.startswith(f"{run} and ")
    assert " differ, first " in text.partition("\n\n")[0].replace("\n", " ")


def test_what_standard_input_said_comes_before_all_steps(base: tuple[Bench, str]) -> None:
    bench, _ = base
    one, other = (recorded(bench, {"reads": True}, ASKS, ANSWERS, stdin=f"{word}\n") for word in ("now", "then"))
    _, found = diff(bench, one, other)
    assert found["first"]["difference"]["sort"] == "input"
    assert found["first_said"]["difference"]["sort"] == "input"
    assert [one["sort"] for pair in found["steps"] for one in pair["differences"] if one["matters"]] == ["prompt"]


def test_a_difference_is_told_by_words_and_by_json_pointer(base: tuple[Bench, str]) -> None:
    bench, run = base
    script = Call("look_up", {"invoice": "A-18"}), Say("Oslo owes 980 EUR.")
    text = told(bench, run, recorded(bench, {"result": '{"total": 980}'}, *script))
    assert "  ≠ tool arguments of look_up\n    /invoice\n      - A-17\n      + A-18\n" in text
    assert "  ≠ tool result of look_up\n    /total\n      - 1234.5\n      + 980\n" in text
    assert "  ≠ answer\n      - Oslo owes 1,234.50 EUR.\n" in text
    assert "  ≠ output (stdout)\n" in text


def test_a_setting_is_told_where_it_first_differs_and_what_was_said_otherwise_apart(base: tuple[Bench, str]) -> None:
    bench, run = base
    status, found = diff(bench, run, recorded(bench, {"model": "gpt-5-mini"}, ASKS, Say("Oslo owes nothing.")))
    assert status == 1
    assert (found["first"]["difference"]["sort"], found["first_said"]["difference"]["sort"]) == ("model", "answer")
    sorts = [[one["sort"] for one in pair["differences"] if one["matters"]] for pair in found["steps"]]
    assert sorts == [["model"], ["answer"]]


def test_times_and_ids_of_a_run_do_not_matter_and_other_dates_do(bench: Bench) -> None:
    program = """
        import datetime, os, sys, uuid, httpx
        asked = f"Now it is {datetime.datetime.now().isoformat()}, request {uuid.uuid4()}, at {object()}, in {os.getcwd()}"
        asked += f"; the meeting is on {sys.argv[1]}"
        httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json={"model": "gpt-5", "messages": [{"role": "user", "content": asked}]})
        print("asked at", datetime.datetime.now())
    """
    runs = []
    for day in ("2031-02-03", "2031-02-03", "2031-02-04"):
        with ModelServer(Script(Say("Fine."))) as server:
            runs.append(bench.record(program, day, env=settings(server)).path.stem)
    status, found = diff(bench, runs[0], runs[1])
    assert (status, found["same"]) == (0, True), found["first"]
    assert [(one["sort"], one["matters"]) for one in found["steps"][0]["differences"]] == [("prompt", False)]
    assert "but for what does not matter in 1" in told(bench, runs[0], runs[1])
    status, found = diff(bench, runs[0], runs[2])
    assert (status, found["first"]["difference"]["sort"]) == (1, "prompt")


def test_providers_are_compared_by_what_is_meant(bench: Bench) -> None:
    one = recorded(bench, {}, ASKS, ANSWERS, program=OPENAI)
    other = recorded(bench, {}, ASKS, ANSWERS, program=ANTHROPIC)
    _, found = diff(bench, one, other)
    sorts = {one["sort"] for pair in found["steps"] for one in pair["differences"] if one["matters"]}
    assert sorts == {"model", "provider"}
    assert found["first_said"] is None
    third = recorded(bench, {}, ASKS, Say("Oslo owes 980 EUR."), program=ANTHROPIC)
    _, found = diff(bench, one, third)
    assert (found["first_said"]["a"], found["first_said"]["difference"]["sort"]) == (2, "answer")


def test_runs_in_code_and_tapes_elsewhere_can_be_compared(bench: Bench, tmp_path: Path) -> None:
    program = """
        import sys, reenact
        @reenact.record
        def answer(question):
            return {"said": question.upper()}
        answer(sys.argv[1])
    """
    for word in ("one", "two"):
        assert bench.plain(program, word).status == 0
    one, other = bench.store.ids()
    elsewhere = tmp_path / "elsewhere" / "kept.tape"
    elsewhere.parent.mkdir()
    bench.store.path(one).rename(elsewhere)
    status, found = diff(bench, str(elsewhere), other)
    assert status == 1
    assert [(one["sort"], one["name"]) for one in found["end"]] == [("outcome", "result")]
    assert found["end"][0]["changes"][0]["pointer"] == "/said"
    assert "arguments" in found["given"]


def test_an_imported_cassette_is_compared_with_a_run(bench: Bench) -> None:
    run = recorded(bench, {}, ASKS, ANSWERS)
    events = json.loads(bench.run("-m", "reenact", "show", run, "--json").stdout)
    entries = []
    for step in events["steps"]:
        event = json.loads(
            bench.run("-m", "reenact", "show", run, "--event", str(step["attempts"][0]), "--json").stdout
        )
        method, _, url = event["entry"]["name"].partition(" ")
        asked = {
            "method": method,
            "url": url,
            "headers": [],
            "postData": {"mimeType": "application/json", "text": event["request"]["body"]["text"]},
        }
        answered = {"status": 200, "statusText": "OK", "headers": [{"name": "content-type", "value": "application/json"}],
                    "content": {"mimeType": "application/json", "text": event["response"]["body"]["text"]}}  # fmt: skip
        entries.append({"request": asked, "response": answered, "startedDateTime": "2026-01-01T00:00:00Z", "time": 5})
    (bench.folder / "kept.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    done = bench.run("-m", "reenact", "import", "kept.har")
    assert done.status == 0, done.stderr
    _, found = diff(bench, run, "kept")
    assert found["counts"] == {"same": 2, "differ": 0, "only_a": 0, "only_b": 0}
    assert {one["sort"] for one in found["end"]} == {"output"}


# By hand


@pytest.fixture
def made(desk: Desk) -> Callable[[str], Made]:
    """Makes a tape in the store of the desk."""
    return lambda name: Made(desk.folder / ".reenact" / f"{name}.tape")


def test_a_step_can_be_seen_in_full(desk: Desk, made: Callable[[str], Made]) -> None:
    for name, word in (("one-0001", "old"), ("two-0002", "new")):
        tape = made(name)
        history = [system("You work."), user("Begin.")]
        tape.ask(history, calls(c1={"order": "17"}))
        order = {"lines": [{"number": number, "text": f"{word} {number}"} for number in range(9)]}
        tape.ask([*history, calls(c1={"order": "17"}), gave("c1", json.dumps(order))], says("Done."))
        tape.done()
    short = desk.reenact("diff", "one", "two").stdout
    assert "… and 5 more; --step shows all of a step" in short
    for words in (("one@2", "two"), ("one", "two", "--step", "2")):
        done = desk.reenact("diff", *words)
        assert done.returncode == 1
        assert done.stdout.count("/lines/") == 9
        assert "Step 1 " not in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one", "nobody"), "no run 'nobody'"),
        (("one", "two", "--step", "5"), "there is no step 5: one-0001 has step 1 only"),
        (("one@1", "two", "--step", "2"), "already names a step"),
        (("one",), "Missing argument 'B'"),
    ],
)
def test_misuse_is_told(desk: Desk, made: Callable[[str], Made], words: tuple[str, ...], message: str) -> None:
    for name in ("one-0001", "two-0002"):
        tape = made(name)
        tape.ask([user("Hello")], says("Hello."))
        tape.done()
    done = desk.reenact("diff", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_it_fits_the_terminal_and_obeys_nobody(desk: Desk, made: Callable[[str], Made]) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 \u202egnorw " + "日本語の長い文章です。" * 9
    for name, word in (("one-0001", "old"), ("two-0002", "new")):
        tape = made(name)
        tape.ask([user(f"{evil} {word}")], calls(c1={evil: word}))
        tape.ask([user(evil)], says(f"{word} {evil} " * 20), line=8)
        tape.ask([user(f"{word} only {name}")], 429)
        tape.http(f"GET https://shop.example/{word}/{'x' * 200}", 200)
        tape.note("fault", evil, 3)
        tape.done(1, Failed("builtins", "ValueError", [f"{evil} {word}"], {}))
    status, screen = desk.at_terminal("diff", "one", "two", env={"COLUMNS": "80"})
    assert status == 1
    lines = re.sub(r"\x1b\[[\d;]+m", "", screen).splitlines()
    assert all(line.isprintable() for line in lines)
    assert max(map(columns, lines)) <= 80
    assert "\x1b[" in screen
    piped = desk.reenact("diff", "one", "two")
    assert "\x1b" not in piped.stdout
    assert max(map(columns, piped.stdout.splitlines())) <= 100
    assert "\x1b" not in desk.reenact("diff", "one", "two", "--json").stdout
