"""Forks of whole programs through the command line, against a real local model server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from reenact.tape.store import Store
from reenact.testing import Call, ModelServer, Say
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.runs import Bench, Done, Run, same, settings

CHAT = """
    import json, os, random, time, uuid
    import openai
    client = openai.OpenAI(max_retries=0)
    history = []
    for n in range({steps}):
        history.append({{"role": "user", "content": f"question {{n}} {{uuid.uuid4()}} {{random.random()}}"}})
        said = client.chat.completions.create(model="gpt-5", messages=history).choices[0].message.content
        history.append({{"role": "assistant", "content": said}})
        print(n, said, flush=True)
    open("notes.txt", "w").write(repr(history))
"""
SEVERAL = """
    import asyncio, uuid
    import openai

    async def worker(client, who):
        history = []
        for n in range(3):
            history.append({"role": "user", "content": f"{who} {n} {uuid.uuid4()}"})
            answer = await client.chat.completions.create(model="gpt-5", messages=history)
            history.append({"role": "assistant", "content": answer.choices[0].message.content})
            await asyncio.sleep(0.01)
        return who, [message["content"] for message in history[1::2]]

    async def main():
        async with openai.AsyncOpenAI(max_retries=0) as client:
            for done in asyncio.as_completed([worker(client, f"w{n}") for n in range(8)]):
                print(await done, flush=True)

    asyncio.run(main())
"""
THREADS = """
    import uuid
    from concurrent.futures import ThreadPoolExecutor
    import requests, os
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

    def work(who):
        history = []
        for n in range(3):
            history.append({"role": "user", "content": f"{who} {n} {uuid.uuid4()}"})
            said = requests.post(url, json={"model": "gpt-5", "messages": history}).json()
            history.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
        return who, [message["content"] for message in history[1::2]]

    with ThreadPoolExecutor(4) as pool:
        for done in pool.map(work, ("a", "b", "c", "d")):
            print(done, flush=True)
"""
TOOLS = """
    import json, os, pathlib, subprocess, urllib.request
    import httpx, openai, reenact

    @reenact.tool
    def refund(amount):
        pathlib.Path(os.environ["EFFECTS"]).open("a").write(f"refund {amount}\\n")
        return {"refunded": amount}

    client = openai.OpenAI(max_retries=0)
    history = [{"role": "user", "content": "refund me"}]
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    while True:
        message = client.chat.completions.create(model="gpt-5", messages=history, tools=tools).choices[0].message
        history.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            try:
                result = json.dumps(refund(**json.loads(call.function.arguments)))
            except PermissionError as error:
                result = f"failed: {error}"
            history.append({"role": "tool", "tool_call_id": call.id, "content": result})
            print(result, flush=True)
    for act in (
        lambda: subprocess.run(["touch", os.environ["EFFECTS"] + ".child"], check=True),
        lambda: httpx.post(os.environ["BASE"] + "/orders", json={"order": 1}).status_code,
        lambda: httpx.get(os.environ["BASE"] + "/orders").status_code,
    ):
        try:
            print("done", type(act()).__name__)
        except Exception as error:
            print("failed", error)
    print(message.content)
"""


class Counting:
    """A model that numbers its answers, so that no two of them are the same."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, turn: Turn) -> Reply:
        self.count += 1
        return Say(f"answer {self.count} to {turn.messages[-1].text.split()[0]}")


def refunding(turn: Turn) -> Reply:
    """A model that asks for a refund, once."""
    results = [result.text for message in turn.messages for result in message.results]
    return Say(f"done: {results[-1]}") if results else Call("refund", {"amount": 20})


def fork(bench: Bench, run: str, *options: str, server: ModelServer, **env: str) -> Done:
    """`reenact fork … --live`."""
    return bench.run("-m", "reenact", "fork", run, "--live", *options, env={**settings(server), **env})


def made(bench: Bench, done: Done) -> Run:
    """The branch that it made."""
    assert done.status == 0, done.stderr.decode()
    run_id = done.stderr.decode().rpartition("recorded ")[2].partition(":")[0]
    return Run(bench, bench.store.path(run_id), done)


def verified(run: Run) -> Run:
    """The branch is a run as any other."""
    verdict = run.verify()
    assert verdict.passed, verdict.told()
    assert not verdict.document["drifts"], verdict.told()
    return run


def test_a_step_that_is_asked_again_costs_nothing_before_it(either: Bench) -> None:
    bench = either
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=6), env=settings(server))
        before, asked = parent.path.read_bytes(), len(server.requests)
        (bench.folder / "notes.txt").unlink()
        branch = verified(made(bench, fork(bench, f"{parent.path.stem}@4", server=server)))
        assert len(server.requests) - asked == 3
    assert parent.path.read_bytes() == before
    was, now = parent.text.splitlines(), branch.text.splitlines()
    assert now[:3] == was[:3]
    assert [line.split()[2] for line in now[3:]] == ["7", "8", "9"]
    bodies = [[tape.body(event) for event in tape.events] for tape in (parent.tape, branch.tape)]
    assert bodies[0][:4] == bodies[1][:4]
    assert bodies[0][4] != bodies[1][4]
    assert not (bench.folder / "notes.txt").exists(), "files of a branch are copies"


def test_another_answer_takes_another_way(bench: Bench) -> None:
    (bench.folder / "answer.txt").write_text("given by hand\n")
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=4), env=settings(server))
        done = fork(bench, "last", "--step", "2", "--response", "answer.txt", server=server)
        branch = verified(made(bench, done))
        assert len(server.requests) == 4 + 2
    assert branch.text.splitlines()[1] == "1 given by hand"
    assert b"given by hand" in branch.tape.body(branch.tape.events[2])
    assert b"given by hand" not in parent.path.read_bytes()


def test_what_was_under_way_at_the_step_has_the_answer_that_it_had(bench: Bench) -> None:
    with ModelServer(Counting(), chunk_delay=0.01) as server:
        parent = bench.record(SEVERAL, env=settings(server))
        asked = len(server.requests)
        branch = verified(made(bench, fork(bench, "last", "--step", "12", server=server)))
        live = len(server.requests) - asked
    assert len(branch.tape.events) == len(parent.tape.events)
    assert branch.tape.branch is not None
    answers = [
        event for event in branch.http if event.id < branch.tape.inherited and event.id != branch.tape.branch.event
    ]
    assert live == 24 - len(answers)
    assert 11 <= len(answers) < 24


def test_threads_are_forked_too(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        parent = bench.record(THREADS, env=settings(server))
        branch = verified(made(bench, fork(bench, "last", "--step", "6", server=server)))
    assert len(branch.http) == len(parent.http) == 12


def effects(bench: Bench, *options: str, env: Sequence[str] = ()) -> tuple[Run, Run, ModelServer, list[str]]:
    """A run with effects, a branch of it from its first step, and what the world has seen of the latter."""
    del env
    outside = bench.folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    told = outside / "effects"
    with ModelServer(refunding) as server:
        parent = bench.record(TOOLS, env={**settings(server), "EFFECTS": str(told)})
        for path in outside.iterdir():
            path.unlink()
        asked = len(server.requests)
        branch = verified(made(bench, fork(bench, "last", "--step", "1", *options, server=server, EFFECTS=str(told))))
        seen = [f"{request.method} {request.path}" for request in server.requests[asked:]]
    return parent, branch, server, seen


def test_nothing_is_done_to_the_world_that_nobody_has_allowed(bench: Bench) -> None:
    _, branch, _, seen = effects(bench)
    assert branch.text.splitlines()[0].startswith("failed: [Errno 1] reenact refused tool:refund")
    assert branch.text.count("reenact refused") >= 3
    assert [line for line in seen if line.endswith("/orders")] == ["GET /orders"]
    told = branch.stderr.decode()
    for label in ("tool:refund", "process:touch", "http:POST http://127.0.0.1"):
        assert f"refused   {label}" in told, "it is said before"
        assert f"reenact: {label}" in told, "and after"


def test_what_starts_unseen_or_needs_no_connection_is_refused_too(bench: Bench) -> None:
    program = (
        CHAT.format(steps=1)
        + """
    import os, socket

    def fork():
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)

    def post():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
            sending.sendto(b"counted", ("127.0.0.1", 9))

    for act in (fork, lambda: os.posix_spawn("/bin/true", ["true"], {}), post):
        try:
            act()
            print("done")
        except PermissionError as error:
            print(error)
"""
    )
    with ModelServer(Counting()) as server:
        parent = bench.record(program, env=settings(server))
        branch = verified(made(bench, fork(bench, "last@1", server=server)))
    assert parent.text.splitlines()[1:] == ["done"] * 3
    refused = [line.split()[4] for line in branch.text.splitlines()[1:]]
    assert refused[0] == "process:os.fork"
    assert refused[1].startswith("process:")
    assert refused[2] == "connect:messages"


def test_what_is_allowed_is_done(bench: Bench) -> None:
    _, branch, _, seen = effects(bench, "--allow", "http:127.0.0.1", "--allow", "tool:refund")
    assert branch.text.splitlines()[0] == '{"refunded": 20}'
    assert "POST /orders" in seen
    assert branch.text.count("reenact refused process:touch") == 1


def test_what_the_parent_knows_may_answer(bench: Bench) -> None:
    parent, branch, _, seen = effects(bench, "--from-tape", "tool:*", "--from-tape", "http:*")
    assert branch.text.splitlines()[0] == '{"refunded": 20}' == parent.text.splitlines()[0]
    assert "POST /orders" not in seen
    assert b"tool:refund: answered from tape" in branch.stderr


def test_models_may_be_asked_elsewhere(bench: Bench) -> None:
    with ModelServer(Counting()) as server, ModelServer(lambda _: Say("from elsewhere")) as other:
        bench.record(CHAT.format(steps=3), env=settings(server))
        asked = len(server.requests)
        branch = verified(made(bench, fork(bench, "last@2", "--live-endpoint", other.openai, server=server)))
        assert (len(server.requests) - asked, len(other.requests)) == (0, 2)
        assert all(b"sk-test-only" not in str(request.headers).encode() for request in other.requests)
    assert branch.text.splitlines()[1:] == ["1 from elsewhere", "2 from elsewhere"]
    assert [(sent.event, sent.name) for sent in branch.tape.sent] == [
        (event.id, f"POST {other.openai}/chat/completions") for event in branch.http[1:]
    ]


def test_another_model_is_asked_and_it_stands_on_tape(bench: Bench) -> None:
    with ModelServer(lambda turn: Say(f"I am {turn.model}")) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        branch = verified(made(bench, fork(bench, "last@2", "--model", "gpt-5-mini", server=server)))
    assert branch.text.splitlines() == ["0 I am gpt-5", "1 I am gpt-5-mini", "2 I am gpt-5-mini"]
    asked = branch.http[2]
    assert json.loads(branch.tape.body(asked))["model"] == "gpt-5", "the program asks as it did"
    sent = branch.tape.sent_for(asked)
    assert sent is not None
    assert json.loads(sent[1])["model"] == "gpt-5-mini"
    assert branch.tape.sent_for(branch.http[0]) is None


def test_the_model_is_told_something_else_from_there_on(bench: Bench) -> None:
    (bench.folder / "patch.json").write_text(
        json.dumps([{"op": "replace", "path": "/0/content", "value": "another beginning"}])
    )
    with ModelServer(lambda turn: Say(f"{len(turn.messages)}: {turn.messages[0].text[:17]}")) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        done = fork(bench, "last@2", "--context", "patch.json", server=server)
        branch = verified(made(bench, done))
    assert branch.text.splitlines()[1:] == ["1 3: another beginning", "2 5: another beginning"]
    assert branch.text.startswith("0 1: question 0")


def test_an_answer_is_edited_in_an_editor(bench: Bench) -> None:
    editor = bench.folder / "editor.sh"
    editor.write_text('#!/bin/sh\ncp "$1" shown.txt\nsed -i \'s/answer 2/answer two/\' "$1"\n')
    editor.chmod(0o755)
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        done = fork(bench, "last@2", "--edit", server=server, EDITOR=str(editor))
        branch = verified(made(bench, done))
    assert branch.text.splitlines()[1] == "1 answer two to question"
    assert (bench.folder / "shown.txt").read_text().startswith("answer 2 to question\n")


LOOKUP = """
    import json, os
    import openai
    {mark}
    def lookup(city):
        return json.dumps({{"city": city, "hour": 19}})

    client = openai.OpenAI(max_retries=0)
    history = [{{"role": "user", "content": "when?"}}]
    tools = [{{"type": "function", "function": {{"name": "lookup", "parameters": {{"type": "object"}}}}}}]
    while True:
        message = client.chat.completions.create(model="gpt-5", messages=history, tools=tools).choices[0].message
        history.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls or ():
            result = lookup(**json.loads(call.function.arguments))
            history.append({{"role": "tool", "tool_call_id": call.id, "content": result}})
        if not message.tool_calls:
            break
    print(message.content, "and I had", result)
"""


@pytest.mark.parametrize("is_boundary", [True, False])
def test_a_tool_gives_another_result(bench: Bench, is_boundary: bool) -> None:
    def model(turn: Turn) -> Reply:
        results = [result.text for message in turn.messages for result in message.results]
        return Say(f"it was {results[-1]}") if results else Call("lookup", {"city": "Oslo"})

    (bench.folder / "result.txt").write_text('{"city": "Oslo", "hour": 7}')
    with ModelServer(model) as server:
        mark = "import reenact\n    @reenact.tool" if is_boundary else ""
        bench.record(LOOKUP.format(mark=mark), env=settings(server))
        done = fork(bench, "last@1", "--tool-result", "lookup=result.txt", server=server)
        branch = verified(made(bench, done))
    said, own = branch.text.split(" and I had ")
    assert said == 'it was {"city": "Oslo", "hour": 7}'
    assert ('"hour": 7' in own) is is_boundary, "of a tool that is no boundary the program has what it had"
    assert b"another result of lookup" in branch.stderr


def test_edits_that_do_not_fit_are_told_before_anything_starts(bench: Bench) -> None:
    (bench.folder / "x").write_text("answer 2 to question")
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        for options, words in (
            (("--response", "x"), b"that is what the model answered"),
            (("--response", "nothing"), b"nothing cannot be read (No such file or directory): name a file"),
            (("--tool-result", "lookup=x"), b"does not call 'lookup'"),
            (("--context", "x"), b"patch"),
            (("--response", "x", "--response", "x"), b"step 2 has 2 other answers"),
            (("--live-endpoint", "here"), b"no base URL"),
            (("--key-env", "NO_SUCH"), b"NO_SUCH is not set"),
        ):
            done = fork(bench, "last@2", *options, server=server)
            assert done.status == 2, (options, done.stderr)
            assert words in done.stderr, (options, done.stderr)
        assert len(server.requests) == 2
    assert len(bench.store.ids()) == 1


def test_several_branches_and_their_tree(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=3), env=settings(server)).path.stem
        assert fork(bench, parent, "--step", "2", "--n", "3", "--name", "child", server=server).status == 0
        children = [run for run in bench.store.ids() if run.startswith("child")]
        assert len(children) == 3
        grandchild = verified(made(bench, fork(bench, f"{children[0]}@3", "--name", "deeper", server=server)))
    told = json.loads(bench.run("-m", "reenact", "branches", grandchild.path.stem, "--json").stdout)
    assert (told[0]["id"], told[0]["depth"], told[0]["step"]) == (parent, 0, 0)
    assert sorted((row["depth"], row["parent"], row["step"]) for row in told[1:]) == sorted(
        [(1, parent, 2)] * 3 + [(2, children[0], 3)]
    )
    for run in (parent, children[0]):
        done = bench.run("-m", "reenact", "rm", run, "--yes")
        assert done.status == 2
        assert b"cannot be read without it" in done.stderr
    assert len(bench.store.ids()) == 5
    assert bench.run("-m", "reenact", "rm", grandchild.path.stem, children[0], "--yes").status == 0


def test_a_branch_without_its_parent_is_refused(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=2), env=settings(server)).path
        branch = made(bench, fork(bench, "last@2", server=server))
        whole = bench.run("-m", "reenact", "scrub", branch.path.stem, "--name", "whole")
        other = bench.record(CHAT.format(steps=2), env=settings(server)).path
    kept = parent.read_bytes()
    parent.unlink()
    for command in ("verify", "show", "fsck"):
        done = bench.run("-m", "reenact", command, branch.path.stem)
        assert done.status in (1, 2)
        assert b"which is not in" in done.stdout + done.stderr
    parent.write_bytes(other.read_bytes())
    assert b"branch of another" in (done := bench.run("-m", "reenact", "verify", branch.path.stem)).stderr, done
    assert whole.status == 0
    assert bench.run("-m", "reenact", "verify", "whole").status == 0
    parent.write_bytes(kept)
    verified(branch)


def test_a_branch_holds_only_what_is_new(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=30), env=settings(server))
        branch = made(bench, fork(bench, "last@30", server=server))
    assert branch.path.stat().st_size <= 20_000 < parent.path.stat().st_size
    with sqlite3.connect(branch.path) as db:
        assert [row[0] for row in db.execute("SELECT id FROM event")] == []
    assert len(branch.tape.events) == 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--step", "9"), b"has no step 9: it has 2"),
        ((), b"say from which step"),
        (("--code", "--step", "1"), b"takes no step"),
        (("--step", "1"), b"models would be asked"),
    ],
)
def test_misuse_is_told(bench: Bench, options: tuple[str, ...], words: bytes) -> None:
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        done = bench.run("-m", "reenact", "fork", "last", *options, env=settings(server))
    assert done.status == 2
    assert words in done.stderr
    assert len(bench.store.ids()) == 1


def test_no_secret_of_the_environment_is_in_a_branch(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        branch = made(bench, fork(bench, "last@1", server=server))
    assert b"sk-test-only" not in branch.path.read_bytes()
    assert Path(branch.path).stat().st_mode & 0o777 == 0o600


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("question", "Question", 3),  # another prompt from the first step on
        ('history.append({"role": "assistant"', 'n == 1 and said.upper(); history.append({"role": "assistant"', 0),
        ('"content": said}', "\"content\": said + '!' * (n == 1)}", 1),  # another one from the third on
        ("print(n, said", "print(n, said[::-1] if n == 2 else said", 0),  # nothing else is asked
    ],
)
def test_the_program_as_it_is_now_goes_live_where_it_leaves_the_tape(
    bench: Bench, old: str, new: str, asked: int
) -> None:
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        program = bench.folder / "agent.py"
        program.write_text(program.read_text().replace(old, new))
        before = len(server.requests)
        done = fork(bench, "last", "--code", server=server)
        assert len(server.requests) - before == asked
        if "upper" in new:
            assert b"there is nothing to fork" in done.stdout
            return
        verified(made(bench, done))


def test_a_changed_answer_of_a_killed_branch_is_still_there(bench: Bench) -> None:
    (bench.folder / "answer.txt").write_text("given by hand\n")

    class Deadly(Counting):
        def __call__(self, turn: Turn) -> Reply:
            if self.count == 5:
                self.count += 1
                os.kill(int(dict(turn.request.headers)["x-pid"]), signal.SIGKILL)
            return super().__call__(turn)

    program = CHAT.format(steps=4).replace(
        "messages=history)", 'messages=history, extra_headers={"x-pid": str(os.getpid())})'
    )
    with ModelServer(Deadly()) as server:
        bench.record(program, env=settings(server))
        killed = fork(bench, "last@2", "--response", "answer.txt", "--name", "child", server=server)
        assert killed.status != 0
        resumed = bench.run("-m", "reenact", "resume", "last", "--retry", env=settings(server))
    assert resumed.status == 0, resumed.stderr.decode()
    run = Run(bench, bench.store.path(resumed.stderr.decode().rpartition("recorded ")[2].partition(":")[0]), resumed)
    assert b"1 given by hand" in resumed.stdout
    assert not (bench.folder / "notes.txt").read_text().count("given by hand"), "files of a branch are copies"
    verified(run)


@pytest.mark.parametrize("way", ["new", "new/deeper", "link"])
def test_tapes_in_a_folder_that_the_run_did_not_know_stay(either: Bench, way: str) -> None:
    bench, tells = either, 'print(sorted(os.listdir()), os.path.exists("other"), flush=True)'
    with ModelServer(Counting()) as server:
        parent = bench.record(CHAT.format(steps=2) + f"\n    {tells}", env=settings(server))
        for folder in ("new/deeper", "other"):
            (bench.folder / folder).mkdir(parents=True)
        (bench.folder / "link").symlink_to("new")
        (here := bench.folder / way / "temporary").mkdir()
        tapes = Store(Path(shutil.move(bench.store.root, (bench.folder / way).resolve() / "tapes")))
        before = {path.name: path.read_bytes() for path in tapes.root.iterdir() if path.is_file()}
        there = ("--store", f"{way}/tapes")
        done = fork(bench, "last@2", *there, server=server, TMPDIR=str(here))
        replayed = bench.run("-m", "reenact", "replay", "--quiet", parent.path.stem, *there, env={"TMPDIR": str(here)})
    assert {path.name: path.read_bytes() for path in tapes.root.iterdir() if path.name in before} == before
    assert len(tapes.ids()) == 2
    assert (bench.folder / "other").is_dir()
    assert not [*here.iterdir()]
    same(parent.stdout.replace(b"answer 2", b"answer 3"), done.stdout, "stdout recorded and forked")
    same(parent.stdout, replayed.stdout, "stdout recorded and replayed")
    assert (done.status, replayed.status) == (0, 0)
