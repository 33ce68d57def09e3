"""`reenact show`: what a run did, at a terminal, in a pipe, and as JSON."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from reenact.tape.event import MarkKind
from reenact.testing import Call, ModelServer, Say, Script
from tests.cli.desk import Desk
from tests.trajectory.made import Made, says, user

AGENT = """
    import os, httpx
    client = httpx.Client(base_url=os.environ["URL"])
    def ask(messages):
        answer = client.post("/chat/completions", json={"model": "gpt-5", "messages": messages, "tools": []})
        return answer.json()["choices"][0]["message"]
    messages = [{"role": "user", "content": "Is it raining in Oslo?"}]
    said = ask(messages)
    messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "7 degrees, rain"}]
    print(ask(messages)["content"])
"""

URLLIB = """
    import json, os, urllib.request
    URL = os.environ["URL"] + "/chat/completions"
    def ask(messages):
        body = json.dumps({"model": "gpt-5", "messages": messages}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer sk-secret"}
        with urllib.request.urlopen(urllib.request.Request(URL, body, headers)) as answer:
            return json.load(answer)["choices"][0]["message"]
    messages = [{"role": "user", "content": "Is it raining in Oslo?"}]
    said = ask(messages)
    messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "7 degrees, rain"}]
    print(ask(messages)["content"])
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with a recording of AGENT."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    (desk.folder / ".reenact").mkdir()
    desk.write(AGENT)
    with ModelServer(Script(Call("weather", {"city": "Oslo"}), Say("Yes, take a coat."))) as server:
        done = desk.reenact("record", "agent.py", env={"URL": server.openai})
    assert done.stdout == "Yes, take a coat.\n"
    return desk


@pytest.fixture
def made(desk: Desk) -> Made:
    """A tape written by hand, in the store of the desk."""
    return Made(desk.folder / ".reenact" / "desk-7f3a.tape")


def test_a_run_is_told_step_by_step(recorded: Desk) -> None:
    done = recorded.reenact("show", "last")
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\d+ ms|\+?\d+\.\d+ s\b", "TIME", done.stdout)
    assert re.match(r"Run agent-[0-9a-f]{4}  ok\n  program   python agent.py   \(Python 3", text)
    assert re.search(r"^  holds     2 steps, 2 events   \d+ tokens in, \d+ out$", text, re.MULTILINE)
    said = re.findall(r"^(?:Step \d|  [→←] \w+).*$", text, re.MULTILINE)
    assert [re.sub(r" {2,}", "  ", re.sub(r"\d+ tokens in, \d+ out", "TOKENS", line)) for line in said] == [
        "Step 1  TIME  TIME  gpt-5  TOKENS  agent.py:5",
        "  → user  Is it raining in Oslo?",
        '  ← call  weather(city="Oslo")',
        "Step 2  TIME  TIME  gpt-5  TOKENS  agent.py:5",
        "  → tool  weather: 7 degrees, rain",
        "  ← text  Yes, take a coat.",
    ]


@pytest.mark.parametrize("words", [("last@1",), ("last", "--step", "1"), ("last@1", "--step", "1")])
def test_a_step_is_told_in_full_with_what_its_tools_gave(recorded: Desk, words: tuple[str, ...]) -> None:
    done = recorded.reenact("show", *words)
    assert done.returncode == 0
    assert done.stdout.startswith("Step 1 of agent-")
    assert "  calls weather  call_" in done.stdout
    assert (
        '    {\n      "city": "Oslo"\n    }\n    gave, as step 2 tells the model:\n      7 degrees, rain\n'
        in done.stdout
    )


def test_an_event_is_told_byte_for_byte(recorded: Desk) -> None:
    done = recorded.reenact("show", "last", "--event", "1")
    assert done.returncode == 0
    assert done.stdout.startswith("Event 1  POST http://127.0.0.1:")
    assert "  step      2\n" in done.stdout
    assert "  HTTP/1.1 200 OK\n" in done.stdout
    assert '        "content": "Yes, take a coat."' in done.stdout.replace("  ", "  ")
    assert re.search(r"^  after \d+ ms +head of the answer$", done.stdout, re.MULTILINE)


def test_json_holds_the_same(recorded: Desk) -> None:
    whole = json.loads(recorded.reenact("show", "last", "--json").stdout)
    assert [step["number"] for step in whole["steps"]] == [1, 2]
    assert whole["steps"][1]["answer"]["parts"] == [{"part": "text", "text": "Yes, take a coat."}]
    assert whole["outside"] == []
    step = json.loads(recorded.reenact("show", "last@1", "--json").stdout)
    assert step["step"] == whole["steps"][0]
    assert [one["step"] for one in step["given"]] == [2]
    event = json.loads(recorded.reenact("show", "last", "--event", "1", "--json").stdout)
    assert event["entry"] == whole["steps"][1]["entries"][0]
    assert (event["step"], event["response"]["status"]) == (2, 200)
    assert json.loads(event["request"]["body"]["text"])["messages"][0]["content"] == "Is it raining in Oslo?"
    assert [piece["kind"] for piece in event["pieces"]] == ["head", "chunk", "end"]


def test_colours_are_for_terminals(recorded: Desk) -> None:
    assert "\x1b" not in recorded.reenact("show", "last").stdout
    status, screen = recorded.at_terminal("show", "last")
    assert status == 0
    assert "\x1b[1mStep 1\x1b[0m" in screen
    assert "\x1b" not in recorded.at_terminal("show", "last", env={"NO_COLOR": "1"})[1]


def test_what_the_encoding_of_the_pipe_does_not_have_is_escaped(recorded: Desk) -> None:
    done = recorded.reenact("show", "last", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "  \\u2192 user" in done.stdout


def test_a_hostile_tape_does_not_reach_the_terminal(made: Made, desk: Desk) -> None:
    made.ask([user("\x1b[2J\x1b]0;owned\x07")], says("\u202eevil"))
    made.done()
    for words in (("last",), ("last@1",), ("last", "--event", "0")):
        _, screen = desk.at_terminal("show", *words)
        assert re.sub(r"\x1b\[\d+m", "", screen).replace("\n", "").isprintable()


def test_a_killed_run_is_shown_as_far_as_it_went(cut: Desk) -> None:
    done = cut.reenact("show", "last")
    assert done.returncode == 0
    assert done.stdout.startswith("Run agent-")
    assert "  killed by signal 9: the tape holds all until then\n" in done.stdout
    assert "holds     0 steps, 3 events\n" in done.stdout


def test_a_run_that_is_still_recorded_can_be_looked_at(desk: Desk) -> None:
    desk.write("import time; print('ready', flush=True); time.sleep(3600)")
    with desk.start("record", "agent.py") as child:
        done = desk.reenact("show", "last")
        assert (done.returncode, done.stdout.partition("\n")[0].partition("  ")[2]) == (0, "still being recorded")
        os.killpg(child.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nope",), "no run 'nope' in "),
        (("a",), "'a' may mean a-1111, a-2222; write more of the id"),
        (("a-1111@3",), "there is no step 3: a-1111 has steps 1 to 2"),
        (("a-1111@0",), "there is no step 0: a-1111 has steps 1 to 2"),
        (("a-2222", "--step", "2"), "there is no step 2: a-2222 has step 1 only"),
        (("a-1111", "--event", "2"), "there is no event 2: a-1111 has events 0 to 1"),
        (("a-1111", "--event", "-1"), "there is no event -1: a-1111 has events 0 to 1"),
        (("b-3333@1",), "there is no step 1: b-3333 has no steps"),
        (("a-1111@1", "--event", "0"), "--step and --event are 2 views; choose one"),
        (("a-1111@1", "--step", "2"), "a-1111@1 already names a step; leave out --step 2"),
        (("a-1111", "--step", "x"), "'x' is not a valid integer"),
        ((), "Missing argument 'RUN'"),
    ],
)
def test_misuse_is_told_with_what_would_do(desk: Desk, words: tuple[str, ...], told: str) -> None:
    store = desk.folder / ".reenact"
    for run, steps in (("a-1111", 2), ("a-2222", 1), ("b-3333", 0)):
        made = Made(store / f"{run}.tape")
        for number in range(steps):
            made.ask([user(f"question {number}")], says("ok"))
        made.done()
    done = desk.reenact("show", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_file_that_is_no_tape_is_refused(desk: Desk) -> None:
    Path(desk.folder / "x.tape").write_text("no tape", encoding="utf-8")
    done = desk.reenact("show", "x.tape")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a tape" in done.stderr


def test_a_reader_that_has_seen_enough_ends_it_quietly(made: Made, desk: Desk) -> None:
    for number in range(200):
        made.ask([user(f"question {number} " + "word " * 40)], says("ok"))
    made.done()
    status, screen = desk.at_terminal("show", "last")
    assert status == 0
    assert "Step 200" in screen


@pytest.fixture
def team(desk: Desk) -> Desk:
    """A desk with the run of two agents, one called by the other."""
    made = Made(desk.folder / ".reenact" / "team-7f3a.tape", "team.py")
    made.ask([user("Where to?")], says("Oslo"))
    lead = made.mark(MarkKind.AGENT, "lead", role="leads")
    made.ask([user("Plan it")], says("I do"))
    plan = made.mark(MarkKind.AGENT, "planner", within=lead)
    find = made.mark(MarkKind.STEP, "find", within=plan, city="Oslo")
    made.ask([user("Flights?")], says("At seven"))
    made.http("GET https://shop.example/flights", 200)
    made.ended(find, "KeyError", then=plan)
    made.ended(plan, then=lead)
    made.ended(lead)
    made.done()
    return desk


def test_what_one_agent_did_is_shown_with_those_that_it_called(team: Desk) -> None:
    def steps(*words: str) -> list[int]:
        document = json.loads(team.reenact("show", "last", "--json", *words).stdout)
        return [step["number"] for step in document["steps"]]

    assert steps() == [1, 2, 3]
    assert steps("--agent", "lead") == [2, 3]
    assert steps("--agent", "planner") == [3]
    shown = team.reenact("show", "last", "--agent", "planner").stdout
    assert "[lead > planner] find\nStep 3 " in shown
    assert "shop.example/flights" in shown
    assert "Where to?" not in shown
    assert "Plan it" not in shown


def test_a_step_and_an_event_say_which_agent_s_they_are(team: Desk) -> None:
    for words in (["last@3"], ["last", "--event", "3"]):
        shown = team.reenact("show", *words).stdout
        assert "\n  agent     lead > planner\n  doing     find  (city=Oslo)\n" in shown
        document = json.loads(team.reenact("show", *words, "--json").stdout)
        assert [(mark["kind"], mark["name"]) for mark in document["marks"]] == [
            ("agent", "lead"), ("agent", "planner"), ("step", "find")
        ]  # fmt: skip
        assert document["marks"][2]["error"] == "KeyError"
    assert "\n  agent     lead  (leads)\n  model" in team.reenact("show", "last@2").stdout
    assert "agent" not in team.reenact("show", "last@1").stdout


def test_an_agent_that_is_not_there_is_told_with_those_that_are(team: Desk) -> None:
    done = team.reenact("show", "last", "--agent", "critic")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error[usage]: there is no agent 'critic': team-7f3a marks 'lead', 'planner'\n")
    Made(team.folder / ".reenact" / "bare-7f3a.tape", "bare.py").done()
    done = team.reenact("show", "bare", "--agent", "critic")
    assert "bare-7f3a marks none (with reenact.agent)" in done.stderr
    done = team.reenact("show", "last", "--agent", "lead", "--step", "1")
    assert (done.returncode, "choose one" in done.stderr) == (2, True)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_at_a_terminal_the_agents_have_colours(team: Desk, width: int) -> None:
    status, shown = team.at_terminal("show", "last", env={"COLUMNS": str(width)})
    assert status == 0
    assert "\x1b[1;36m[lead]\x1b[0m" in shown
    assert "\x1b[1;35m[lead > planner]\x1b[0m\x1b[1m find\x1b[0m\n" in shown
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= width
    assert "[planner]" in plain


def test_a_model_that_is_asked_by_urllib_is_shown_like_any(desk: Desk) -> None:
    desk.write(URLLIB)
    with ModelServer(Script(Call("weather", {"city": "Oslo"}), Say("Yes, take a coat."))) as server:
        done = desk.reenact("record", "agent.py", env={"URL": server.openai})
    assert done.stdout == "Yes, take a coat.\n"
    assert "2 steps" in done.stderr
    shown = desk.reenact("show", "last").stdout
    assert [line.split("  ")[1] for line in shown.splitlines() if line.startswith(("  →", "  ←"))] == [
        "→ user",
        "← call",
        "→ tool",
        "← text",
    ]
    assert "send to" not in shown
    assert "connect to" not in shown
    assert "agent.py:7" in shown
    (row,) = json.loads(desk.reenact("runs", "--json").stdout)
    assert (row["steps"], row["model_calls"]) == (2, 2)
    document = json.loads(desk.reenact("show", "last@2", "--json").stdout)
    (attempt,) = document["step"]["attempts"]
    event = desk.reenact("show", "last", "--event", str(attempt)).stdout
    assert event.startswith(f"Event {attempt}  POST http://127.0.0.1")
    assert "Authorization: [redacted]" in event
    assert "HTTP/1.1 200 OK" in event
    assert '"content": "Yes, take a coat."' in event
    piece = desk.reenact("show", "last", "--event", str(attempt + 1)).stdout
    assert f"piece of  event {attempt}" in piece
