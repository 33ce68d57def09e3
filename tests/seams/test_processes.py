"""Processes of multiprocessing and pools of them: what they do is on tape, and replayed by each for itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

import pytest

from reenact.tape.event import Kind
from reenact.tape.whole import every, whole
from reenact.testing import ModelServer, Say
from tests.runs import Bench, Run, settings

WORK = """
import os, signal, sys, time
from multiprocessing import shared_memory

def started(name):
    os.write(2, b"a process works\\n")  # seen from outside, wherever the process is

def square(number):
    started(number)
    time.sleep(number * 7 % 5 / 100)
    return number * number

def square_into(queue, number):
    queue.put(square(number))

def fail(number):
    started(number)
    raise ValueError(f"not {number}")

def given(value):
    return value

def die(number):
    started(number)
    os.kill(os.getpid(), signal.SIGKILL)

def leave(status):
    started(status)
    sys.exit(status)

def set_base(base):
    global BASE
    BASE = base

def above_base(number):
    started(number)
    return BASE + number

def answer(number, questions, answers, begin):
    started(number)
    begin.wait()
    answers.put((number, questions.get()))

def upper(connection):
    started(0)
    while (text := connection.recv()) is not None:
        connection.send(text.upper())

def done(queue):
    while queue.get() is not None:
        started(0)
        queue.task_done()
    queue.task_done()

def locked(lock, semaphore):
    with lock, semaphore:
        started(0)

def put(shared, numbers, number):
    started(number)
    shared[number] = number * number
    numbers.append(number)

def count(value, numbers, raw, barrier, number):
    barrier.wait()
    started(number)
    raw[number] = number + 5
    with value.get_lock():
        value.value += 1
        numbers[number] = number / 2

def greet(name):
    memory = shared_memory.SharedMemory(name)
    started(name)
    memory.buf[:5] = b"hello"
    memory.close()

def write(path, text):
    started(0)
    with open(path, "a") as file:
        file.write(text)

def draw(_):
    started(0)
    return os.getpid(), time.time_ns(), os.urandom(4)
"""
HEAD = """
import asyncio, os, sys, threading, time, multiprocessing as mp
from multiprocessing import shared_memory
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
import work

def main():
"""
PROGRAMS = {
    "map": """
        with ProcessPoolExecutor(2) as pool:
            print(list(pool.map(work.square, range(6))), list(pool.map(work.square, range(6), chunksize=4)))
            print(list(pool.map(work.draw, range(3))))
    """,
    "as completed": """
        with ProcessPoolExecutor(3) as pool:
            futures = {pool.submit(work.square, number): number for number in range(6)}
            for future in as_completed(futures):
                print(futures[future], future.result())
            done, rest = wait([pool.submit(work.square, number) for number in range(4)], return_when=FIRST_COMPLETED)
            print(len(done), len(rest))
    """,
    "an exception of a worker": """
        with ProcessPoolExecutor(2) as pool:
            for future in [pool.submit(work.fail, number) for number in range(3)]:
                try:
                    future.result()
                except ValueError as error:
                    print(repr(error), error.__cause__)
            try:
                pool.submit(lambda: 1).result()
            except Exception as error:
                print(repr(error)[:40])
    """,
    "an exception that ends the program": """
        with ProcessPoolExecutor(2) as pool:
            pool.submit(work.fail, 7).result()
    """,
    "a worker that is killed": """
        with ProcessPoolExecutor(2) as pool:
            for job in (work.die, work.square):
                try:
                    print(pool.submit(job, 2).result())
                except BrokenProcessPool as error:
                    print(error)
    """,
    "cancelled, and too slow": """
        pool = ProcessPoolExecutor(1, initializer=work.set_base, initargs=(40,))
        slow = pool.submit(time.sleep, 0.3)
        try:
            slow.result(timeout=0.02)
        except TimeoutError:
            print("too slow")
        futures = [pool.submit(work.above_base, number) for number in range(5)]
        slow.result()
        pool.shutdown(cancel_futures=True)
        print([future.cancelled() or future.result() for future in futures])
    """,
    "from a loop and from threads": """
        async def both(pool):
            loop = asyncio.get_running_loop()
            print(await asyncio.gather(*(loop.run_in_executor(pool, work.square, number) for number in range(4))))
        def ask(pool, name):
            for number in range(2):
                print(name, pool.submit(work.square, number).result())
        with ProcessPoolExecutor(2) as pool:
            asyncio.run(both(pool))
            threads = [threading.Thread(target=ask, args=(pool, name)) for name in "ab"]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
    """,
    "a pool": """
        with mp.Pool(2) as pool:
            print(pool.map(work.square, range(5)), pool.apply(work.square, (3,)), list(pool.imap(work.square, range(3))))
            print(list(pool.imap_unordered(work.square, range(5))), pool.starmap(pow, [(2, 3), (3, 2)]))
            result = pool.apply_async(work.square, (4,), callback=lambda value: print("called", value))
            print(result.get(timeout=30))
            try:
                pool.map(work.fail, range(2))
            except ValueError as error:
                print(repr(error))
        with mp.Pool(2, work.set_base, (1,), maxtasksperchild=2) as pool:
            print(pool.map(work.above_base, range(5), chunksize=1))
            pool.close()
            pool.join()
    """,
    "processes, queues and an event": """
        answers, questions, begin = mp.Queue(), mp.SimpleQueue(), mp.Event()
        ours = [mp.Process(target=work.answer, args=(n, questions, answers, begin), name=f"p{n}") for n in range(3)]
        for each in ours: each.start()
        print([each.is_alive() for each in ours], [each.exitcode for each in ours], len(mp.active_children()))
        for number in range(3): questions.put(number * 10)
        begin.set()
        print([answers.get() for _ in ours], answers.empty())
        for each in ours:
            each.join()
            print(each, each.exitcode, each.pid)
        one = mp.Process(target=work.leave, args=(3,))
        one.start(); one.join(); print(one.exitcode)
        long = mp.Process(target=time.sleep, args=(60,))
        long.start(); long.join(0.05); print(long.exitcode)
        long.terminate(); long.join(); print(long.exitcode); long.close()
        mp.Process(target=time.sleep, args=(60,), daemon=True).start()
    """,
    "a pipe": """
        ours, theirs = mp.Pipe()
        child = mp.Process(target=work.upper, args=(theirs,))
        child.start()
        theirs.close()
        for text in ("one", "two" * 10_000):
            ours.send(text)
            print(ours.poll(10), ours.recv()[:9])
        ours.send(None)
        child.join()
        for again in (ours.recv, lambda: ours.send(1)):
            try:
                again()
            except (EOFError, OSError) as error:
                print(type(error).__name__)
    """,
    "queues that are full, empty, and done": """
        queue = mp.JoinableQueue()
        child = mp.Process(target=work.done, args=(queue,))
        child.start()
        for number in range(3): queue.put(number)
        queue.join(); print("done", queue.empty())
        queue.put(None); queue.join(); child.join()
        short = mp.Queue(1)
        for ask in (lambda: short.get(timeout=0.01), lambda: short.put(1), lambda: short.put(1, timeout=0.01)):
            try:
                print(ask())
            except Exception as error:
                print(type(error).__name__)
        print(short.full(), short.get())
    """,
    "locks": """
        lock, semaphore = mp.RLock(), mp.Semaphore(2)
        children = [mp.Process(target=work.locked, args=(lock, semaphore)) for _ in range(3)]
        with lock, lock:
            for child in children: child.start()
            print([child.is_alive() for child in children], lock)
        for child in children: child.join()
        print(semaphore.get_value(), lock)
        try:
            mp.Lock().release()
        except ValueError as error:
            print(error)
        condition = mp.Condition()
        with condition:
            print(condition.wait(0.01))
    """,
    "a manager": """
        with mp.Manager() as manager:
            shared, numbers = manager.dict(), manager.list()
            children = [mp.Process(target=work.put, args=(shared, numbers, number)) for number in range(3)]
            for child in children: child.start()
            for child in children: child.join()
            print(shared, numbers, len(numbers))
            try:
                shared["not there"]
            except KeyError as error:
                print(repr(error))
    """,
    "shared memory": """
        value, numbers, raw, barrier = mp.Value("i", 1), mp.Array("d", 2), mp.RawArray("i", 2), mp.Barrier(3)
        children = [mp.Process(target=work.count, args=(value, numbers, raw, barrier, number)) for number in range(2)]
        for child in children: child.start()
        barrier.wait()
        while value.value < 3: time.sleep(0.001)
        for child in children: child.join()
        print(value.value, list(numbers), list(raw))
        memory = shared_memory.SharedMemory(create=True, size=10)
        child = mp.Process(target=work.greet, args=(memory.name,))
        child.start(); child.join(); print(bytes(memory.buf[:5]))
        memory.close(); memory.unlink()
    """,
    "files of a worker": """
        with open("mine.txt", "w") as mine: mine.write("as it was\\n")
        with ProcessPoolExecutor(1) as pool:
            for number in range(2):
                pool.submit(work.write, "theirs.txt", f"line {number}\\n").result()
                print(open("theirs.txt").read())
            pool.submit(work.write, "mine.txt", "and more\\n").result()
        print(open("mine.txt").read())
    """,
}
METHODS = ("fork", "spawn", "forkserver")


def recorded(bench: Bench, body: str, method: str, env: Mapping[str, str] | None = None) -> Run:
    (bench.folder / "work.py").write_text(WORK, encoding="utf-8")
    lines = "\n".join(line[4:] for line in body.strip("\n").splitlines())
    end = f'if __name__ == "__main__":\n    mp.set_start_method("{method}")\n    main()\n'
    return bench.record(f"{HEAD}{lines}\n\n{end}", env=env)


FRESH = ("map", "an exception of a worker", "a pool", "processes, queues and an event", "a manager", "shared memory")
"""What is tried where a process begins afresh, and so gets all that it is to do as a pickle."""


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "fork") for name in PROGRAMS),
        ("map", "spawn"),
        ("a pool", "forkserver"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in itertools.product(FRESH, ("spawn", "forkserver"))),
    ],
)
def test_the_run_and_its_processes_are_replayed_to_the_byte(bench: Bench, name: str, method: str) -> None:
    run = recorded(bench, PROGRAMS[name], method)
    assert run.status == (name == "an exception that ends the program"), run.stderr.decode()
    assert run.stderr.count(b"a process works") >= 1
    verified = run.verify()
    assert verified.passed, verified.told()
    assert verified.boundaries == (len(whole(run.tape).events),) * 3
    assert verified.document["processes"]["replayed"] == len(list(every(run.tape))) - 1
    assert not verified.document["drifts"]
    replayed = run.replay()
    assert replayed.stdout == run.stdout
    assert replayed.stderr.count(b"a process works") <= run.stderr.count(b"a process works")


ASKS = """
import multiprocessing as mp, sys
from concurrent.futures import ProcessPoolExecutor
from openai import OpenAI

def ask(question):
    asked = [{"role": "user", "content": question}]
    return OpenAI().chat.completions.create(model="m", messages=asked).choices[0].message.content

def say(text):
    print(text)

def nothing(number):
    return number

def pass_on():
    child = mp.Process(target=ask, args=("nested",), name="grand")
    child.start()
    child.join()

if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    print(ask("mine"))
    with ProcessPoolExecutor(1) as pool:
        print(list(pool.map(ask, ["one", "two"])))
    with mp.Pool(1) as pool:
        print(pool.map(ask, ["three"]), pool.map(nothing, range(3)))
    for work, given, name in ((say, ["hello"], "speaker"), (nothing, [1], "silent"), (pass_on, [], "parent")):
        child = mp.Process(target=work, args=given, name=name)
        child.start()
        child.join()
    print(ask("mine again"))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.slow)], ids=METHODS)
def test_what_processes_do_is_on_the_tape_of_their_run(bench: Bench, method: str) -> None:
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt}")) as server:
        run = bench.record(ASKS, method, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    assert [event.kind for event in run.tape.events].count(Kind.HTTP) == 2
    assert list(bench.store.root.iterdir()) == [run.path]
    asked = {each.name: [event.kind for event in each.events].count(Kind.HTTP) for each in every(run.tape)}
    assert sorted(asked.values()) == [0, 0, 0, 1, 1, 2, 2]
    assert (asked["grand"], asked["parent"], asked["speaker"], asked["silent"]) == (1, 0, 0, 0)
    assert not run.tape.notes
    shown = json.loads(bench.run("-m", "reenact", "show", run.path.stem, "--json").stdout)
    assert [step["answer"]["parts"][0]["text"] for step in shown["steps"]] == [
        f"answer to {question}" for question in ("mine", "one", "two", "three", "nested", "mine again")
    ]
    names = {lane["path"]: lane["process"] for lane in shown["run"]["lanes"]}
    assert [names[step["lane"]] != "" for step in shown["steps"]] == [False, True, True, True, True, False]
    last = shown["steps"][-2]["attempts"][-1]
    event = bench.run("-m", "reenact", "show", run.path.stem, "--event", str(last))
    assert b"answer to nested" in event.stdout
    assert b"(grand)" in event.stdout
    assert bench.run("-m", "reenact", "fsck", run.path.stem).status == 0
    listed = json.loads(bench.run("-m", "reenact", "runs", "--json").stdout)
    assert (listed[0]["steps"], listed[0]["model_calls"]) == (6, 6)


def test_a_replay_ends_where_so_much_memory_is_shared_that_it_is_not_kept(bench: Bench) -> None:
    run = recorded(bench, """
        numbers = mp.RawArray("b", 2**21)
        print(numbers[0])
    """, "fork")  # fmt: skip
    assert [note.slug for note, _ in run.tape.notes] == ["child"]
    verified = run.verify()
    assert verified.status == 1
    found = verified.divergences[0]
    assert (found["what"], found["actual"]["name"]) == ("extra", "share memory")
    assert found["site"]["source"] == 'numbers = mp.RawArray("b", 2**21)'


def test_a_credential_that_goes_to_a_process_and_back_is_not_on_tape(bench: Bench) -> None:
    key = "sk-this-is-nothing-but-a-test-of-length"
    run = recorded(bench, """
        with ProcessPoolExecutor(1) as pool:
            print(pool.submit(work.given, {"key": os.environ["OPENAI_API_KEY"], "rest": 1}).result()["rest"])
    """, "fork", env={"OPENAI_API_KEY": key})  # fmt: skip
    assert run.text == "1\n"
    assert run.verify().passed
    held = [part.data for event in run.tape.events for _, part in event.parts]
    held += [run.tape.body(event) for event in run.tape.events]
    assert not any(key.encode() in data for data in held)


def test_a_fault_in_a_process_is_told_and_reaches_nobody(bench: Bench) -> None:
    run = recorded(bench, """
        import pathlib
        [tape] = pathlib.Path(".reenact").glob("*.tape")
        tape.with_suffix("").write_text("no folder can be made here")
        with ProcessPoolExecutor(1) as pool:
            print(pool.submit(work.square, 3).result())
    """, "fork")  # fmt: skip
    assert (run.status, run.text) == (0, "9\n"), run.stderr.decode()
    assert [note.slug for note, _ in run.tape.notes] == ["fault"]
    assert b"Process-1 is not on tape whole" in run.stderr
    assert run.verify().passed


def test_a_run_in_code_says_that_it_starts_processes_and_its_replay_starts_none(bench: Bench) -> None:
    (bench.folder / "work.py").write_text(WORK, encoding="utf-8")
    (bench.folder / "agent.py").write_text(IN_CODE, encoding="utf-8")
    done = bench.run("agent.py")
    assert done.stdout == b"49\n", done.stderr.decode()
    run = Run(bench, bench.store.path(bench.store.ids()[0]), done)
    assert [note.slug for note, _ in run.tape.notes] == ["child"]
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["site"]["source"] == "child.start()"
    assert b"a process works" not in run.replay().stderr


IN_CODE = """
import multiprocessing as mp, reenact, work

@reenact.record
def job(number):
    queue = mp.SimpleQueue()
    child = mp.Process(target=work.square_into, args=(queue, number))
    child.start()
    child.join()
    return queue.get()

if __name__ == "__main__":
    print(job(7))
"""
