"""Tools that draw from generators of the program: a replay, which runs no tool, has them where the tool left them."""

from __future__ import annotations

import random

import pytest

from reenact.engine.moved import Moves
from reenact.engine.plan import RECORD
from reenact.engine.session import Session
from reenact.seams.system import generators
from reenact.tape.event import Delta, Kind
from reenact.tape.recording import Event
from reenact.testing import ModelServer
from tests.launch.test_resume import Killer, last, resume
from tests.runs import Bench, Run, settings

SHARED = """
    import random, sys, numpy
    import reenact
    own, other = random.Random(7), random.Random()

    class Dice(random.Random):
        def getstate(self):
            sys.exit("nothing of the program's is called to look")

    dice = Dice(3)

    @reenact.tool
    def roll(what):
        if what == "shared":
            return random.randint(0, 10**9)
        if what == "gauss":
            return random.gauss(0, 1)
        if what == "seed":
            return random.seed(5)
        if what == "own":
            return own.random() + dice.random() + random.Random(8).random()
        if what == "numpy":
            return float(numpy.random.normal())
        if what == "fails":
            raise ValueError(random.random())
        return what

    def tell():
        print(random.random(), random.gauss(0, 1), own.random(), other.random(), dice.random(), numpy.random.normal())
"""
EACH = """
    tell()
    for what in ("shared", "gauss", "seed", "own", "nothing", "numpy", "fails"):
        try:
            print(what, roll(what))
        except ValueError as error:
            print(error)
        tell()
"""


def moved(run: Run) -> list[list[str]]:
    """What each tool has moved."""
    return [sorted(event.moved) for event in run.tape.events if event.name.startswith("__main__:")]


def test_each_generator_goes_on_as_it_did(bench: Bench) -> None:
    run = bench.record(SHARED + EACH)
    assert run.status == 0, run.stderr.decode()
    own, dice = "0 __main__:<module> 0", "0 __main__:<module> 2"
    expected = [["random"], ["random"], ["random"], [own, dice], [], ["numpy.random"], ["random"]]
    assert moved(run) == expected
    run.reproduced()


def test_without_reenact_it_says_the_same(bench: Bench) -> None:
    program = SHARED + "    random.seed(1); numpy.random.seed(1); other.seed(2)\n" + EACH
    plain, run = bench.plain(program), bench.record(program)
    assert plain.stdout == run.stdout
    run.reproduced()


def test_tools_in_threads_and_tasks(bench: Bench) -> None:
    run = bench.record("""
        import asyncio, concurrent.futures, random, time
        import reenact

        @reenact.tool
        def slow(name):
            time.sleep(0.02)
            return [name, random.random()]

        @reenact.tool
        async def later(name, delay):
            await asyncio.sleep(delay)
            return [name, random.random()]

        async def work():
            found = await asyncio.gather(later("a", 0.05), later("b", 0.01), asyncio.to_thread(slow, "c"))
            print(found, random.random())
            try:
                await asyncio.wait_for(later("d", 5), 0.05)
            except TimeoutError:
                print("too late", random.random())

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for done in concurrent.futures.as_completed([pool.submit(slow, name) for name in "xyz"]):
                print(done.result())
        print(random.random())
        asyncio.run(work())
        print(random.random())
    """)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


def test_where_others_draw_while_a_tool_does_is_told_and_right_afterwards(bench: Bench) -> None:
    run = bench.record("""
        import asyncio, random, sys
        import reenact

        @reenact.tool
        async def draws():
            first = random.random()
            await asyncio.sleep(0.05)
            return first

        async def beside():
            await asyncio.sleep(0.01)
            print("meanwhile", random.random(), file=sys.stderr)

        async def work():
            await asyncio.gather(draws(), beside())
            print("afterwards", random.random())

        asyncio.run(work())
    """)
    assert run.status == 0, run.stderr.decode()
    told = run.verify().divergences
    assert [(each["what"], each["expected"]["name"]) for each in told] == [("output", "stderr")], told


def test_in_a_run_in_code_too(bench: Bench) -> None:
    program = """
        import random
        import reenact

        @reenact.tool
        def roll(own):
            return random.random()

        @reenact.record
        def work():
            own = random.Random(4)

            @reenact.tool
            def draw():
                return own.random()

            return [roll(1), random.random(), draw(), own.random()]

        if __name__ == "__main__":
            random.seed(3)
            print(work())
    """
    done = bench.run(bench.write(program))
    assert done.status == 0, done.stderr.decode()
    (run_id,) = bench.store.ids()
    verified = bench.run("-m", "reenact", "verify", run_id)
    assert verified.status == 0, verified.stdout.decode()


ASKING = """
    import os, random
    import httpx
    import reenact

    @reenact.tool
    def roll(what):
        return random.random()

    random.seed(6)
    for what in ("a", "b", "c"):
        print(what, roll(what), random.random(), flush=True)
        asked = {"model": "m", "messages": [{"role": "user", "content": what}]}
        headers = {"x-pid": str(os.getpid())}
        httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=asked, headers=headers)
"""


def test_branches_and_resumed_runs_have_it_too(bench: Bench) -> None:
    expected = [line.split() for line in _drawn()]
    with ModelServer(Killer(1)) as server:
        killed = bench.record(ASKING, env=settings(server))
        resumed = last(bench, resume(bench, "--retry", server=server))
        assert [line.split() for line in resumed.text.splitlines()] == expected
        for option in ("--allow", "--from-tape"):
            told = ("last", "--live", "--step", "2", option, "tool:roll")
            branch = bench.run("-m", "reenact", "fork", *told, env=settings(server))
            assert branch.status == 0, branch.stderr.decode()
            assert [line.split() for line in branch.stdout.decode().splitlines()] == expected
    assert len(killed.text.splitlines()) == 2
    for run_id in bench.store.ids():
        verified = bench.run("-m", "reenact", "verify", run_id)
        assert verified.status == 0, verified.stdout.decode()


def _drawn() -> list[str]:
    own = random.Random(6)
    return [f"{what} {own.random()} {own.random()}" for what in "abc"]


def test_files_of_a_tool_are_found_but_for_those_that_the_program_wrote(bench: Bench) -> None:
    run = bench.record("""
        import os, sys
        import reenact

        @reenact.tool
        def write(name):
            with open(name, "w") as file:
                file.write("by the tool")

        print(os.path.exists("seen"))
        for name in ("seen", "new"):
            write(name)
            print(open(name).read())
        with open("own", "w") as file:
            file.write("by the program")
        write("own")
        print(open("own").read(), file=sys.stderr)
    """)
    for name in ("seen", "new", "own"):
        (bench.folder / name).unlink()
    told = run.verify().divergences
    assert [(each["what"], each["expected"]["name"]) for each in told] == [("output", "stderr")], told


@pytest.mark.parametrize("state", [b"", b"short", b"\xff" * 2500, b"\xff" * 2501])
def test_a_state_that_is_none_is_a_fault_and_changes_nothing(state: bytes) -> None:
    session, before = Session(RECORD, None), random.getstate()
    event = Event(0, "0", Kind.TOOL, "roll", None, 0, b"", Delta(-1, 0, 0, b""), moved={"random": state})
    Moves(session, generators).again(event)
    assert len(session.faults) == 1
    assert random.getstate() == before
