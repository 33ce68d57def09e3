"""Runs that begin and end in code: `with reenact.record()` and `@reenact.record`, verified from the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from reenact.tape.reader import read
from reenact.testing import Call, ModelServer, Say
from reenact.testing.turn import Turn
from tests.runs import Bench, Done, settings

MANY_RUNS = """
    import asyncio, dataclasses, random, time, uuid
    import httpx2, reenact

    client = httpx2.AsyncClient(timeout=30)  # made before any recording

    @dataclasses.dataclass
    class Question:
        text: str
        parts: int

    async def ask(base, text):
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        answer = await client.post(base + "/chat/completions", json=body)
        return answer.json()["choices"][0]["message"]["content"]

    @reenact.record
    async def answer(base, question: Question, *, tag: str):
        asks = [f"{question.text} {i} {uuid.uuid4()} {random.random()} {time.time()}" for i in range(question.parts)]
        said = await asyncio.gather(*(ask(base, text) for text in asks))
        print(tag, "asked", len(asks))
        return said

    async def main(base):
        runs = (answer(base, Question(f"question {n}", 3), tag=f"tag {n}") for n in range(6))
        for said in await asyncio.gather(*runs):
            print(said)
        try:
            await answer("http://127.0.0.1:9", Question("nobody there", 1), tag="last")
        except httpx2.ConnectError as error:
            print("refused", error)

    if __name__ == "__main__":
        import os
        asyncio.run(main(os.environ["OPENAI_BASE_URL"]))
"""

THREADS = """
    import os, random
    from concurrent.futures import ThreadPoolExecutor
    import requests, reenact

    @reenact.record("threaded")
    def answer(base: str, number: int) -> str:
        text = f"question {number} {random.randint(1, 10**9)} {random.choice('abcdef')}"
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        said = requests.post(base + "/chat/completions", json=body, timeout=30).json()
        return said["choices"][0]["message"]["content"]

    if __name__ == "__main__":
        base = os.environ["OPENAI_BASE_URL"]
        with ThreadPoolExecutor(4) as pool:
            print(sorted(pool.map(answer, [base] * 8, range(8))))
"""

BLOCK = """
    import os, time
    import httpx, reenact

    client = httpx.Client(timeout=30)
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    print("before the block")
    with reenact.record("greeting") as run:
        print(client.post(url, json=body).json()["choices"][0]["message"]["content"], time.time())
        with reenact.record("inner") as inner:  # inside a run that is recorded already it does nothing
            print("inner", repr(inner.id))
    print(run.id)
"""

BUSY_THREAD = """
    import asyncio, time
    import reenact

    def compute(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass

    def work(loop, called):
        compute(0.15)
        loop.call_soon_threadsafe(called.append, "by the thread")
        compute(0.15)

    @reenact.record
    async def wait():
        called = []
        job = asyncio.create_task(asyncio.to_thread(work, asyncio.get_running_loop(), called))
        await asyncio.sleep(0.02)  # runs out while the thread computes
        await job
        print("came", called)

    if __name__ == "__main__":
        asyncio.run(wait())
"""

LET_GO = """
    import asyncio, os
    import httpx2, reenact

    async def numbers():
        for number in range(9):
            yield number

    async def ask(client, text):
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        return (await client.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body)).status_code

    @reenact.record
    async def answer():
        async with httpx2.AsyncClient() as client:
            async for _ in numbers():
                break
            await asyncio.sleep(0.01)  # the loop closes it meanwhile, in a task
            print(await asyncio.gather(ask(client, "one"), ask(client, "two")))

    if __name__ == "__main__":
        asyncio.run(answer())
"""


def echo(turn: Turn) -> Say | Call:
    """Says what it was asked."""
    return Say(f"you said: {turn.prompt}")


@dataclass(frozen=True)
class Recorded:
    """A program that recorded runs of its own, after its server is gone."""

    bench: Bench
    done: Done

    def verify(self, run_id: str) -> Mapping[str, object]:
        done = self.bench.run("-m", "reenact", "verify", run_id, "--json")
        document: dict[str, object] = json.loads(done.stdout)
        return {"status": done.status, **document}


def recorded(bench: Bench, program: str, env: Mapping[str, str] | None = None) -> Recorded:
    with ModelServer(echo) as server:
        done = bench.plain(program, env={**settings(server), **(env or {})})
    assert done.status == 0, done.stderr.decode()
    return Recorded(bench, done)


def test_many_runs_at_once_in_one_loop_are_on_tapes_of_their_own_and_verify(bench: Bench) -> None:
    run = recorded(bench, MANY_RUNS)
    ids = bench.store.ids()
    assert len(ids) == 7
    assert run.done.stdout.count(b"asked 3") == 6
    for run_id in ids:
        verified = run.verify(run_id)
        assert verified["status"] == 0, json.dumps(verified, indent=1)[:3000]


def test_runs_in_threads_are_on_tapes_of_their_own_and_verify(bench: Bench) -> None:
    run = recorded(bench, THREADS)
    ids = bench.store.ids()
    assert len(ids) == 8
    assert all(run_id.startswith("threaded-") for run_id in ids)
    assert len({(bench.store.path(run_id)).read_bytes() for run_id in ids}) == 8
    for run_id in ids:
        verified = run.verify(run_id)
        assert verified["status"] == 0, json.dumps(verified, indent=1)[:3000]


def test_a_timer_comes_while_a_thread_holds_the_baton_and_gives_its_loop_something_to_run(bench: Bench) -> None:
    run = recorded(bench, BUSY_THREAD)
    assert run.done.stdout == b"came ['by the thread']\n"
    (run_id,) = bench.store.ids()
    for _ in range(2):
        verified = run.verify(run_id)
        assert verified["status"] == 0, json.dumps(verified, indent=1)[:3000]


def test_a_loop_that_runs_already_closes_generators_as_it_does_in_replay(bench: Bench) -> None:
    run = recorded(bench, LET_GO)
    verified = run.verify(bench.store.ids()[0])
    assert verified["status"] == 0, json.dumps(verified, indent=1)[:3000]


def test_a_block_is_recorded_and_its_program_replays_it(bench: Bench) -> None:
    run = recorded(bench, BLOCK)
    (run_id,) = bench.store.ids()
    lines = run.done.stdout.decode().splitlines()
    assert lines[0] == "before the block"
    assert lines[2] == "inner ''"
    assert lines[3] == run_id
    assert run.verify(run_id)["status"] == 0
    replayed = bench.run("-m", "reenact", "replay", "--quiet", run_id)
    assert replayed.stdout.decode().splitlines() == lines[:3]


def test_a_changed_function_diverges(bench: Bench) -> None:
    run = recorded(bench, THREADS)
    program = bench.folder / "agent.py"
    program.write_text(program.read_text().replace("question {number}", "query {number}"))
    verified = run.verify(bench.store.ids()[0])
    assert verified["status"] == 1
    assert "query" in json.dumps(verified)


def test_reenact_enabled_false_turns_it_off(bench: Bench) -> None:
    recorded(bench, BLOCK, {"REENACT_ENABLED": "false"})
    assert bench.store.ids() == []


TYPED = """
    from __future__ import annotations
    import dataclasses, enum, logging, sys
    from typing import TYPE_CHECKING, NamedTuple
    import pydantic, reenact
    from shop import Desk, wrap
    if TYPE_CHECKING:
        from gone import Gone  # as type checkers want it: nothing at run time

    log = logging.getLogger(__name__)
    logging.basicConfig(format="%(name)s %(message)s")

    @dataclasses.dataclass(frozen=True, slots=True)
    class Line:
        number: int
        price: float

    class Level(enum.Enum):
        LOW = "low"

    class Order(pydantic.BaseModel):
        lines: list[Line]
        level: Level | None = None

    class Point(NamedTuple):
        x: int

    @reenact.record
    def work(order: Order, *rest: Gone, level: Level | None = None, **more: dict[str, Line]) -> list[object]:
        log.warning("at work, %s", sys.argv[1:])
        print(repr(order), rest, level, more)
        return [order, rest, more]

    class Agent:
        def __init__(self, name): self.name = name

        @reenact.record
        def plan(self, *orders: Order): print(vars(self), orders)

        @reenact.record
        @classmethod
        def make(cls, name: str = "x"): print(cls, name)

        @staticmethod
        @reenact.record
        def rest(names: set[int]): print(names)

        @reenact.record("later")
        async def later(self, desk): print(desk)

    class Other(Agent): pass

    if __name__ == "__main__":
        import asyncio
        one = Order(lines=[Line(1, 2), Line(3, 4.5)], level=Level.LOW)
        work(one, Point(1), (2, one), level=Level.LOW, first={"a": Line(0, 0)}, key=None)
        Agent("front").plan(one, one)
        Other.make()
        Agent.rest({2, 1})
        asyncio.run(Agent("back").later(Desk("oak")))
        wrap(Line(7, 8))
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", [["agent.py", "Oslo"], ["-m", "agent", "Oslo"], ["-m", "pkg.agent", "Oslo"]])
def test_arguments_come_back_in_their_types(bench: Bench, way: list[str]) -> None:
    (bench.folder / "pkg").mkdir()
    (bench.folder / "shop.py").write_text(
        "import dataclasses, reenact\n@dataclasses.dataclass\nclass Desk:\n    wood: str\n"
        "@reenact.record\ndef wrap(thing): print('wrapped', thing)\n",
        encoding="utf-8",
    )
    bench.write(TYPED)
    (bench.folder / "pkg" / "agent.py").write_bytes((bench.folder / "agent.py").read_bytes())
    done = bench.run(*way)
    assert done.status == 0, done.stderr.decode()
    assert done.stderr == b"__main__ at work, ['Oslo']\n"
    assert len(bench.store.ids()) == 6
    said = []
    for run_id in bench.store.ids():
        replayed = bench.run("-m", "reenact", "replay", "--quiet", run_id)
        assert replayed.status == 0, replayed.stderr.decode()
        verified = Recorded(bench, done).verify(run_id)
        assert verified["status"] == 0, json.dumps(verified, indent=1)[:3000]
        said += replayed.stdout.splitlines()
    assert sorted(said) == sorted(done.stdout.splitlines())


def test_arguments_that_cannot_be_kept_are_told_once_and_the_call_is_recorded_all_the_same(bench: Bench) -> None:
    program = """
        import reenact

        class Handle:
            def __init__(self): self.view = memoryview(b"x")

        @reenact.record
        def use(handle):
            print("used")

        use(Handle())
        use(handle=Handle())
    """
    run = recorded(bench, program)
    assert run.done.stdout == b"used\n" * 2
    told = run.done.stderr.decode().splitlines()
    assert len(told) == 2
    assert told[1] == "  see docs/errors.md#argument"
    assert told[0].startswith(
        "reenact: error[argument]: __main__:use is recorded, but cannot be replayed: "
        "its argument handle.view is a memoryview, which cannot be kept. Give it data"
    )
    for run_id in bench.store.ids():
        done = bench.run("-m", "reenact", "verify", run_id)
        assert done.status == 2
        assert b"__main__:use cannot be called again: its argument handle.view is a memoryview" in done.stderr


def test_a_function_that_is_gone_is_told_and_is_no_divergence(bench: Bench) -> None:
    recorded(bench, THREADS)
    program = bench.folder / "agent.py"
    program.write_text(program.read_text().replace("def answer", "def respond").replace("map(answer", "map(respond"))
    for command in (["verify"], ["replay"]):
        done = bench.run("-m", "reenact", *command, bench.store.ids()[0])
        assert done.status == 2
        assert b"the recorded function __main__:answer is not to be found" in done.stderr


@pytest.mark.parametrize("made", ["functools.partial(work, 1)", "Work()"])
def test_a_callable_object_works_as_it_did(bench: Bench, made: str) -> None:
    program = f"""
        import functools, reenact

        def work(a, b): return a + b

        class Work:
            def __call__(self, b): return 1 + b

        work = reenact.record({made})
        print(work(2))
    """
    assert recorded(bench, program).done.stdout == b"3\n"


def test_a_store_that_cannot_be_written_does_not_keep_the_function_from_running(bench: Bench) -> None:
    (bench.folder / "file").write_text("no folder")
    program = """
        import reenact

        @reenact.record
        def add(a: int, b: int) -> int:
            return a + b

        with reenact.record("x", store="file/store"):
            print(add(1, 2))
    """
    run = recorded(bench, program)
    assert run.done.stdout == b"3\n"
    assert b"is not recorded" in run.done.stderr


@pytest.mark.parametrize("way", [["agent.py", "a", "--b"], ["-m", "agent", "a"], ["-X", "utf8", "agent.py"]])
def test_reenact_record_1_records_any_python_command_line(bench: Bench, way: list[str]) -> None:
    bench.write("""
        import sys
        print(__name__, sys.argv[1:], sys.orig_argv[1:])
        sys.exit(3)
    """)
    plain = bench.run(*way)
    done = bench.run(*way, env={"REENACT_RECORD": "1"})
    assert (done.status, done.stdout) == (3, plain.stdout)
    (run_id,) = bench.store.ids()
    assert bench.run("-m", "reenact", "verify", run_id).status == 0


GENERATORS = """
    import asyncio, os, uuid
    import httpx, reenact

    def ask(text):
        body = {"model": "m", "messages": [{"role": "user", "content": f"{text} {uuid.uuid4()}"}]}
        return httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body).status_code

    @reenact.record
    def count(most):
        for number in range(most):
            sent = yield ask(f"{number}")
            if sent is not None:
                print("was sent", sent, ask("sent"))
        try:
            yield ask("last but one")
        finally:
            print("closes", ask("last"))
        return "counted"

    @reenact.record("stream")
    async def stream(most):
        try:
            for number in range(most):
                await asyncio.sleep(0.001)
                yield {"number": number, "status": ask(f"stream {number}")}
        finally:
            print("closes", ask("closing"))

    class Service:
        @reenact.record
        def numbers(self, most):
            yield from range(most)
            raise ValueError("no more")

    async def main():
        streams = [stream(3), stream(2)]
        print([await asyncio.gather(*(anext(one) for one in streams)) for _ in range(2)])
        await streams[1].aclose()
        print([item async for item in streams[0]])

    if __name__ == "__main__":
        whole = count(2)
        print(next(whole), ask("in between, in nobody's sight"), whole.send("x"), list(whole))
        half = count(9)
        print(next(half), next(half))
        half.close()
        asyncio.run(main())
        try:
            print(list(Service().numbers(2)))
        except ValueError as error:
            print(error)
        never = count(1)
        never.close()
"""


def test_a_generator_is_a_run_while_it_is_asked(bench: Bench) -> None:
    with ModelServer(lambda _: Say("yes")) as server:
        done = bench.run(bench.write(GENERATORS), env=settings(server))
    assert done.status == 0, done.stderr.decode()
    assert not done.stderr, done.stderr.decode()
    found = {}
    for run_id in bench.store.ids():
        verified = json.loads(bench.run("-m", "reenact", "verify", run_id, "--json").stdout)
        assert verified["verdict"] == "verified", verified
        kinds = verified["boundaries"]["kinds"]
        found.setdefault(run_id.rpartition("-")[0], []).append(kinds.get("http", 0))
    # each of its asks, but not that in between; what was abandoned asked no more than it did
    assert {name: sorted(counts) for name, counts in found.items()} == {
        "count": [2, 5],
        "stream": [3, 4],
        "numbers": [0],
    }


@pytest.mark.slow
def test_a_generator_that_asks_for_something_else_diverges(bench: Bench) -> None:
    with ModelServer(lambda _: Say("yes")) as server:
        bench.run(bench.write(GENERATORS), env=settings(server))
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace('ask(f"stream {number}")', 'ask(f"strom {number}")'))
    statuses = {
        run_id: bench.run("-m", "reenact", "verify", run_id).status
        for run_id in bench.store.ids()
        if run_id.startswith("stream")
    }
    assert list(statuses.values()) == [1, 1]


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run(['sh', '-c', 'echo started >> starts.log'])",
        "os.system('echo started >> starts.log')",
        "asyncio.run(shell('echo started >> starts.log'))",
        "os.popen('echo started >> starts.log').close()",
    ],
)
def test_a_child_of_a_run_in_code_is_told_and_not_started_again(bench: Bench, start: str) -> None:
    program = f"""
        import asyncio, os, subprocess
        import reenact
        async def shell(command):
            await (await asyncio.create_subprocess_shell(command)).wait()
        @reenact.record
        def work():
            try:
                {start}
            except Exception as error:
                print("caught", error)
        if __name__ == "__main__":
            work()
            subprocess.run(["true"])  # outside of the run
    """
    done = bench.run(bench.write(program))
    assert (done.status, done.stdout) == (0, b"")
    (run_id,) = bench.store.ids()
    (note,) = [note for note, _ in read(bench.store.path(run_id)).notes]
    assert note.slug == "child"
    assert "was started; a replay of a run in code does not" in note.text
    verified = bench.run("-m", "reenact", "verify", run_id, "--json")
    assert verified.status == 1
    (found,) = json.loads(verified.stdout)["divergences"]
    assert found["what"] == "extra"
    assert found["actual"]["name"].startswith("start `")
    assert (bench.folder / "starts.log").read_text() == "started\n"
