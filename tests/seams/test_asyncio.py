"""Tasks: outcomes, timers and cancellations come in the order in which they came."""

from __future__ import annotations

import pytest

from reenact.testing import ModelServer, Reply, Say, SlowFirstByte, Turn
from tests.runs import Bench, settings

HEAD = """
import asyncio, os, random, time
import httpx
URL = os.environ["BASE"] + "/v1/chat/completions"
order = []
client = None
async def ask(text):
    order.append(f"ask {text}")
    answer = await client.post(URL, json={"model": "m", "messages": [{"role": "user", "content": f"{text} {len(order)}"}]})
    order.append(f"got {text}")
    return answer.json()["choices"][0]["message"]["content"]
async def nap(most=0.01):
    await asyncio.sleep(random.random() * most)
"""

PROGRAMS = {
    "gather": """
        async def work(number):
            await nap(); one = await ask(f"{number}a"); await nap(); return one, await ask(f"{number}b")
        print(await asyncio.gather(*map(work, range(8))))
        print(await asyncio.gather(ask("x"), nap(), asyncio.sleep(0, "y"), return_exceptions=True))
    """,
    "a task group": """
        async def work(number):
            async with asyncio.TaskGroup() as inner:
                for index in range(2): inner.create_task(ask(f"{number}.{index}"))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(number), name=f"w{number}") for number in range(4)]
        order.append([task.get_name() for task in tasks])
    """,
    "a task group that fails": """
        async def fails():
            await ask("f"); raise ValueError("no")
        async def long(number):
            try:
                while True: await ask(f"{number}"); await asyncio.sleep(0)
            except asyncio.CancelledError:
                order.append(f"cancelled {number}"); raise
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fails()); [group.create_task(long(number)) for number in range(3)]
        except* ValueError as error:
            order.append(repr(error))
    """,
    "timeouts that race": """
        for number in range(10):
            try:
                order.append(await asyncio.wait_for(ask(f"{number}"), 0.001 * number))
            except TimeoutError:
                order.append("too slow")
        for number in range(6):
            try:
                async with asyncio.timeout(0.002 * number) as limit:
                    await ask(f"t{number}"); await nap(0.004)
            except TimeoutError:
                order.append(limit.expired())
        try:
            async with asyncio.timeout(None) as limit:
                limit.reschedule(asyncio.get_running_loop().time() + 0.01); await asyncio.sleep(5)
        except TimeoutError:
            order.append(limit.when() > 0)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(ask("shielded"))), 0.0005)
        except TimeoutError:
            order.append("shield")
        await asyncio.sleep(0.05)
    """,
    "the first that is done": """
        left = {asyncio.create_task(ask(f"{number}")) for number in range(6)}
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED, timeout=0.004)
            order.append(sorted(task.result()[-12:] for task in done))
        for coming in asyncio.as_completed([ask(f"c{number}") for number in range(5)], timeout=5):
            order.append(await coming)
    """,
    "cancellation": """
        tasks = [asyncio.create_task(ask(f"{number}")) for number in range(6)]
        await asyncio.sleep(0.006)
        order.append([task.cancel() for task in tasks])
        order.append([type(result).__name__ for result in await asyncio.gather(*tasks, return_exceptions=True)])
        async def stubborn():
            try:
                await asyncio.sleep(5)
            except asyncio.CancelledError:
                order.append(await ask("all the same")); return "done"
        task = asyncio.create_task(stubborn()); await asyncio.sleep(0); task.cancel(); order.append(await task)
        never = asyncio.create_task(ask("never begun")); never.cancel()
        order.append(repr(await asyncio.gather(never, return_exceptions=True)))
    """,
    "a task that cancels itself": """
        async def doomed(after):
            try:
                async with client.stream("GET", os.environ["BASE"] + "/v1/models") as answer:
                    if after == "head": asyncio.current_task().cancel()
                    async for chunk in answer.aiter_raw():
                        order.append(len(chunk))
                        if after == "chunk": asyncio.current_task().cancel()
                    order.append(f"read {after}")
                await ask(f"after {after}")
            finally:
                order.append(f"end {after}")
        for after in ("head", "chunk", "nothing"):
            order.append(repr(await asyncio.gather(asyncio.create_task(doomed(after)), return_exceptions=True)))
        print(await asyncio.gather(*map(doomed, ("nothing", "head", "chunk", "head")), return_exceptions=True))
    """,
    "one task, and what it made ready or due before it asked": """
        loop = asyncio.get_running_loop()
        for number in range(12):
            loop.call_soon(order.append, f"soon {number}")
            loop.call_later(0.0004 * number, order.append, f"later {number}")
            await ask(f"{number}")
            if number % 3 == 0: await asyncio.sleep(0)
            async with client.stream("GET", os.environ["BASE"] + "/v1/models") as answer:
                if number % 2: loop.call_soon(order.append, "before")
                async for chunk in answer.aiter_raw():
                    order.append(len(chunk))
                    if number % 3: loop.call_soon(order.append, "between")
                order.append("read")
        await asyncio.sleep(0.02)
    """,
    "locks, events, queues, semaphores": """
        lock, few, full, ready = asyncio.Lock(), asyncio.Semaphore(2), asyncio.Queue(2), asyncio.Event()
        async def work(name):
            await ready.wait()
            while (item := await full.get()) is not None:
                async with few: await ask(f"{name}{item}")
                async with lock: order.append(name); await nap(0.002)
                full.task_done()
        workers = [asyncio.create_task(work(name)) for name in "abc"]
        ready.set()
        for number in range(9): await full.put(number)
        await full.join()
        for _ in workers: await full.put(None)
        await asyncio.gather(*workers)
        condition = asyncio.Condition()
        async def waits(name):
            async with condition: await condition.wait(); order.append(name)
        waiting = [asyncio.create_task(waits(number)) for number in range(3)]
        await asyncio.sleep(0)
        async with condition: condition.notify(2)
        await asyncio.sleep(0.001)
        async with condition: condition.notify_all()
        await asyncio.gather(*waiting)
        barrier = asyncio.Barrier(3)
        order.append(sorted(await asyncio.gather(*(barrier.wait() for _ in range(3)))))
    """,
    "threads under a loop": """
        def blocking(text):
            time.sleep(random.random() / 200); order.append(text)
            return httpx.post(URL, json={"model": "m", "messages": [{"role": "user", "content": text}]}).status_code
        print(await asyncio.gather(*(asyncio.to_thread(blocking, f"t{number}") for number in range(6)), ask("beside")))
        loop = asyncio.get_running_loop()
        print(await asyncio.gather(*(loop.run_in_executor(None, blocking, f"e{number}") for number in range(4))))
        def back(text):
            return asyncio.run_coroutine_threadsafe(ask(text), loop).result(), order.append("back")
        print(await asyncio.gather(*(asyncio.to_thread(back, f"b{number}") for number in range(3))))
        loop.call_soon_threadsafe(order.append, "soon"); loop.call_later(0.005, order.append, "later")
        await asyncio.sleep(0.02)
    """,
    "callbacks, streams of results, and context": """
        import contextvars
        where = contextvars.ContextVar("where", default="nowhere")
        async def work(number):
            where.set(number); await nap(); await ask(f"{where.get()}"); return where.get()
        task = asyncio.create_task(work(1)); task.add_done_callback(lambda done: order.append(("done", done.result())))
        context = contextvars.copy_context(); context.run(where.set, "given")
        other = asyncio.create_task(ask("in a context"), context=context)
        await asyncio.gather(task, other)
        async def numbers():
            for number in range(4):
                yield number, await ask(f"n{number}")
        async for number, text in numbers(): order.append((number, text, where.get()))
        kept = [asyncio.create_task(work(number)) for number in range(5)]
        order.append([await each for each in kept])
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.002, future.set_result, "set")
        order.append(await future)
    """,
    "two loops, one after the other and one in a thread": """
        import threading
        def other():
            async def inside():
                async with httpx.AsyncClient() as own:
                    answers = await asyncio.gather(*(own.get(os.environ["BASE"] + "/v1/models") for _ in range(3)))
                    order.append([answer.status_code for answer in answers]); await asyncio.sleep(0.003)
            asyncio.run(inside())
        thread = threading.Thread(target=other); thread.start()
        print(await asyncio.gather(*(ask(f"{number}") for number in range(4))))
        await asyncio.to_thread(thread.join)
        loop = asyncio.new_event_loop(); order.append(loop.is_running()); loop.close()
    """,
}


def policy(turn: Turn) -> Reply:
    return SlowFirstByte(Say(f"answer {turn.index} to {turn.prompt}"), (turn.index * 5 % 7) * 0.0015)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_tasks_comes_back(bench: Bench, name: str) -> None:
    lines = PROGRAMS[name].strip("\n").splitlines()
    body = "\n".join("    " + line[8:] for line in lines)
    tail = (
        "    async with httpx.AsyncClient() as client:\n        await work_all()\nasyncio.run(main())\nprint(order)\n"
    )
    program = f"{HEAD}async def work_all():\n{body}\nasync def main():\n    global client\n{tail}"
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_a_lane_belongs_to_each_task_by_birth(bench: Bench) -> None:
    program = f"""{HEAD}
async def two(name):
    await asyncio.gather(ask(name + "1"), ask(name + "2"))
async def main():
    global client
    async with httpx.AsyncClient() as client:
        await asyncio.gather(two("a"), two("b")); await ask("main")
asyncio.run(main())
"""
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    assert sorted(event.lane for event in run.http) == ["0.1", "0.1.1.1", "0.1.1.2", "0.1.2.1", "0.1.2.2"]
    run.verified()


def test_anyio_on_asyncio_comes_back(bench: Bench) -> None:
    program = """
        import os, random, time
        import anyio, anyio.to_thread, anyio.from_thread
        import httpx
        URL = os.environ["BASE"] + "/v1/chat/completions"
        order = []

        async def ask(client, text):
            answer = await client.post(URL, json={"model": "m", "messages": [{"role": "user", "content": text}]})
            order.append((text, answer.json()["choices"][0]["message"]["content"]))

        def blocking(text):
            time.sleep(random.random() / 200)
            anyio.from_thread.run(anyio.sleep, 0.001)
            order.append(text)
            return httpx.get(os.environ["BASE"] + "/v1/models").status_code

        async def main():
            async with httpx.AsyncClient() as client:
                async with anyio.create_task_group() as group:
                    for number in range(6):
                        group.start_soon(ask, client, f"task {number}")
                with anyio.move_on_after(0.004) as scope:
                    await ask(client, "in time?")
                    await anyio.sleep(1)
                order.append(scope.cancelled_caught)
                try:
                    with anyio.fail_after(0.001):
                        await anyio.sleep(1)
                except TimeoutError:
                    order.append("failed after")
                async with anyio.create_task_group() as group:
                    for number in range(4):
                        group.start_soon(anyio.to_thread.run_sync, blocking, f"thread {number}")
                    group.start_soon(anyio.sleep, 30)
                    await anyio.sleep(0.05)
                    group.cancel_scope.cancel()
                send, receive = anyio.create_memory_object_stream(2)
                async def feed():
                    async with send:
                        for number in range(5):
                            await send.send(number); await anyio.sleep(random.random() / 300)
                async with anyio.create_task_group() as group:
                    group.start_soon(feed)
                    async for item in receive:
                        await ask(client, f"item {item}")
                limiter = anyio.CapacityLimiter(1)
                async with anyio.create_task_group() as group:
                    for number in range(3):
                        async def limited(number=number):
                            async with limiter:
                                await ask(client, f"limited {number}")
                        group.start_soon(limited)

        anyio.run(main)
        print(order)
    """
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_reading_on_where_the_recording_gave_up_is_told(bench: Bench) -> None:
    program = """
        import asyncio, os, httpx

        async def main():
            async with httpx.AsyncClient() as client:
                body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go on"}]}
                url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
                async with client.stream("POST", url, json=body) as answer:
                    count = 0
                    async for chunk in answer.aiter_raw():
                        count += 1
                        if count == 2:
                            break
                print(count)

        asyncio.run(main())
    """
    with ModelServer(lambda _: Say("one two three four five six")) as server:
        run = bench.record(program, env=settings(server))
    run.reproduced()
    for instead in ("count == 1", "count == 3", "False"):
        bench.write(program.replace("count == 2", instead))
        verified = run.verify()
        assert not verified.passed, instead
        assert "answer" in verified.told(), instead
