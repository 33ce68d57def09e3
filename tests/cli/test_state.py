"""`reenact state`: what the functions and variables of a program held at a step, as the recorded run had them."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.cli.desk import Desk

STEPS = 12
LOGS = """
    import json, sys

    def log(key):
        # the program says itself what its functions hold; what is no JSON it leaves out
        frame, told = sys._getframe(1), []
        while frame is not None and frame.f_code.co_filename == __file__ and frame.f_code.co_name != "<module>":
            names, plain = dict(frame.f_locals), {}
            for name, value in names.items():
                try:
                    plain[name] = json.loads(json.dumps(value))
                except TypeError:
                    pass
            told.append([frame.f_code.co_name, sorted(names), plain])
            frame = frame.f_back
        with open("log.jsonl", "a") as file:
            print(json.dumps([key, told]), file=file)
"""
PLAIN = (
    LOGS
    + """
    from openai import OpenAI

    def ask(client, messages, seen, number):
        facts = {"number": number, "sum": sum(range(number)), "last": messages[-1]["content"], "none": None}
        halves = [at / 2 for at in range(number)]
        log(number)
        answer = client.chat.completions.create(model="m", messages=messages).choices[0].message
        messages.append({"role": "assistant", "content": answer.content})
        return answer

    def main():
        client, messages, seen = OpenAI(), [{"role": "user", "content": "Begin."}], {}
        for number in range(1, 13):
            answer = ask(client, messages, seen, number)
            seen[answer.content] = len(messages)
            messages.append({"role": "user", "content": f"And then, after {answer.content}?"})

    main()
"""
)
LIGHT = """
    import json, os, urllib.request

    URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

    class Answer:
        def __init__(self, content):
            self.content = content

    def create(messages):
        body = json.dumps({"model": "m", "messages": messages}).encode()
        with urllib.request.urlopen(urllib.request.Request(URL, body, {"content-type": "application/json"})) as answer:
            return Answer(json.load(answer)["choices"][0]["message"]["content"])

    def ask(messages, seen, number):
        facts = {"number": number, "sum": sum(range(number)), "last": messages[-1]["content"], "none": None}
        halves = [at / 2 for at in range(number)]
        answer = create(messages)
        messages.append({"role": "assistant", "content": answer.content})
        return answer

    def main():
        messages, seen = [{"role": "user", "content": "Begin."}], {}
        for number in range(1, 6):
            answer = ask(messages, seen, number)
            seen[answer.content] = len(messages)
            messages.append({"role": "user", "content": f"And then, after {answer.content}?"})

    main()
"""
ASYNCIO = (
    LOGS
    + """
    import asyncio
    from openai import AsyncOpenAI

    async def agent(client, name, others):
        history = []
        for turn in range(4):
            history.append({"role": "user", "content": f"{name} asks {turn}"})
            log([name, turn])
            answer = await client.chat.completions.create(model="m", messages=history)
            history.append({"role": "assistant", "content": answer.choices[0].message.content})
            others[name] = turn
            await asyncio.sleep(0.001)

    async def main():
        async with AsyncOpenAI() as client:
            others = {}
            await asyncio.gather(*(agent(client, name, others) for name in ("ann", "bob", "cy")))

    asyncio.run(main())
"""
)


def said(turn: Turn) -> Say:
    return Say(f"That is answer {turn.index}, {'long ' * turn.index}and done.")


def recorded(folder: Path, source: str) -> Desk:
    desk = Desk(folder)
    (folder / ".reenact").mkdir()
    desk.write(source)
    with ModelServer(said) as server:
        done = desk.reenact("record", "agent.py", env={"OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": "sk-test"})
    assert done.returncode == 0, done.stderr
    return desk


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return recorded(tmp_path_factory.mktemp("light"), LIGHT)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return recorded(tmp_path_factory.mktemp("plain"), PLAIN)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return recorded(tmp_path_factory.mktemp("tasks"), ASYNCIO)


def logged(desk: Desk) -> list[tuple[Any, Any]]:
    lines = (desk.folder / "log.jsonl").read_text("utf-8").splitlines()
    return [(key, told) for key, told in map(json.loads, lines)]


def state(desk: Desk, *words: str) -> dict[str, Any]:
    done = desk.reenact("state", "last", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def own(strand: dict[str, Any]) -> list[list[Any]]:
    """The program's own functions, each by its name, the names of its variables, and those that are JSON."""
    told = []
    for frame in strand["frames"]:
        if "number" in frame and not frame["function"].endswith(":<module>"):
            variables = frame.get("variables", [])
            values = {one["name"]: one["value"] for one in variables if "value" in one}
            told.append([frame["function"].partition(":")[2], sorted(one["name"] for one in variables), values])
    return told


def test_at_any_step_it_is_what_the_recorded_run_had(plain: Desk) -> None:
    log = logged(plain)
    assert len(log) == STEPS
    for step in random.sample(range(1, STEPS + 1), 2):
        found = state(plain, "--step", str(step))
        assert (found["step"], found["lane"], found["lanes"][0]["lane"]) == (step, "0", "0")
        key, told = log[step - 1]
        assert key == step
        assert own(found["lanes"][0]) == told


def test_of_many_tasks_each_has_what_it_had(tasks: Desk) -> None:
    log = {json.dumps(key): told for key, told in logged(tasks)}
    assert len(log) == STEPS
    for step in random.sample(range(1, STEPS + 1), 2):
        found = state(tasks, "--step", str(step))
        function, _, values = own(found["lanes"][0])[0]
        assert function == "agent"
        key = json.dumps([values["name"], values["turn"]])
        assert own(found["lanes"][0]) == log[key]
        agents = [one for one in found["lanes"] if one["name"] == "agent"]
        waiting = {own(one)[0][2]["name"] for one in agents}
        assert values["name"] in waiting
        (main,) = [one for one in found["lanes"] if own(one)[:1] and own(one)[0][0] == "main"]
        assert main["waits_for"] == sorted(one["lane"] for one in agents)


def test_a_person_sees_lines_and_variables(light: Desk) -> None:
    done = light.reenact("state", "last@3")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    heading = r"agent-\w+ at step 3 \(event \d+\)\n  lane 0 \(main\) is about to make the call send to 127"
    assert re.match(heading, done.stdout)
    for line in (
        r"#0 create  agent\.py:\d+  in \d+ functions of libraries",
        r"#1 ask  agent\.py:\d+",
        r"  → 1\d │     answer = create\(messages\)",
        r"    messages  list, 5 items",
        r"    messages  the same object as create\.messages",
        r"    number    3",
        r"#2 main  agent\.py:\d+",
        r"#3 <module>  agent\.py:\d+",
    ):
        assert re.search(f"^{line}$", done.stdout, re.MULTILINE), line


def test_one_function_and_one_value_of_it(light: Desk) -> None:
    found = state(light, "--step", "2", "--frame", "main", "--expand", "messages[-1]['content'].upper()")
    assert [frame["function"] for frame in found["lanes"][0]["frames"]] == ["__main__:main"]
    assert found["expanded"][0]["value"] == "AND THEN, AFTER THAT IS ANSWER 0, AND DONE.?"
    shown = light.reenact("state", "last@2", "--expand", "messages[1]['content']").stdout
    assert shown.endswith("\n  That is answer 0, and done.\n")
    again = light.reenact("state", "last@2", "--expand", "open('x', 'w')")
    assert (again.returncode, "refused" in again.stderr) == (2, True)


def test_what_has_changed_between_two_steps(light: Desk) -> None:
    found = state(light, "--step", "5", "--diff", "4")
    changed = {one["path"]: one["change"] for one in found["differences"] if one["function"] == "__main__:ask"}
    assert {"number", "facts['sum']", "halves[4]"} <= changed.keys()
    assert (changed["number"]["before"], changed["number"]["after"]) == ("4", "5")
    assert "messages" not in {path.partition("[")[0] for path in changed}, "that is told of create"
    told = [one["path"] for one in found["differences"] if one["function"] == "__main__:create"]
    assert {"messages[7]", "messages[8]"} <= set(told)
    assert not {"messages[0]", "messages[1]"} & set(told)
    only = state(light, "--step", "5", "--diff", "4", "--frame", "ask")["differences"]
    assert {one["function"] for one in only} == {"__main__:ask"}
    assert {"messages[7]", "messages[8]", "number"} <= {one["path"] for one in only}
    text = light.reenact("state", "last@5", "--diff", "4").stdout
    assert re.match(r"agent-\w+ from step 4 \(event \d+\) to step 5 \(event \d+\)\n", text)
    assert "  ~ number\n      - 4\n      + 5\n" in text


def test_globals_are_shown_when_they_are_asked_for(light: Desk) -> None:
    names = [one["name"] for one in state(light, "--step", "1", "--globals", "--all")["modules"]["__main__"]]
    assert {"URL", "Answer", "main", "json"} <= set(names)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("last",), "say at which moment"),
        (("last", "--step", "1", "--event", "2"), "say at which moment"),
        (("last", "--step", "6"), "there is no step 6: "),
        (("last", "--event", "999"), "there is no event 999: "),
        (("last@1", "--lane", "0.9"), "there is no lane '0.9' here; there are 0"),
        (("last@1", "--frame", "nothing"), "there is no function 'nothing'"),
        (("last@1", "--expand", "nothing"), "'nothing' gives nothing here: NameError"),
        (("last@1", "--expand", "1 +"), "'1 +' gives nothing here: SyntaxError"),
    ],
)
def test_what_cannot_be_shown_is_said(light: Desk, words: tuple[str, ...], told: str) -> None:
    done = light.reenact("state", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_a_program_that_is_another_by_now_is_not_taken_for_the_one_that_ran(tmp_path: Path) -> None:
    desk = recorded(tmp_path, LIGHT)
    desk.write(LIGHT.replace('"Begin."', '"Otherwise."'))
    done = desk.reenact("state", "last@3")
    assert (done.returncode, done.stdout) == (2, "")
    assert "never comes to event" in done.stderr


NASTY = """
    import collections, json, sys, time, urllib.request

    calls = []

    def never(*args):
        calls.append("")
        time.time()
        print("called")
        raise SystemExit(9)

    class Nasty:
        __repr__ = __str__ = __len__ = __iter__ = __eq__ = __bool__ = __getattr__ = __del__ = never

        def __init__(self):
            self.number = 1

        def __hash__(self):
            return 1

        @property
        def asked(self):
            return never()

    class NastyList(list):
        __len__ = __iter__ = __getitem__ = __repr__ = never

    def numbers():
        yield from range(3)

    def main():
        nasty, several, keyed = Nasty(), NastyList([1, Nasty()]), {Nasty(): 1, "nasty": Nasty()}
        generator = numbers()
        deep = []
        for _ in range(300):
            deep = [deep]
        circle = [1]
        circle.append(circle)
        wide = {n: str(n) for n in range(100_000)}
        taken = locals()
        after = len(taken)
        time.sleep(0.001)
        print(list(generator), sorted(taken), len(calls))

    main()
"""


def test_nothing_of_the_programs_own_is_called(desk: Desk) -> None:
    desk.write(NASTY)
    done = desk.reenact("record", "agent.py")
    assert done.returncode == 0, done.stderr
    for words in ((), ("--all",)):
        found = state(desk, "--event", "0", "--globals", *words)
        (frame, *_) = [one for one in found["lanes"][0]["frames"] if one["function"] == "__main__:main"]
        held = {one["name"]: one for one in frame["variables"]}
        assert held["nasty"]["text"] == "Nasty(number=1)"
        assert held["several"]["text"] == "NastyList([1, Nasty(number=1)])"
        assert held["generator"]["text"].startswith("generator numbers, at line ")
        assert held["circle"]["inside"][1]["above"] == "circle"
        assert (held["wide"]["count"], held["deep"]["count"]) == (100_000, 1)
        assert held["wide"]["digest"]
        assert "after" not in [one["name"] for one in held["taken"]["inside"]]
        (called,) = [one for one in found["modules"]["__main__"] if one["name"] == "calls"]
        assert called["value"] == []


THREADS = """
    import asyncio, concurrent.futures, threading, time

    def work(name, event):
        mine = [name]
        event.wait()

    def job(number):
        doubled = number * 2
        time.sleep(0.02 * number)

    async def numbers():
        for number in range(3):
            await asyncio.sleep(0.001)
            yield number

    async def inner(name):
        async for number in numbers():
            await asyncio.sleep(0.1)

    async def main():
        event = threading.Event()
        thread = threading.Thread(target=work, args=("t", event), name="worker")
        thread.start()
        task = asyncio.create_task(inner("x"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            loop = asyncio.get_running_loop()
            jobs = [loop.run_in_executor(pool, job, number) for number in (1, 2)]
            await asyncio.sleep(0.005)
            here = "main"
            await asyncio.to_thread(time.sleep, 0.001)
            event.set()
            await asyncio.gather(task, *jobs)
        thread.join()

    asyncio.run(main())
"""


def test_every_lane_is_listed_with_what_it_holds(desk: Desk) -> None:
    desk.write(THREADS)
    done = desk.reenact("record", "agent.py")
    assert done.returncode == 0, done.stderr
    shown = json.loads(desk.reenact("show", "last", "--json").stdout)
    names = {lane["path"]: lane["name"] for lane in shown["run"]["lanes"]}
    last = max(entry["event"] for entry in shown["outside"])
    by_name: dict[str, dict[str, Any]] = {}
    for event in range(last + 1):
        for lane in state(desk, "--event", str(event))["lanes"]:
            assert names.get(lane["lane"], lane["name"]) == lane["name"]
            for frame in own(lane):
                by_name.setdefault(frame[0], {}).update(frame[2])
    assert by_name["work"] == {"name": "t", "mine": ["t"]}
    assert by_name["job"] in ({"number": 1, "doubled": 2}, {"number": 2, "doubled": 4})
    assert by_name["main"]["here"] == "main"
    assert by_name["inner"]["name"] == "x"
    assert by_name["numbers"]["number"] in (0, 1, 2)


IN_CODE = """
    import subprocess, sys, time
    import reenact

    @reenact.record
    def answer(question):
        words = question.split()
        time.sleep(0.001)
        return words

    if __name__ == "__main__":
        if sys.argv[1:] == ["call"]:
            answer("What is there?")
        elif sys.argv[1:] == ["child"]:
            time.sleep(0.001)
        else:
            subprocess.run([sys.executable, "agent.py", "child"])
"""


def test_a_function_that_was_recorded_in_code(desk: Desk) -> None:
    program = desk.write(IN_CODE)
    subprocess.run([sys.executable, str(program), "call"], cwd=desk.folder, env=desk.environment(), check=True)
    assert own(state(desk, "--event", "0")["lanes"][0]) == [
        ["answer", ["question", "words"], {"question": "What is there?", "words": ["What", "is", "there?"]}]
    ]


def test_a_process_that_the_run_started_is_not_looked_at(desk: Desk) -> None:
    desk.write(IN_CODE)
    desk.reenact("record", "agent.py")
    shown = json.loads(desk.reenact("show", "last", "--json").stdout)
    last = max(entry["event"] for entry in shown["outside"])
    done = desk.reenact("state", "last", "--event", str(last))
    assert done.returncode == 2
    assert "is in a process that agent-" in done.stderr
