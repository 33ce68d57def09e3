"""Branches of recorded functions, which are called again in a process of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from reenact.testing import ModelServer
from tests.branch.test_fork import Counting, fork, made, verified
from tests.runs import Bench, Done, settings

PLAIN = """
    import os, random, subprocess, sys
    import openai, reenact

    @reenact.tool
    def roll(sides):
        print("rolled", file=sys.stderr)
        return random.randint(1, sides)

    class Desk:
        @reenact.record
        def serve(self, name, *, steps):
            client, said = openai.OpenAI(max_retries=0), []
            for n in range(steps):
                asked = [{"role": "user", "content": f"{name} {n} {roll(6)} {random.random()} {said}"}]
                said.append(client.chat.completions.create(model="gpt-5", messages=asked).choices[0].message.content)
                print(n, said[-1], flush=True)
            open("said.txt", "w").write(repr(said))
            return said

    if __name__ == "__main__":
        print("result", Desk().serve("ada", steps=4))
"""
GENERATOR = """
    import openai, reenact

    @reenact.record
    def talk(steps):
        client = openai.OpenAI(max_retries=0)
        for n in range(steps):
            asked = [{"role": "user", "content": f"{n}"}]
            yield client.chat.completions.create(model="gpt-5", messages=asked).choices[0].message.content

    if __name__ == "__main__":
        for n, said in enumerate(talk(9)):
            if n == 3:
                break
"""
STARTS = """
    import os, subprocess, sys, threading
    from multiprocessing import Process
    import openai, reenact

    def effect(name):
        return [sys.executable, "-S", "-c", f"open({os.environ['EFFECTS']!r}, 'a').write({name!r})"]

    for start in (lambda: subprocess.run(effect("import "), check=True), lambda: os.system("true")):
        try:
            start()
        except OSError as error:
            print("refused", error)

    def touch():
        open(os.environ["EFFECTS"], "a").write("process ")

    @reenact.record
    def work():
        asked = [{"role": "user", "content": "?"}]
        said = openai.OpenAI(max_retries=0).chat.completions.create(model="gpt-5", messages=asked)
        for start in (lambda: subprocess.run(effect("child "), check=True), lambda: Process(target=touch).start()):
            try:
                start()
            except OSError as error:
                print("in it:", error)

    if __name__ == "__main__":
        work()
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that numbers its answers."""
    with ModelServer(Counting()) as server:
        yield server


def ran(bench: Bench, server: ModelServer, program: str, **env: str) -> tuple[str, Done]:
    """The one run that a program records of itself."""
    done = bench.plain(program, env={**settings(server), **env})
    assert done.status == 0, done.stderr.decode()
    (run,) = bench.store.ids()
    return run, done


def test_a_function_is_called_again_and_goes_on_another_way(either: Bench, server: ModelServer) -> None:
    bench = either
    run, parent = ran(bench, server, PLAIN)
    (bench.folder / "said.txt").unlink()
    (bench.folder / "answer.txt").write_text("given by hand")
    options = ("--response", "answer.txt", "--allow", "tool:roll")
    done = fork(bench, f"{run}@3", *options, server=server)
    branch = verified(made(bench, done))
    assert len(server.requests) == 4 + 1
    was, now = parent.stdout.decode().splitlines(), branch.text.splitlines()
    assert now[:2] == was[:2]
    assert now[2] == "2 given by hand"
    assert now[3].startswith("3 answer 5 ")
    assert "result" not in branch.text
    assert done.stderr.count(b"rolled") == 1, "the tool runs where it is live"
    assert not (bench.folder / "said.txt").exists(), "files of a branch are copies"
    ended = branch.tape.ended
    assert ended is not None
    assert json.loads(ended.result)[2] == "given by hand"
    assert branch.tape.branch is not None


def test_branches_of_a_branch_and_several_at_once(bench: Bench, server: ModelServer) -> None:
    run, _ = ran(bench, server, PLAIN)
    made(bench, fork(bench, f"{run}@2", "--from-tape", "tool:*", server=server))
    done = fork(bench, "last@3", "--n", "3", "--json", "--from-tape", "tool:*", server=server)
    assert done.status == 0, done.stderr.decode()
    assert [one["outcome"] for one in json.loads(done.stdout)] == ["ok"] * 3
    for run_id in bench.store.ids():
        assert bench.run("-m", "reenact", "verify", run_id).status == 0


def test_a_generator_is_asked_as_often_as_it_was(bench: Bench, server: ModelServer) -> None:
    run, _ = ran(bench, server, GENERATOR)
    branch = verified(made(bench, fork(bench, f"{run}@3", server=server)))
    assert len(server.requests) == 4 + 2
    assert len(branch.http) == 4


def test_it_starts_nothing_that_nobody_has_allowed(bench: Bench, server: ModelServer) -> None:
    effects = bench.folder.parent / f"{bench.folder.name}-effects"
    run, _ = ran(bench, server, STARTS, EFFECTS=str(effects))
    before = effects.read_text()
    assert "import " in before
    assert "child " in before
    done = fork(bench, run, "--step", "1", server=server, EFFECTS=str(effects))
    assert done.status == 0, done.stderr.decode()
    assert done.stdout.count(b"refused [Errno 1] reenact starts no process outside") == 2
    assert done.stdout.count(b"in it: [Errno 1] reenact refused") == 2
    assert effects.read_text() == before


def test_the_program_of_today(bench: Bench, server: ModelServer) -> None:
    run, _ = ran(bench, server, PLAIN)
    bench.write(PLAIN.replace("{name} {n} ", "{name.upper()} {n} "))
    done = fork(bench, run, "--code", "--allow", "tool:roll", server=server)
    assert len(server.requests) == 4 + 4
    verified(made(bench, done))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("with reenact.record():\n        print(1)", "is a block of code (with reenact.record())"),
        ("@reenact.record\n    def f(what): pass\n    f(open(__file__))", "cannot be called again"),
    ],
)
def test_what_cannot_be_forked_says_why(bench: Bench, program: str, said: str) -> None:
    done = bench.plain(f"    import reenact\n    {program}\n")
    assert done.status == 0, done.stderr.decode()
    (run,) = bench.store.ids()
    done = bench.run("-m", "reenact", "fork", run, "--code", "--live")
    assert done.status == 2
    assert said in done.stderr.decode()
    assert bench.store.ids() == [run]


def test_a_function_that_is_gone_is_told_and_leaves_nothing(bench: Bench, server: ModelServer) -> None:
    run, _ = ran(bench, server, PLAIN)
    bench.write(PLAIN.replace("def serve", "def serves").replace(".serve(", ".serves("))
    done = fork(bench, f"{run}@2", server=server)
    assert done.status == 2
    assert b"is not to be found" in done.stderr
    assert bench.store.ids() == [run]
