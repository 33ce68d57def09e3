"""`reenact debug` on an agent of asyncio tasks, and on long runs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from reenact.testing import Call, ModelServer, Say, Turn
from tests.cli.desk import Desk
from tests.debugger.test_debug import answers, where
from tests.runs import Bench, settings

TASKS = """\
import asyncio
from openai import AsyncOpenAI

def shorten(messages):
    if len(messages) > 3:
        messages[0]["content"] = "(left out)"

async def serve(client, guest):
    messages = [{"role": "user", "content": f"I am {guest}."}]
    for turn in range(3):
        reply = await client.chat.completions.create(model="gpt-5", messages=messages)
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        messages.append({"role": "user", "content": "And?"})
        shorten(messages)
    return messages

async def main():
    client = AsyncOpenAI(max_retries=0)
    async with asyncio.TaskGroup() as group:
        for guest in ("Ada", "Bo"):
            group.create_task(serve(client, guest), name=guest)

asyncio.run(main())
"""
SHORTENS, ASKS = 6, 11
LONG = """\
import sys
from openai import OpenAI

class Notes:
    def __init__(self):
        self.first = None

    def take(self, turn, message):
        self.first = self.first or message
        if turn == 20:
            self.first["content"] += " (noted)"

def main():
    client, messages, notes = OpenAI(max_retries=0), [{"role": "user", "content": "Begin."}], Notes()
    for turn in range(int(sys.argv[1])):
        reply = client.chat.completions.create(model="gpt-5", messages=messages[:2] + messages[-2:])
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})
        notes.take(turn, messages[0])

main()
"""
CORRUPTS = 11


def says(turn: Turn) -> Call | Say:
    return Say(f"Answer {turn.index}.")


TOLD = """\
import asyncio, hashlib, json, sys
from openai import AsyncOpenAI, OpenAI

def of(*values):
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()

def note(*values):
    # the program says itself what it holds
    with open("log.jsonl", "a") as file:
        print(json.dumps(of(*values)), file=file)

def plain(steps):
    client, history = OpenAI(max_retries=0), []
    for turn in range(steps):
        history.append({"role": "user", "content": f"Step {turn}."})
        note(turn, history)
        reply = client.chat.completions.create(model="gpt-5", messages=history[-3:])
        history.append({"role": "assistant", "content": reply.choices[0].message.content})

async def serve(client, guest, turns):
    history = []
    for turn in range(turns):
        history.append({"role": "user", "content": f"{guest} asks {turn}."})
        note(turn, history)
        reply = await client.chat.completions.create(model="gpt-5", messages=history[-3:])
        history.append({"role": "assistant", "content": reply.choices[0].message.content})

async def tasks(steps):
    async with AsyncOpenAI(max_retries=0) as client:
        await asyncio.gather(*(serve(client, guest, steps // 4) for guest in ("Ada", "Bo", "Cy", "Di")))

plain(int(sys.argv[2])) if sys.argv[1] == "plain" else asyncio.run(tasks(int(sys.argv[2])))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def recorded(folder: Path, program: str, *args: str) -> None:
    with ModelServer(says) as server:
        Bench(folder).record(program, *args, env=settings(server))


def test_tasks_are_gone_to_and_looked_at(desk: Desk) -> None:
    recorded(desk.folder, TASKS)
    told = answers(
        desk,
        "j 4",
        "lanes",
        "p guest",
        "n",
        "n",
        "rn",
        "rn",
        "lane 0.1.1",
        "p guest",
        "j 6",
        'when messages[0]["content"]',
        "w",
    )
    at, lanes, guest = told[0]["position"], told[1]["result"], told[2]["result"]["text"]
    lane = at["lane"]  # which of the two it was is told by the recording
    assert (at["step"], guest) == (4, {"0.1.1": "'Ada'", "0.1.2": "'Bo'"}[lane])
    assert lanes["selected"] == lane
    assert {"0", "0.1", "0.1.1", "0.1.2"} == {one["lane"] for one in lanes["lanes"]}
    lines = [(one["position"]["place"]["line"], one["position"]["lane"]) for one in told[3:7]]
    assert lines == [(line, lane) for line in (ASKS + 1, ASKS + 2, ASKS + 1, ASKS)]
    assert "__main__:serve" in {one["function"] for one in told[7]["result"]["frames"]}
    assert told[8]["result"]["text"] == "'Ada'"
    changed = told[10]["result"]["stop"]
    assert (where(told[10])[1], told[10]["position"]["lane"]) == (SHORTENS, told[9]["position"]["lane"])
    assert changed["text"].endswith("→ '(left out)'")
    assert [one["function"] for one in told[11]["result"]["frames"] if one["own"]][:2] == [
        "__main__:shorten",
        "__main__:serve",
    ]


@pytest.mark.parametrize("steps", [40, pytest.param(330, marks=pytest.mark.slow)])
def test_finds_the_line_that_corrupted_a_message_long_before(desk: Desk, steps: int) -> None:
    recorded(desk.folder, LONG, str(steps))
    told = answers(desk, f"j {steps}", "p len(messages)", 'when messages[0]["content"]')
    assert told[1]["result"]["text"] == str(steps)
    assert where(told[2]) == (21, CORRUPTS)
    assert told[2]["result"]["stop"]["text"] == "'Begin.' → 'Begin. (noted)'"


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_a_step_and_a_step_back_come_to_the_same_state_anywhere(desk: Desk, rounds: int) -> None:
    recorded(desk.folder, LONG, "30")
    chance = random.Random(rounds)
    for _ in range(rounds):
        there = [(f"j e{chance.randrange(28)}", f"s {chance.randrange(1, 12)}") for _ in range(4)]
        told = answers(desk, *(word for go in there for word in (*go, "locals", "s", "bs", "locals")))
        for at in range(0, len(told), 6):
            before, after = told[at + 2], told[at + 5]
            assert told[at + 3]["position"]["moment"] != before["position"]["moment"]
            assert before["position"] == after["position"]
            assert _values(before) == _values(after)


def _values(told: dict[str, dict[str, list[dict[str, str]]]]) -> list[tuple[str, str]]:
    return [(one["name"], one["text"]) for one in told["result"]["variables"]]


@pytest.mark.parametrize("how", ["plain", "tasks"])
@pytest.mark.parametrize(("steps", "jumps"), [(40, 10), pytest.param(1000, 100, marks=pytest.mark.slow)])
def test_at_any_step_of_a_long_run_all_is_as_the_run_itself_said(desk: Desk, how: str, steps: int, jumps: int) -> None:
    recorded(desk.folder, TOLD, how, str(steps))
    log = [json.loads(line) for line in (desk.folder / "log.jsonl").read_text("utf-8").splitlines()]
    assert len({*log}) == steps
    goals = [random.randrange(1, steps + 1) for _ in range(jumps)]
    told = answers(desk, *(word for goal in goals for word in (f"j {goal}", "p of(turn, history)")))
    found = dict(zip(goals, (one["result"]["text"] for one in told[1::2]), strict=True))
    assert [one["position"]["step"] for one in told[::2]] == goals
    assert {*found.values()} <= {*map(repr, log)}
    assert len({*found.values()}) == len(found)
    if how == "plain":  # of tasks the next to ask is not the next to say what it holds
        assert all(held == repr(log[goal - 1]) for goal, held in found.items())
