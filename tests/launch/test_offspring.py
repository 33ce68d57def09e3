"""Processes that a run has started: recorded onto its tape, and replayed each for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from reenact.tape.event import Kind
from reenact.tape.whole import every, whole
from reenact.testing import ModelServer, Say
from tests.runs import Bench, Run, settings

METHODS = ("fork", pytest.param("spawn", marks=pytest.mark.slow), pytest.param("forkserver", marks=pytest.mark.slow))

HEAD = """
import multiprocessing as mp, os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor
from openai import OpenAI

def ask(question):
    asked = [{"role": "user", "content": question}]
    return OpenAI().chat.completions.create(model="m", messages=asked).choices[0].message.content

def started(work, *given, **options):
    process = mp.Process(target=work, args=given, **options)
    process.start()
    return process
"""
END = """
if __name__ == "__main__":
    mp.set_start_method(sys.argv[1])
    main()
"""


def recorded(bench: Bench, body: str, method: str) -> Run:
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt}")) as server:
        run = bench.record(f"{HEAD}{body}{END}", method, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    return run


def verified(run: Run, *, cut: int = 0) -> None:
    """Every call of every process, with nobody there to ask."""
    run.notes_nothing()
    found = run.verify()
    assert found.passed, found.told()
    assert found.boundaries == (len(whole(run.tape).events),) * 3, found.told()
    count = len(list(every(run.tape))) - 1
    assert found.document["processes"] == {"recorded": count, "replayed": count, "cut": cut}
    assert not found.document["drifts"]
    amounts = found.document["bytes"]
    assert amounts["compared"] == amounts["requests"] + amounts["answers"] + amounts["output"]


def change(bench: Bench, old: str, new: str) -> None:
    source = bench.folder / "agent.py"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))


ASKING = """
def work(questions, answers):
    while (question := questions.get()) is not None:
        text = ask(question)
        print("worker:", text)
        answers.put(text)
    grand = started(print, ask("grand"), name="grand")
    grand.join()

def talk(connection):
    connection.send(ask(connection.recv()))

def main():
    questions, answers = mp.Queue(), mp.Queue()
    worker = started(work, questions, answers, name="worker")
    for question in ("one", "two"):
        questions.put(question)
        print("main:", answers.get())
    questions.put(None)
    worker.join()
    ours, theirs = mp.Pipe()
    talker = started(talk, theirs, name="talker")
    ours.send("three")
    print(ours.recv())
    talker.join()
    with mp.Pool(2) as pool:
        print(pool.map(ask, ["four", "five"]))
    with ProcessPoolExecutor(2) as pool:
        print(list(pool.map(ask, ["six", "seven"])))
    print(ask("eight"))
"""


@pytest.mark.parametrize("method", METHODS)
def test_models_that_processes_ask_are_replayed(bench: Bench, method: str) -> None:
    run = recorded(bench, ASKING, method)
    processes = {each.name: each for each in every(run.tape)}
    assert [event.kind for event in processes["worker"].events].count(Kind.HTTP) == 3
    assert processes["grand"].main.startswith(f"{processes['worker'].main}.")
    verified(run, cut=sum(not each.closed_by_itself for each in every(run.tape)))
    replayed = run.replay()
    assert sorted(replayed.stdout.splitlines()) == sorted(run.stdout.splitlines())
    assert (replayed.status, replayed.stderr) == (0, b"")


@pytest.mark.parametrize("method", METHODS)
def test_a_prompt_that_was_changed_in_a_worker_is_told_with_its_place(bench: Bench, method: str) -> None:
    body = """
def work(question):
    return ask(f"Tell me of {question}")

def main():
    print(ask("first"))
    worker = started(print, "nothing")
    worker.join()
    worker = started(work, "Oslo", name="teller")
    worker.join()
"""
    run = recorded(bench, body, method)
    verified(run)
    change(bench, "Tell me of", "Tell us of")
    done = bench.run("-m", "reenact", "verify", run.path.stem)
    assert done.status == 1
    told = done.stdout.decode()
    assert "at step 2" in told
    assert "0.2 (process teller)" in told
    assert "agent.py:8 in ask" in told
    found = run.verify().divergences[0]
    together = whole(run.tape)
    assert together.events[found["event"]].lane == found["lane"] == "0.2"
    assert found["process"] == "teller"


@pytest.mark.parametrize("method", METHODS)
def test_files_of_a_worker_are_as_they_were_and_its_own(bench: Bench, method: str, namespaces: None) -> None:
    (bench.folder / "read.txt").write_text("as it was")
    body = """
def work(number):
    with open("read.txt") as file:
        text = file.read()
    with open("written.txt", "a") as file:
        file.write(f"{number}: {text}\\n")
    with open("main.txt", "a") as file:
        file.write(f"seen by {number}\\n")
    print(ask(text), sorted(name for name in os.listdir() if name.endswith(".txt")))

def main():
    with open("main.txt", "w") as file:
        file.write("from main\\n")
    for number in range(2):
        started(work, number).join()
    print(open("main.txt").read(), open("written.txt").read())
"""
    run = recorded(bench, body, method)
    verified(run)
    (bench.folder / "read.txt").write_text("something else by now")
    (bench.folder / "written.txt").unlink()
    (bench.folder / "main.txt").write_text("mine")
    verified(run)
    replayed = run.replay()
    assert sorted(replayed.stdout.splitlines()) == sorted(run.stdout.splitlines())
    assert (bench.folder / "read.txt").read_text() == "something else by now"
    assert (bench.folder / "main.txt").read_text() == "mine"
    assert not (bench.folder / "written.txt").exists()


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_leaves_another_file_behind_is_told(bench: Bench, method: str, namespaces: None) -> None:
    body = """
def work():
    with open("left.txt", "w") as file:
        file.write("one")

def main():
    started(work, name="writer").join()
"""
    run = recorded(bench, body, method)
    change(bench, 'file.write("one")', 'file.write("two")')
    found = run.verify()
    assert found.status == 1
    told = found.divergences[0]
    assert (told["what"], told["process"], Path(told["expected"]["name"]).name) == ("file", "writer", "left.txt")


ENDS = """
def leave(status):
    print(ask("left"), flush=True)
    os._exit(status)

def crash(number):
    print(ask("crashed"), flush=True)
    os.kill(os.getpid(), number)

def raises():
    raise ValueError(ask("raised"))

def wait(ready):
    print(ask("waited"), flush=True)
    ready.set()
    time.sleep(600)

def main():
    for work, given in ((leave, [3]), (crash, [signal.SIGKILL]), (raises, []), (sys.exit, [4])):
        process = started(work, *given)
        process.join()
        print(process.exitcode)
    ready = mp.Event()
    process = started(wait, ready, daemon=True, name="daemon")
    ready.wait()
    process.terminate()
    process.join()
    print(process.exitcode)
    ready.clear()
    started(wait, ready, daemon=True, name="left alone")
    ready.wait()
"""


@pytest.mark.parametrize("method", METHODS)
def test_processes_end_as_they_did(bench: Bench, method: str) -> None:
    run = recorded(bench, ENDS, method)
    ended = {each.name: (each.status, each.closed_by_itself) for each in every(run.tape)}
    assert list(ended.values())[1:5] == [(3, True), (-9, True), (1, True), (4, True)]
    assert ended["daemon"] == ended["left alone"] == (None, False)
    verified(run, cut=2)
    replayed = run.replay()
    assert sorted(replayed.stdout.splitlines()) == sorted(run.stdout.splitlines())
    assert replayed.stderr.splitlines()[-1:] == run.stderr.splitlines()[-1:] == [b"ValueError: answer to raised"]


def test_a_worker_that_ends_otherwise_is_told(bench: Bench) -> None:
    run = recorded(bench, ENDS, "fork")
    change(bench, "os._exit(status)", "os._exit(status + 1)")
    found = run.verify()
    assert found.status == 1
    told = found.divergences[0]
    assert (told["what"], told["lane"]) == ("exit", "0.1")
    assert (told["expected"]["text"], told["actual"]["text"]) == ("exit status 3", "exit status 4")


def test_a_process_that_the_tape_does_not_hold_is_refused(bench: Bench) -> None:
    body = """
def main():
    started(print, "one").join()
"""
    run = recorded(bench, body, "fork")
    verified(run)
    change(bench, 'started(print, "one").join()', 'started(print, "one").join(); started(os.mkdir, "made").join()')
    found = run.verify()
    assert found.status == 1
    assert (found.divergences[0]["what"], found.divergences[0]["actual"]["name"]) == ("extra", "start Process-2")
    assert not (bench.folder / "made").exists()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_ten_of_ten(bench: Bench, method: str) -> None:
    run = recorded(bench, ASKING, method)
    for _ in range(10):
        verified(run, cut=sum(not each.closed_by_itself for each in every(run.tape)))


def test_a_file_that_several_processes_write_at_once_is_told_and_not_compared(bench: Bench, namespaces: None) -> None:
    body = """
def work(number, begun, turn, next_turn):
    with open("log.txt", "a") as file:
        file.write(f"{number} begins\\n")
        file.flush()
        begun.release()
        turn.wait()
        file.write(f"{number} ends\\n")
    next_turn.set()

def main():
    begun, turns = mp.Semaphore(0), [mp.Event() for _ in range(3)]
    workers = [started(work, number, begun, turns[number], turns[number + 1]) for number in range(2)]
    for _ in workers:
        begun.acquire()
    turns[0].set()
    for worker in workers:
        worker.join()
    print(len(open("log.txt").readlines()))
"""
    run = recorded(bench, body, "fork")
    assert run.text == "4\n"
    verified(run)
    told = run.verify().document["not_restored"]
    assert any("log.txt was written by several processes" in line for line in told), told


IN_RUN = """
import multiprocessing as mp, subprocess, sys
import reenact

def tell(who):
    print(who, reenact.current_run(), flush=True)

def started(method, work, *given):
    process = mp.get_context(method).Process(target=work, args=given)
    process.start()
    process.join()

def work():
    tell("worker")
    subprocess.run([sys.executable, "-c", "import agent; agent.join()"], check=True)

def join():
    tell("joined")
    started("fork", tell, "in it")

if __name__ == "__main__":
    tell("main")
    started(sys.argv[1], work)
"""


@pytest.mark.parametrize("method", METHODS)
def test_every_process_knows_the_run_that_it_is_part_of(bench: Bench, method: str) -> None:
    run = bench.record(IN_RUN, method)
    said = sorted(run.stdout.splitlines())
    assert said == [f"{who} {run.path.stem}".encode() for who in ("in it", "joined", "main", "worker")]
    verified(run)
    assert sorted(run.replay().stdout.splitlines()) == said
