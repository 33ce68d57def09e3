"""What Python's garbage collector calls: it comes at the same place in replay."""

from __future__ import annotations

from tests.runs import Bench, settings
from tests.sdk.wire import Wire


def test_finalizers_of_cycles_run_where_they_ran(bench: Bench) -> None:
    program = """
        import os
        import httpx

        class Node:
            def __init__(self, number):
                self.itself = self
                self.number = number

            def __del__(self):
                print("gone", self.number)

        with httpx.Client(base_url=os.environ["BASE"]) as client:
            for number in range(40):
                Node(number)
                print(number, client.get("/sized").status_code)
    """
    with Wire() as server:
        run = bench.record(program, env=settings(server))
    run.reproduced()


def test_tasks_that_finalizers_start_do_not_shift_the_others(bench: Bench) -> None:
    program = """
        import asyncio
        import os
        import httpx

        class Owner:
            def __init__(self):
                self.itself = self

            def __del__(self):
                asyncio.get_running_loop().create_task(asyncio.sleep(0))

        async def main():
            async with httpx.AsyncClient(base_url=os.environ["BASE"]) as client:
                for number in range(40):
                    Owner()
                    answers = await asyncio.gather(*(client.get(f"/status/{code}") for code in (200, 404)))
                    print(number, [answer.status_code for answer in answers])

        asyncio.run(main())
    """
    with Wire() as server:
        run = bench.record(program, env=settings(server))
    run.reproduced()
