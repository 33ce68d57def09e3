"""Threads: whoever ran before whom in the recording does so in replay, whatever the threads wait on."""

from __future__ import annotations

import pytest

from reenact.testing import ModelServer, Reply, Say, SlowFirstByte, Turn
from tests.runs import Bench, settings

HEAD = """
import os, queue, random, threading, time
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION, ThreadPoolExecutor, as_completed, wait
import httpx
URL = os.environ["BASE"] + "/v1/chat/completions"
order = []
def ask(text):
    order.append(f"ask {text}")
    answer = httpx.post(URL, json={"model": "m", "messages": [{"role": "user", "content": f"{text} after {len(order)}"}]})
    order.append(f"got {text}")
    return answer.json()["choices"][0]["message"]["content"]
def nap(most=0.01):
    time.sleep(random.random() * most)
def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""

PROGRAMS = {
    "threads that share a list": """
        def work(name):
            def steps():
                for number in range(4):
                    order.append((name, number)); ask(f"{name}{number}"); nap()
            return steps
        run(*(work(name) for name in "abcd"))
    """,
    "a pool, as completed": """
        with ThreadPoolExecutor(3) as pool:
            jobs = {pool.submit(ask, f"job {number}"): number for number in range(9)}
            for done in as_completed(jobs):
                order.append((jobs[done], done.result()))
    """,
    "a pool, mapped and nested": """
        def outer(number):
            with ThreadPoolExecutor(2) as inner:
                return list(inner.map(ask, (f"{number}.{index}" for index in range(3))))
        with ThreadPoolExecutor(3) as pool:
            print(list(pool.map(outer, range(4))))
    """,
    "wait for the first": """
        with ThreadPoolExecutor(4) as pool:
            left = {pool.submit(ask, f"w{number}") for number in range(6)}
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                order.append(sorted(job.result()[-20:] for job in done))
            failing = [pool.submit(int, "x"), pool.submit(ask, "z")]
            done, left = wait(failing, return_when=FIRST_EXCEPTION)
            order.append((len(done), len(left), sum(job.exception() is not None for job in done)))
    """,
    "locks": """
        lock, again = threading.Lock(), threading.RLock()
        def work(name):
            def steps():
                for number in range(3):
                    with lock:
                        order.append((name, number, "in")); nap(0.003); order.append((name, number, "out"))
                    with again, again:
                        ask(f"{name}{number}")
                    if lock.acquire(timeout=0.002):
                        order.append((name, "quick")); nap(0.004); lock.release()
                    else:
                        order.append((name, "too slow"))
                    order.append((name, lock.acquire(blocking=False) and (lock.release() or True)))
            return steps
        run(*(work(name) for name in "abc"))
    """,
    "a condition and an event": """
        condition, begun, items = threading.Condition(), threading.Event(), []
        def maker():
            begun.wait()
            for number in range(8):
                text = ask(f"make {number}")
                with condition:
                    items.append(text); condition.notify()
            with condition:
                items.append(None); condition.notify_all()
        def taker(name):
            def steps():
                begun.set()
                while True:
                    with condition:
                        while not items:
                            order.append((name, "waits", condition.wait(timeout=0.01)))
                        if items[0] is None:
                            return
                        order.append((name, items.pop(0)))
                    nap(0.02)
            return steps
        run(maker, taker("x"), taker("y"))
    """,
    "queues": """
        work, done = queue.Queue(maxsize=2), queue.SimpleQueue()
        def worker(name):
            def steps():
                while (item := work.get()) is not None:
                    done.put((name, ask(f"{name} {item}"))); work.task_done()
            return steps
        threads = [threading.Thread(target=worker(name)) for name in "abc"]
        for thread in threads: thread.start()
        for number in range(9): work.put(number); order.append(("put", number))
        work.join()
        for _ in threads: work.put(None)
        for thread in threads: thread.join()
        while not done.empty(): order.append(done.get())
        try:
            done.get(timeout=0.02)
        except queue.Empty:
            order.append("empty")
        try:
            work.get_nowait()
        except queue.Empty:
            order.append("empty again")
        ranked = queue.PriorityQueue()
        for number in (3, 1, 2): ranked.put(number)
        order.append([ranked.get() for _ in range(3)])
    """,
    "semaphores and barriers": """
        few, together = threading.BoundedSemaphore(2), threading.Barrier(4)
        def work(name):
            def steps():
                for number in range(3):
                    with few:
                        ask(f"{name}{number}")
                    order.append((name, number, together.wait()))
            return steps
        run(*(work(name) for name in "abcd"))
        try:
            threading.Barrier(2).wait(timeout=0.01)
        except threading.BrokenBarrierError:
            order.append("broken")
    """,
    "threads that start threads, timers and daemons": """
        def parent(name):
            def child(number):
                order.append((name, number)); ask(f"{name}.{number}")
            def steps():
                threads = [threading.Thread(target=child, args=(number,)) for number in range(2)]
                for thread in threads: thread.start()
                order.append((name, [thread.is_alive() for thread in threads].count(False) >= 0))
                for thread in threads: thread.join(timeout=10)
            return steps
        timer = threading.Timer(0.02, ask, args=("timer",)); timer.start()
        never = threading.Timer(60, ask, args=("never",)); never.start()
        run(parent("p"), parent("q"))
        never.cancel(); timer.join(); never.join()
        slow = threading.Thread(target=time.sleep, args=(0.2,)); slow.start()
        slow.join(timeout=0.01); order.append(slow.is_alive()); slow.join()
        local = threading.local(); local.value = 1
        order.append((hasattr(local, "value"), threading.active_count(), threading.current_thread().name))
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    """,
    "a thread that is busy with no boundary": """
        turned, stop = [0], []
        def busy():
            while not stop: turned[0] += 1
        thread = threading.Thread(target=busy); thread.start()
        print(ask("while it is busy")); stop.append(1); thread.join()
        order.append(turned[0] > 0)
    """,
}


def policy(turn: Turn) -> Reply:
    return SlowFirstByte(Say(f"answer {turn.index} to {turn.prompt}"), (turn.index * 5 % 7) * 0.002)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_threads_comes_back(bench: Bench, name: str) -> None:
    lines = PROGRAMS[name].strip("\n").splitlines()
    body = "\n".join(line[8:] for line in lines)
    with ModelServer(policy) as server:
        run = bench.record(f"{HEAD}{body}\nprint(order)\n", env=settings(server))
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_a_lane_belongs_to_each_thread_and_each_job(bench: Bench) -> None:
    body = """
def two(name):
    ask(name + "1"); ask(name + "2")
run(lambda: two("a"), lambda: two("b"))
with ThreadPoolExecutor(1) as pool:
    for number in range(3):
        pool.submit(ask, f"job {number}")
"""
    with ModelServer(policy) as server:
        run = bench.record(HEAD + body, env=settings(server))
    lanes = [event.lane for event in run.http]
    assert sorted(lanes) == ["0.1", "0.1", "0.2", "0.2", "0.3", "0.4", "0.5"]
    run.verified()
