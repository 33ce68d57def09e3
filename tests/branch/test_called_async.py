"""Branches of recorded async functions, which turn on a loop of their own there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from reenact.tape.reader import read
from reenact.testing import ModelServer
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.branch.test_called import ran
from tests.branch.test_fork import Counting, fork, made, refunding, verified
from tests.runs import Bench, settings

GATHER = """
    import asyncio, uuid
    import openai, reenact

    async def worker(client, who):
        said = []
        for n in range(3):
            asked = [{"role": "user", "content": f"{who} {n} {uuid.uuid4()} {said}"}]
            said.append((await client.chat.completions.create(model="gpt-5", messages=asked)).choices[0].message.content)
            await asyncio.sleep(0.01)
        return said

    @reenact.record
    async def work(names):
        async with openai.AsyncOpenAI(max_retries=0) as client:
            for done in asyncio.as_completed([worker(client, name) for name in names]):
                print(await done, flush=True)

    if __name__ == "__main__":
        asyncio.run(work(["a", "b", "c"]))
"""
SERVER = """
    import asyncio, os
    import httpx2, reenact

    client = httpx2.AsyncClient()  # made before, and for all
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

    async def ask(text):
        answer = await client.post(url, json={"model": "gpt-5", "messages": [{"role": "user", "content": text}]})
        return answer.json()["choices"][0]["message"]["content"]

    @reenact.record
    async def serve(who):
        said = [await asyncio.wait_for(ask(f"{who} first"), 30)]
        try:
            await asyncio.wait_for(asyncio.sleep(9), 0.02)
        except TimeoutError:
            said.append("in time")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(f"{who} {n} {said}")) for n in range(2)]
        said += [task.result() for task in tasks]
        print(said, flush=True)
        return said

    async def stranger():
        while True:
            await asyncio.sleep(0.002)

    async def main():
        task = asyncio.create_task(stranger())
        await asyncio.gather(*map(serve, ("a", "b", "c")))
        task.cancel()

    if __name__ == "__main__":
        asyncio.run(main())
"""

LEAVES = """
    import asyncio, os, threading, time
    import httpx2, requests, reenact

    client, session = httpx2.AsyncClient(), requests.Session()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

    def body(text):
        return {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}

    async def goes_on():
        try:
            await asyncio.sleep(9)
        finally:
            await client.post(url, json=body("by a task"))

    def works():
        time.sleep(0.1)
        session.post(url, json=body("by a thread"))

    @reenact.record
    async def work():
        await client.post(url, json=body("first"))
        session.post(url, json=body("blocks the loop"))
        await client.post(url, json=body("third"))
        work.left = asyncio.create_task(goes_on())
        threading.Thread(target=works).start()
        await asyncio.sleep(0.01)
        print("at its end")  # and nobody flushes that

    if __name__ == "__main__":
        asyncio.run(work())
"""
TOOL = """
    import asyncio, json
    import openai, reenact

    @reenact.tool
    async def refund(amount):
        await asyncio.sleep(0.01)
        return {"refunded": amount}

    @reenact.record
    async def work():
        history = [{"role": "user", "content": "refund me"}]
        tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
        async with openai.AsyncOpenAI(max_retries=0) as client:
            while True:
                answer = await client.chat.completions.create(model="gpt-5", messages=history, tools=tools)
                message = answer.choices[0].message
                history.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    return message.content
                for call in message.tool_calls:
                    result = json.dumps(await refund(**json.loads(call.function.arguments)))
                    history.append({"role": "tool", "tool_call_id": call.id, "content": result})

    if __name__ == "__main__":
        print(asyncio.run(work()))
"""

FIRST = """
    import asyncio, os
    import httpx2, reenact

    @reenact.record
    async def work():
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        async with httpx2.AsyncClient() as client:
            async def ask(text):
                body = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
                return (await client.post(url, json=body)).json()["choices"][0]["message"]["content"]

            tasks = [asyncio.create_task(ask(text)) for text in ("quick", "slow", "slow")]
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not any("given" in task.result() for task in done):
                for task in pending:
                    task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            return [None if task.cancelled() else task.result() for task in tasks]

    if __name__ == "__main__":
        asyncio.run(work())
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that numbers its answers."""
    with ModelServer(Counting()) as server:
        yield server


def test_in_the_midst_of_what_goes_on_at_once(either: Bench, server: ModelServer) -> None:
    bench = either
    run, _ = ran(bench, server, GATHER)
    (bench.folder / "answer.txt").write_text("given by hand")
    branch = verified(made(bench, fork(bench, f"{run}@5", "--response", "answer.txt", server=server)))
    assert 9 < len(server.requests) < 9 + 5, "what was under way has the answers that it got"
    assert len(branch.http) == 9
    assert branch.text.count("given by hand") == 1
    again = verified(made(bench, fork(bench, "last@8", server=server)))
    assert len(again.http) == 9


def test_several_at_once(bench: Bench, server: ModelServer) -> None:
    run, _ = ran(bench, server, GATHER)
    done = fork(bench, f"{run}@4", "--n", "3", "--json", server=server)
    assert done.status == 0, done.stderr.decode()
    assert [one["outcome"] for one in json.loads(done.stdout)] == ["ok"] * 3
    assert bench.run("-m", "reenact", "verify", "last").status == 0


def test_of_runs_that_were_recorded_together_on_one_loop(bench: Bench, server: ModelServer) -> None:
    done = bench.plain(SERVER, env=settings(server))
    assert done.status == 0, done.stderr.decode()
    runs = bench.store.ids()
    assert len(runs) == 3
    for step, run in enumerate(runs, start=1):
        branch = verified(made(bench, fork(bench, f"{run}@{step}", server=server)))
        ended = read(branch.path).ended
        assert ended is not None
        assert ended.error is None
        assert json.loads(ended.result)[1] == "in time"
        assert len(branch.http) == 3


def test_a_function_that_turns_a_loop_itself(bench: Bench, server: ModelServer) -> None:
    begins = "@reenact.record\n    def start(names):\n        asyncio.run(work(names))\n\n    if __name__"
    program = GATHER.replace("    @reenact.record\n", "").replace("if __name__", begins)
    run, _ = ran(bench, server, program.replace('asyncio.run(work(["a", "b", "c"]))', 'start(["a", "b", "c"])'))
    branch = verified(made(bench, fork(bench, f"{run}@5", server=server)))
    assert len(branch.http) == 9


def test_what_it_has_left_behind_ends_with_it(either: Bench, server: ModelServer) -> None:
    bench = either
    run, _ = ran(bench, server, LEAVES)
    assert len(server.requests) == 5
    branch = verified(made(bench, fork(bench, f"{run}@2", "--allow", "all", server=server)))
    assert len(server.requests) == 5 + 2, "nothing is sent when the function is over"
    assert branch.text == "at its end\n"


def test_another_result_of_a_tool(bench: Bench) -> None:
    (bench.folder / "result.json").write_text('{"refunded": 7}')
    with ModelServer(refunding) as server:
        run, parent = ran(bench, server, TOOL)
        done = fork(bench, f"{run}@1", "--tool-result", "refund=result.json", server=server)
        branch = verified(made(bench, done))
    assert b'"refunded": 20' in parent.stdout
    ended = read(branch.path).ended
    assert ended is not None
    assert b'"refunded\\": 7' in ended.result


class Slow(Counting):
    """As that, and takes its time where it is asked for."""

    def __call__(self, turn: Turn) -> Reply:
        """The answer."""
        if "slow" in turn.prompt:
            time.sleep(0.3)
        return super().__call__(turn)


def test_what_its_parent_cancelled_later_is_asked_again(bench: Bench) -> None:
    (bench.folder / "answer.txt").write_text("given")
    with ModelServer(Slow()) as server:
        run, _ = ran(bench, server, FIRST)
        assert len(server.requests) == 3
        again = verified(made(bench, fork(bench, f"{run}@1", server=server)))
        branch = verified(made(bench, fork(bench, f"{run}@1", "--response", "answer.txt", server=server)))
    for made_of, kept in ((again, 1), (branch, 3)):
        ended = read(made_of.path).ended
        assert ended is not None
        said = json.loads(ended.result)
        assert [text is not None for text in said] == [True] * kept + [False] * (3 - kept)
