"""What a program takes out of a set of tasks, futures or threads comes in the same order in replay."""

from __future__ import annotations

import pytest

from tests.runs import Bench

PROGRAMS = {
    "what wait returns": """
        import asyncio
        async def one(number):
            await asyncio.sleep(0); return number
        async def main():
            done, _ = await asyncio.wait([asyncio.create_task(one(number)) for number in range(40)])
            print([task.result() for task in done])
            futures = {asyncio.get_running_loop().create_future() for _ in range(20)}
            for number, future in enumerate(futures):
                future.set_result(number)
            print([future.result() for future in (await asyncio.wait(futures))[0]])
            print([await each for each in asyncio.as_completed([one(number) for number in range(20)])])
            print(sorted(type(task).__name__ for task in asyncio.all_tasks()))
        asyncio.run(main())
    """,
    "what a task group cancels": """
        import asyncio
        async def long(number):
            try:
                await asyncio.sleep(60)
            finally:
                print("cancelled", number)
        async def main():
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(30):
                        group.create_task(long(number))
                    await asyncio.sleep(0)
                    raise ValueError("enough")
            except* ValueError as error:
                print(repr(error))
            for number in range(30):
                asyncio.create_task(long(number + 100))
            await asyncio.sleep(0)
        asyncio.run(main())
    """,
    "async generators that a loop closes": """
        import asyncio
        async def numbers(name):
            try:
                for number in range(9):
                    yield number; await asyncio.sleep(0)
            finally:
                await asyncio.sleep(0); print("closed", name)
        async def first(name):
            async for number in numbers(name):
                return number
        async def main():
            print(await asyncio.gather(*(first(number) for number in range(9))))
            global kept
            kept = [numbers(f"kept {number}") for number in range(20)]
            print([await anext(one) for one in kept])
        asyncio.run(main())
    """,
    "what a pool has done": """
        import threading
        from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(lambda number=number: number) for number in range(40)]
            print([job.result() for job in wait(jobs)[0]])
            print([job.result() for job in as_completed(jobs)])
        own = {Future() for _ in range(20)}
        for number, future in enumerate(own):
            future.set_result(number)
        print([future.result() for future in wait(own)[0]])
        threads = {threading.Thread(target=print, args=(number,)) for number in range(20)}
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_a_set_comes_back(bench: Bench, name: str) -> None:
    bench.record(PROGRAMS[name]).reproduced()


def test_tasks_and_futures_look_as_they_do_without_us(bench: Bench) -> None:
    program = """
        import asyncio, inspect
        from concurrent.futures import Future
        async def main():
            task, future = asyncio.current_task(), asyncio.get_running_loop().create_future()
            for one in (task, future):
                print(type(one).__name__, type(one).__module__, isinstance(one, (asyncio.Task, asyncio.Future)))
                print(repr(one).partition(" ")[0], one == one, len({one, one}))
            print(asyncio.iscoroutine(asyncio.sleep), asyncio.isfuture(task), inspect.signature(Future))
        asyncio.run(main())
    """
    run = bench.record(program)
    assert run.stdout == bench.plain(program).stdout
    run.reproduced()
