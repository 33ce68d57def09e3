"""`reenact origin`: where a text came from, in a run of a real agent with a real SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reenact.report.terminal import columns
from reenact.testing import Call, ModelServer, Say, Script
from tests.cli.desk import Desk
from tests.runs import Bench, settings
from tests.trajectory.made import Made, calls, gave, says, user

# Each of its tools takes what it tells from somewhere else.
AGENT = """
    import datetime, json, os, subprocess, sys, uuid
    import httpx
    from openai import OpenAI

    def books(of):
        return httpx.get(f"{os.environ['BASE']}/books", params={"of": of}).text

    def notes(of):
        return open("notes.txt").read()

    def shell(of):
        code = "print('the rate of the day is', 7 * 11 * 13, 'points')"
        return subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True).stdout

    def ticket(of):
        return json.dumps({"ticket": str(uuid.uuid4()), "at": datetime.datetime.now(datetime.timezone.utc).isoformat()})

    def boss(of):
        return f"{sys.stdin.readline().strip()}, says {os.environ['BOSS']}; the limit is {30 * 140}"

    tools = [{"type": "function", "function": {"name": tool, "parameters": {"type": "object"}}}
             for tool in ("books", "notes", "shell", "ticket", "boss")]
    client = OpenAI(max_retries=0)
    messages = [{"role": "system", "content": "You keep the books."}, {"role": "user", "content": f"What do {sys.argv[1]} owe?"}]
    while True:
        if "--stream" in sys.argv:
            words, asked = "", {}
            for chunk in client.chat.completions.create(model="gpt-5", messages=messages, tools=tools, stream=True):
                for choice in chunk.choices:
                    words += choice.delta.content or ""
                    for call in choice.delta.tool_calls or ():
                        one = asked.setdefault(call.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                        one["id"] = one["id"] or call.id
                        one["function"]["name"] += call.function.name or ""
                        one["function"]["arguments"] += call.function.arguments or ""
            said = {"role": "assistant", "content": words or None, "tool_calls": list(asked.values())}
        else:
            said = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message.model_dump()
        messages.append({name: value for name, value in said.items() if value})
        if not said["tool_calls"]:
            break
        for call in said["tool_calls"]:
            told = globals()[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": told})
    print(said["content"])
"""
FINAL = (
    "The Hansens owe 1,243.50 EUR, Müller 77. At a rate of 1001 points. Pay by Friday, says Ms. Ueland, "
    "and the limit is 4200. My own guess is 31337."
)


def answers(turn: Any) -> Any:
    """The model: one tool after the other, and then what all of them told."""
    tools = ("books", "notes", "shell", "ticket", "boss")
    return Call(tools[turn.rounds], {"of": "Hansen-AS-778"}) if turn.rounds < len(tools) else Say(FINAL)


class Books(ModelServer):
    """A model server that also has books, with a wrong number in them."""

    def _answer(self, request: Any, index: int) -> Any:
        if request.target.startswith("/books"):
            from reenact.testing.response import Response  # noqa: PLC0415

            body = json.dumps({"debtors": [{"name": "Hansen", "total": 1243.5}]}).encode()
            return Response(200, (("content-type", "application/json"),), body)
        return super()._answer(request, index)


def recorded(folder: Path, *arguments: str) -> Bench:
    bench = Bench(folder)
    (folder / "notes.txt").write_text("Of old: M\u00fcller owes 77.\nNothing else.\n", encoding="utf-8")
    desk = Desk(folder)
    desk.write(AGENT)
    with Books(answers) as server:
        env = {**settings(server), "OPENAI_API_KEY": "sk-test", "BOSS": "Ms. Ueland"}
        done = desk.reenact("record", "-q", "agent.py", *arguments, env=env, said="Pay by Friday\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{FINAL}\n"
    return bench


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return recorded(tmp_path_factory.mktemp("plain"), "the Hansens")


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return recorded(tmp_path_factory.mktemp("streamed"), "the Hansens", "--stream")


def origin(bench: Bench, *words: str, status: int = 0) -> dict[str, Any]:
    done = bench.run("-m", "reenact", "origin", "last", *words, "--json")
    assert done.status == status, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)["found"]
    return found


def way(found: Mapping[str, Any]) -> list[tuple[str, str, int | None]]:
    return [(hop["way"], hop["source"], hop["step"]) for hop in found["hops"]]


LAST = [("out", "output", None), ("in", "answer", 6)]
WAYS = {
    "1,243.50": [*LAST, ("out", "tool result", 2), ("in", "response", 1)],
    "Müller": [*LAST, ("out", "tool result", 3), ("in", "file", None)],
    "1001 points": [*LAST, ("out", "tool result", 4), ("in", "came", 3)],
    "Pay by Friday": [*LAST, ("out", "tool result", 6), ("in", "standard input", None)],
    "Ms. Ueland": [*LAST, ("out", "tool result", 6), ("in", "environment", None)],
    "Hansens": [*LAST, ("out", "prompt", 1), ("in", "command line", None)],
}


@pytest.mark.parametrize("text", WAYS)
def test_it_leads_from_the_answer_to_where_it_came_in(plain: Bench, text: str) -> None:
    found = origin(plain, "--text", text)
    assert (found["verdict"], way(found)) == ("came in", WAYS[text])


def test_a_wrong_number_leads_to_the_tool_result_that_held_it(streamed: Bench) -> None:
    found = origin(streamed, "--text", "1,243.50")
    assert way(found) == WAYS["1,243.50"]
    assert [hop["match"]["grade"] for hop in found["hops"]] == ["exact", "exact", "normalized", "normalized"]
    told, came = found["hops"][2:]
    assert (told["name"], told["match"]["pointer"], told["match"]["forms"]) == (
        "books",
        "/debtors/0/total",
        ["number format"],
    )
    assert "/books?of=Hansen-AS-778" in came["name"]
    assert came["site"]["file"].endswith("agent.py")
    done = streamed.run("-m", "reenact", "origin", "last", "--text", "1,243.50")
    text = done.stdout.decode()
    assert text.startswith("“1,243.50” came from the answer to GET http://127.0.0.1:")
    assert "→ the tool result of books, as the model is told   step 2   event " in text
    assert "[1,243.50] EUR, Müller 77." in text
    assert text.rstrip().endswith("nothing before holds it: there it came into the run")


def test_what_no_one_said_before_the_model_wrote(plain: Bench) -> None:
    found = origin(plain, "--text", "31337")
    assert (found["verdict"], way(found)) == ("model", LAST)
    found = origin(plain, "--text", "1,234.50", status=1)
    assert (found["verdict"], found["hops"]) == ("nowhere", [])
    assert ("response", ["digits in another order"]) in [
        (one["source"], one["match"]["forms"]) for one in found["candidates"]
    ]


def test_what_the_program_made_is_said_to_be_made_there(plain: Bench) -> None:
    found = origin(plain, "--text", "4200")
    assert (found["verdict"], way(found)) == ("program", [*LAST, ("out", "tool result", 6)])
    found = origin(plain, "--text", "You keep the books.")
    assert (found["verdict"], way(found)) == ("program", [("out", "prompt", 1)])


def test_clock_and_chance_are_origins(plain: Bench) -> None:
    steps = json.loads(plain.run("-m", "reenact", "show", "last", "--json").stdout)["steps"]
    told = json.loads(steps[4]["news"]["messages"][0]["parts"][0]["text"])
    found = origin(plain, "--text", told["ticket"])
    assert way(found) == [("out", "tool result", 5), ("in", "chance", None)]
    found = origin(plain, "--text", told["at"][:19])
    assert way(found) == [("out", "tool result", 5), ("in", "clock", None)]


def test_what_was_asked_and_came_back_is_followed_through(plain: Bench) -> None:
    found = origin(plain, "--step", "2", "--text", "Hansen-AS-778")
    assert way(found)[-1] == ("in", "tool arguments", 1) or way(found) == [("in", "tool arguments", 2)]


def test_a_pointer_means_the_text_that_stands_there(plain: Bench, streamed: Bench) -> None:
    found = origin(plain, "--step", "2", "--at", "/request/messages/1/content")
    assert (found["text"], way(found)) == ("What do the Hansens owe?", [("out", "prompt", 1)])
    assert origin(plain, "--at", "/answer/choices/0/message/content")["text"] == FINAL
    assert origin(streamed, "--at", "/answer/parts/0/text")["text"] == FINAL
    entries = json.loads(plain.run("-m", "reenact", "show", "last@1", "--json").stdout)["step"]["entries"]
    (books,) = (entry["event"] for entry in entries if "/books" in entry["name"])
    found = origin(plain, "--event", str(books), "--at", "/answer/debtors/0/total")
    assert (found["text"], way(found)) == ("1243.5", [("in", "response", 1)])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what to look for"),
        (("--text", "a", "--at", "/answer"), "say what to look for"),
        (("--text", ""), "say what to look for"),
        (("--text", "a", "--step", "1", "--event", "1"), "choose one"),
        (("--text", "a", "--step", "99"), "has steps 1 to 6"),
        (("--text", "a", "--event", "999"), "has events 0 to "),
        (("--at", "/choices"), "begins with /request or /answer"),
        (("--at", "/answer/choices/7"), "there is no '7' at /answer/choices: it has 0 to 0"),
        (("--at", "/answer/choices/0/message"), "choose "),
        (("--at", "/answer/id/x"), "nothing below it"),
    ],
)
def test_misuse_is_told(plain: Bench, words: tuple[str, ...], message: str) -> None:
    done = plain.run("-m", "reenact", "origin", "last", *words)
    assert done.status == 2
    assert message in done.stderr.decode()


def test_another_conversation_is_no_source_of_what_a_model_says(desk: Desk) -> None:
    made = Made(desk.folder / ".reenact" / "two-7f3a.tape")
    made.lane("0.1", "one")
    made.lane("0.2", "other")
    made.ask([user("The word is zebra.")], says("I see."), lane="0.1")
    made.ask([user("Guess.")], says("zebra"), lane="0.2")
    made.done()
    found = json.loads(desk.reenact("origin", "two", "--text", "zebra", "--json").stdout)["found"]
    assert (found["verdict"], way(found)) == ("model", [("in", "answer", 2)])
    assert [(hop["source"], hop["step"]) for hop in found["earlier"]] == [("prompt", 1)]


def test_what_was_given_to_somebody_may_come_back_from_him(desk: Desk) -> None:
    made = Made(desk.folder / ".reenact" / "shop-7f3a.tape")
    made.ask([user("Order something.")], calls(c1={"order": "walnut"}))
    made.http("POST https://shop.example/orders", 200, b'{"number": 17}', b'{"item": "walnut"}')
    made.http("GET https://other.example/stock", 200, b'{"item": "chestnut"}')
    made.http("GET https://shop.example/orders/17", 200, b'{"item": "walnut"}')
    history = [user("Order something."), calls(c1={"order": "walnut"}), gave("c1", "There is a walnut on its way.")]
    made.ask(history, says("A walnut."))
    made.done()
    found = json.loads(desk.reenact("origin", "shop", "--event", "3", "--text", "walnut", "--json").stdout)["found"]
    assert way(found) == [("in", "response", 1), ("out", "request", 1), ("in", "tool arguments", 1)]
    assert found["verdict"] == "model"


def test_it_leads_through_the_processes_of_a_run(bench: Bench) -> None:
    (bench.folder / "kid.py").write_text("import sys; print('the kid has seen', sys.argv[1], open('kept.txt').read())")
    (bench.folder / "kept.txt").write_text("a heron")
    program = """
        import os, subprocess, sys, httpx
        seen = subprocess.run([sys.executable, "kid.py", "a plum"], capture_output=True, text=True).stdout
        asked = {"model": "gpt-5", "messages": [{"role": "user", "content": seen}]}
        answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=asked).json()
        print(answer["choices"][0]["message"]["content"])
    """
    with ModelServer(Script(Say("It was a heron, and a plum."))) as server:
        bench.record(program, env=settings(server))
    found = origin(bench, "--text", "heron")
    told = [("out", "output"), ("in", "answer"), ("out", "prompt"), ("in", "came"), ("out", "output"), ("in", "file")]
    assert [(hop["way"], hop["source"]) for hop in found["hops"]] == told
    found = origin(bench, "--text", "plum")
    assert [(hop["way"], hop["source"]) for hop in found["hops"]][4:] == [
        ("out", "output"), ("in", "command line"), ("out", "command"),
    ]  # fmt: skip


def test_it_fits_the_terminal_and_obeys_nobody(desk: Desk) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 \u202egnorw " + "日本語の長い文章です。" * 30
    made = Made(desk.folder / ".reenact" / "evil-7f3a.tape")
    asked = [user(f"{evil} needle {evil}")]
    made.ask(asked, calls(**{evil: {"x": f"{evil} needle"}}))
    made.ask([*asked, calls(**{evil: {"x": f"{evil} needle"}}), gave(evil, f"needle {evil}")], says(f"{evil}needle"))
    made.http(f"GET https://shop.example/{evil}", 200, f"{evil} needle".encode())
    made.ask([user(f"needle {evil}")], says(f"needle and {evil}"))
    made.done()
    status, screen = desk.at_terminal("origin", "evil", "--text", "needle", env={"COLUMNS": "80"})
    assert status == 0
    lines = re.sub(r"\x1b\[[\d;]+m", "", screen).splitlines()
    assert all(line.isprintable() for line in lines)
    assert max(map(columns, lines)) <= 80
    piped = desk.reenact("origin", "evil", "--text", "needle")
    assert "\x1b" not in piped.stdout
    assert max(map(columns, piped.stdout.splitlines())) <= 100
    assert "\x1b" not in desk.reenact("origin", "evil", "--text", "needle", "--json").stdout
