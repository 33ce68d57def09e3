"""What Python's garbage collector calls: it comes at the same place in replay."""

from __future__ import annotations

import gc
import textwrap

import pytest

from reenact.engine import plan as plans
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.seams.system import collector
from reenact.testing import ModelServer, Say
from tests.runs import Bench, Run, _without_addresses, settings
from tests.sdk.wire import Wire

HEAD = """
import asyncio, contextlib, gc, os, threading, time, weakref
import httpx

class Node:
    def __init__(self, name):
        self.itself = self
        self.name = name

    def __del__(self):
        print("gone", self.name)

URL = os.environ["BASE"] + "/sized"
"""

PROGRAMS = {
    "finalizers that print": """
        with httpx.Client() as client:
            for number in range(40):
                Node(number)
                print(number, client.get(URL).status_code)
    """,
    "finalizers that start tasks": """
        class Owner(Node):
            def __del__(self):
                with contextlib.suppress(RuntimeError):
                    asyncio.get_running_loop().create_task(self.close(self.name))

            @staticmethod
            async def close(name):
                await asyncio.sleep(0)
                print("closed", name)

        async def main():
            async with httpx.AsyncClient() as client:
                for number in range(40):
                    Owner(number)
                    answers = await asyncio.gather(*(client.get(URL) for _ in range(2)))
                    print(number, [answer.status_code for answer in answers])

        asyncio.run(main())
    """,
    "finalizers that ask": """
        class Telling(Node):
            def __del__(self):
                print("tells", self.name, httpx.post(URL, content=f"{self.name} is gone").status_code, time.time())

        with httpx.Client() as client:
            for number in range(30):
                Telling(number)
                print(number, client.get(URL).status_code)
        gc.collect()
    """,
    "weak references": """
        class Plain:
            def __init__(self):
                self.itself = self

        held = []
        with httpx.Client() as client:
            for number in range(40):
                plain = Plain()
                held.append(weakref.ref(plain, lambda _, number=number: print("lost", number)))
                weakref.finalize(plain, print, "finally", number)
                del plain
                print(number, client.get(URL).status_code, sum(ref() is not None for ref in held))
        gc.collect()
    """,
    "async generators left in a cycle": """
        async def chunks(number, holder):
            try:
                while True:
                    yield number
            finally:
                print("closing", number)
                await asyncio.sleep(0)

        async def main():
            async with httpx.AsyncClient() as client:
                for number in range(40):
                    holder = []
                    holder.append((holder, agen := chunks(number, holder)))
                    await anext(agen)
                    del holder, agen
                    print(number, (await client.get(URL)).status_code)
            # what is left would be closed by the loop in the order of their addresses
            gc.collect()
            await asyncio.sleep(0.01)

        asyncio.run(main())
    """,
    "clients that are not closed": """
        class Agent:
            def __init__(self, number):
                self.itself = self
                self.client = httpx.AsyncClient()
                self.node = Node(number)

            async def ask(self):
                return (await self.client.get(URL)).status_code

        async def main():
            for number in range(15):
                print(number, await Agent(number).ask())

        asyncio.run(main())
    """,
    "threads": """
        def work(name):
            with httpx.Client() as client:
                for number in range(12):
                    Node(f"{name}{number}")
                    print(name, number, client.get(URL).status_code)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """,
    "thresholds of the program's own": """
        gc.set_threshold(50, 2)
        print(gc.get_threshold()[:2])
        with httpx.Client() as client:
            for number in range(20):
                Node(number)
                print(number, client.get(URL).status_code)
        try:
            gc.set_threshold("many")
        except TypeError as error:
            print(error, gc.get_threshold()[:2])
    """,
    "callbacks of the program's own": """
        told = []

        def tell(phase, info):
            told.append((phase, info["generation"]))

        print(gc.callbacks)
        gc.callbacks.append(tell)
        with httpx.Client() as client:
            for number in range(40):
                Node(number)
                print(number, client.get(URL).status_code, told)
        gc.collect()
        print(told[-2], len(gc.callbacks))
        gc.callbacks.remove(tell)
    """,
}


def recorded(bench: Bench, program: str) -> Run:
    with Wire() as server:
        return bench.record(HEAD + textwrap.dedent(program), env=settings(server))


def collections(run: Run) -> int:
    return sum(len(lane.collected) for lane in run.tape.lanes.values())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_garbage_is_collected_where_it_was(bench: Bench, name: str) -> None:
    run = recorded(bench, PROGRAMS[name])
    assert collections(run)
    run.reproduced()


@pytest.mark.slow
def test_clients_of_an_sdk_that_are_not_closed(bench: Bench) -> None:
    """When one of these is collected, its finalizer starts a task that closes it."""
    program = """
        import asyncio
        import openai

        class Agent:
            def __init__(self):
                self.itself = self
                self.client = openai.AsyncOpenAI()

            async def ask(self, text):
                messages = [{"role": "user", "content": text}]
                answer = await self.client.chat.completions.create(model="m", messages=messages)
                return answer.choices[0].message.content

        async def main():
            for number in range(12):
                print(number, await asyncio.gather(Agent().ask(f"{number} a"), Agent().ask(f"{number} b")))

        asyncio.run(main())
    """
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt}")) as server:
        run = bench.record(program, env=settings(server))
    assert collections(run)
    assert len(run.tape.lanes) > 1 + 12 * 2, "no finalizer has started a task"
    run.reproduced()


def test_a_program_without_a_collector_keeps_its_garbage(bench: Bench) -> None:
    program = """
        gc.disable()
        with httpx.Client() as client:
            for number in range(30):
                Node(number)
                print(number, client.get(URL).status_code, gc.isenabled())
        print(gc.collect() > 30)
    """
    run = recorded(bench, program)
    assert not collections(run)
    assert run.text.index("gone 0") > run.text.index("29 200")
    run.reproduced()


def test_no_threshold_means_no_collections(bench: Bench) -> None:
    program = """
        gc.set_threshold(0)
        with httpx.Client() as client:
            for number in range(30):
                Node(number)
                print(number, client.get(URL).status_code, gc.get_threshold()[0])
        for number in range(200_000):
            Node("unseen")
        os._exit(0)
    """
    run = recorded(bench, program)
    assert not collections(run)
    assert "gone" not in run.text
    run.reproduced()


def test_what_the_program_collects_itself_is_seen(bench: Bench) -> None:
    program = """
        for number in range(20):
            Node(number)
            if number % 3 == 0:
                print("collected", gc.collect(number % 2))
    """
    run = recorded(bench, program)
    assert run.tape.wrote[1].count(b"gone") == 19
    run.reproduced()


def test_what_the_backstop_collects_is_in_no_lane(bench: Bench) -> None:
    program = f"""
        class Owner(Node):
            closed = 0

            def __del__(self):
                Owner.closed += 1
                if Owner.closed <= 3:
                    with contextlib.suppress(RuntimeError):
                        asyncio.get_running_loop().create_task(asyncio.sleep(0))
                        os.write(1, b"unseen")

        async def main():
            for number in range({collector.BACKSTOP} * 2):
                Owner(number)
            print(Owner.closed > 3)
            async with httpx.AsyncClient() as client:
                print(await asyncio.gather(*(client.head(URL) for _ in range(2))))

        asyncio.run(main())
    """
    run = recorded(bench, program)
    assert b"unseen" in run.stdout
    assert b"unseen" not in run.tape.wrote[1]
    assert b"True" in run.tape.wrote[1]
    assert [lane.name for lane in run.tape.lanes.values() if "sleep" in lane.name] == []
    run.reproduced()


@pytest.mark.slow
def test_a_long_stretch_without_a_boundary_takes_no_more_memory(bench: Bench) -> None:
    program = """
        import os
        import resource
        import sys

        class Node:
            def __init__(self):
                self.itself = self

        for number in range(5_000_000):
            Node()
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        print(most < int(os.environ["LIMIT"]) if "LIMIT" in os.environ else most)
    """
    plain = int(bench.plain(program).stdout)
    run = bench.record(program, env={"LIMIT": str(plain + 96 * 2**20)})
    assert run.text == "True\n"
    run.reproduced()


def test_a_forked_process_has_the_interpreters_own_collector(bench: Bench) -> None:
    program = """
        gone = []

        class Quiet(Node):
            def __del__(self):
                gone.append(self.name)

        if os.fork() == 0:
            for number in range(5_000):
                Quiet(number)
            os._exit(7 if len(gone) > 1_000 else 1)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    """
    assert recorded(bench, program).text == "7\n"


def test_everything_can_be_put_back() -> None:
    before = gc.get_threshold(), gc.callbacks, gc.callbacks[:], gc.collect, gc.get_threshold, gc.set_threshold
    patches, mine = Patches(), [].append
    collector.start(Session(plans.RECORD, None), patches)
    try:
        assert gc.get_threshold() == before[0]
        assert gc.callbacks == before[2]
        gc.callbacks.append(mine)
        assert gc.collect is not before[3]
    finally:
        patches.undo()
    assert gc.callbacks == [*before[2], mine]
    gc.callbacks.remove(mine)
    assert (gc.get_threshold(), gc.callbacks, gc.callbacks[:], gc.collect, gc.get_threshold, gc.set_threshold) == before
    assert gc.callbacks is before[1]


def test_finalizers_work_while_the_interpreter_goes_down(bench: Bench) -> None:
    program = """
        import os, time, uuid
        class Last:
            def __del__(self, write=os.write, now=time.time, make=uuid.uuid4):
                write(1, b"%d %d\\n" % (now() > 0, len(str(make()))))
        class Fails:
            def __del__(self):
                raise ValueError("in a finalizer")
        kept = [Last(), Fails(), Last()]
    """
    plain, run = bench.plain(program), bench.record(program)
    assert run.stdout == plain.stdout
    assert _without_addresses(run.stderr) == _without_addresses(plain.stderr)
    assert plain.stdout.count(b"1 36") == 2
    run.verified()
    assert run.replay().stdout == plain.stdout
