"""`reenact explore`: a run's outcomes in other orders, and the tape of one that changes something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reenact.doctor import tape as doctor
from reenact.testing import ModelServer, Reply, Say, SlowFirstByte, Turn
from tests.runs import Bench, Done, Run, settings

ASYNC = """
import asyncio, os, sys
import httpx
async def ask(text):
    answer = await client.post(
        os.environ["BASE"] + "/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": text}]}
    )
    return answer.json()["choices"][0]["message"]["content"]
async def run(main):
    global client
    async with httpx.AsyncClient() as client:
        await main()
"""

# each takes what it saw before it asked: whoever comes between them is lost
RACE = f"""{ASYNC}
balance = 100
async def take(who, amount):
    global balance
    await ask(f"may {{who}} take it?")
    seen = balance
    await ask(f"is {{who}} sure?")
    balance = seen - amount
async def main():
    await asyncio.gather(take("a", 10), take("b, later,", 20))
    print("left", balance)
    sys.exit(balance != 70)
asyncio.run(run(main))
"""

RACE_OF_THREADS = """
import os, threading, time
import requests
balance = 100
def ask(text):
    requests.post(
        os.environ["BASE"] + "/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": text}]}
    )
def take(who, amount):
    global balance
    ask(f"may {who} take it?")
    seen = balance
    time.sleep(0.001)
    ask(f"is {who} sure?")
    balance = seen - amount
threads = [threading.Thread(target=take, args=one) for one in (("a", 10), ("b, later,", 20))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("left", balance)
"""

# workers that share a queue and a lock, a poller, and a wait with a timeout that is far off: no order matters
NO_RACE = f"""{ASYNC}
import random, threading, time
async def main():
    total, found, lock, jobs, done = 0, {{}}, asyncio.Lock(), asyncio.Queue(), asyncio.Event()
    for job in range(5): jobs.put_nowait(job)
    async def work():
        nonlocal total
        while not jobs.empty():
            job = jobs.get_nowait()
            found[job] = await ask(f"job {{job}}")
            await asyncio.sleep(random.random() / 200)
            async with lock:
                seen = total
                await asyncio.sleep(0.001)
                total = seen + job
            print("did", job, flush=True)
    async def poll():
        while not done.is_set(): await asyncio.sleep(0.005)
    polling = asyncio.create_task(poll())
    await asyncio.wait_for(asyncio.gather(work(), work(), asyncio.to_thread(time.sleep, 0.02)), 60)
    done.set()
    await polling
    print(total, sorted(found.items()))
asyncio.run(run(main))
"""

PROMPT = f"""{ASYNC}
async def main():
    notes = []
    async def look(where):
        notes.append(await ask(f"look {{where}}"))
    await asyncio.gather(look("here"), look("there, later,"))
    print(await ask(f"sum up {{notes}}"))
asyncio.run(run(main))
"""

AMONG_OTHERS = f"""{ASYNC}
async def main():
    seen = []
    async def work(number):
        seen.append(await ask(f"{{number}}"))
        await asyncio.sleep(0.002 * number)
        return await ask(f"{{number}} after {{len(seen)}}")
    print(await asyncio.gather(*map(work, range(5))))
asyncio.run(run(main))
"""

TIMEOUT = f"""{ASYNC}
async def main():
    try:
        print(await asyncio.wait_for(ask("in time?"), 0.5))
    except TimeoutError:
        print("too late")
asyncio.run(run(main))
"""

# the event is set for whoever waits by then, and is cleared at once
HANG = f"""{ASYNC}
async def main():
    condition = asyncio.Condition()
    async def waits():
        await ask("what for?")
        async with condition: await condition.wait()
    async def tells():
        await ask("when? later,")
        async with condition: condition.notify_all()
    await asyncio.gather(waits(), tells())
    print("both")
asyncio.run(run(main))
"""

FIRST = f"""{ASYNC}
async def main():
    asked = [asyncio.create_task(ask(text)) for text in ("quick", "slow, later,")]
    done, left = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
    for task in left: task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    print([task.result() for task in done])
asyncio.run(run(main))
"""


def policy(turn: Turn) -> Reply:
    return SlowFirstByte(Say(f"answer to {turn.prompt}"), 0.15 if "later" in str(turn.prompt) else 0.0)


def recorded(bench: Bench, program: str) -> Run:
    with ModelServer(policy) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    return run


def explored(bench: Bench, run: Run, *options: str, status: int) -> dict[str, Any]:
    done = bench.run("-m", "reenact", "explore", run.path.stem, "--json", *options)
    assert done.status == status, f"{done.stdout.decode()[:3000]}\n{done.stderr.decode()[-3000:]}"
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def kept(bench: Bench, finding: dict[str, Any]) -> Run:
    path = bench.store.path(finding["run"])
    assert str(path) == finding["path"]
    return Run(bench, path, Done(0, b"", b""))


def test_a_lost_update_between_two_tasks_is_found_and_comes_back_ten_times_of_ten(bench: Bench) -> None:
    run = recorded(bench, RACE)
    found = explored(bench, run, "--runs", "3", status=1)
    (finding,) = found["findings"]
    assert finding["changes"] == ["ends"]
    assert finding["early"]["lane"] != finding["late"]["lane"]
    assert finding["early"]["file"].endswith("agent.py")
    again = kept(bench, finding)
    ends = [(done.status, done.stdout) for done in (again.replay() for _ in range(10))]
    assert ends == ends[:1] * 10
    assert ends[0][0] == 1
    assert ends[0][1] in (b"left 80\n", b"left 90\n")
    assert again.verify().passed


def test_a_lost_update_between_two_threads_is_found(bench: Bench) -> None:
    run = recorded(bench, RACE_OF_THREADS)
    finding = explored(bench, run, "--runs", "4", status=1)["findings"][0]
    assert finding["changes"] == ["output"]
    again = kept(bench, finding)
    assert [note.slug for note, _ in again.tape.notes] == ["explored"]
    assert "explored" not in {found.slug for found in doctor.findings(again.tape)}
    assert again.verify().passed
    assert again.replay().stdout in (b"left 80\n", b"left 90\n")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("runs", [(8, 1), pytest.param((25, 2), marks=pytest.mark.slow)], ids=["8 orders", "50 orders"])
def test_without_a_race_no_order_is_found_to_matter(bench: Bench, runs: tuple[int, int]) -> None:
    run = recorded(bench, NO_RACE)
    count, seeds = runs
    for seed in range(seeds):
        found = explored(bench, run, "--runs", str(count), "--seed", str(seed), status=0)
        assert found["findings"] == []
        assert found["changed"] == {}
        assert found["same"] == found["tried"] == count
        assert found["distinct"] > count / 2
    assert bench.store.ids() == [run.path.stem]


def test_an_order_that_changes_a_prompt_is_kept_up_to_what_the_tape_does_not_hold(bench: Bench) -> None:
    run = recorded(bench, PROMPT)
    finding = explored(bench, run, "--runs", "2", status=1)["findings"][0]
    assert finding["changes"] == ["asks"]
    (divergence,) = finding["divergences"]
    assert (divergence["what"], divergence["step"]) == ("mismatch", 3)
    assert divergence["changes"][0]["pointer"] == "/messages/0/content"
    again = kept(bench, finding)
    assert again.http[-1].parts == []
    assert b"sum up" in again.tape.body(again.http[-1])
    verified = again.verify()
    assert verified.document["verdict"] == "verified-until-cut", verified.told()
    assert verified.boundaries == (3, 3, 3)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", ["0", "1"])
def test_such_a_tape_replays_to_its_end_also_when_others_were_in_the_midst_of_an_answer(
    bench: Bench, seed: str
) -> None:
    run = recorded(bench, AMONG_OTHERS)
    finding = explored(bench, run, "--runs", "2", "--seed", seed, status=1)["findings"][0]
    assert finding["changes"] == ["asks"]
    again = kept(bench, finding)
    verified = again.verify()
    assert verified.document["verdict"] == "verified-until-cut", verified.told()
    assert verified.boundaries == (len(again.tape.events),) * 3


def test_a_timeout_that_is_near_may_come_first(bench: Bench) -> None:
    run = recorded(bench, TIMEOUT)
    finding = explored(bench, run, "--runs", "2", status=1)["findings"][0]
    assert finding["changes"] == ["output"]
    assert finding["early"]["event"] is None
    again = kept(bench, finding)
    assert again.replay().stdout == b"too late\n"
    assert again.verify().passed


def test_a_timeout_that_is_far_off_does_not(bench: Bench) -> None:
    run = recorded(bench, TIMEOUT.replace("0.5", "60"))
    found = explored(bench, run, status=0)
    assert (found["choices"], found["tried"]) == (0, 0)


def test_an_order_in_which_everything_waits_is_found(bench: Bench) -> None:
    run = recorded(bench, HANG)
    finding = explored(bench, run, "--runs", "2", status=1)["findings"][0]
    assert finding["changes"] == ["hangs"]
    assert kept(bench, finding).verify().document["verdict"] == "verified-until-cut"


def test_an_answer_that_the_tape_does_not_hold_is_no_finding(bench: Bench) -> None:
    run = recorded(bench, FIRST)
    found = explored(bench, run, "--runs", "3", status=0)
    assert found["findings"] == []
    assert found["same"] + found["lost"] == found["tried"]


@pytest.mark.slow
def test_the_same_seed_tries_the_same_orders(bench: Bench) -> None:
    run = recorded(bench, NO_RACE)
    one, other = (explored(bench, run, "--runs", "6", "--seed", "5", status=0) for _ in range(2))
    assert one == other
    assert one["orders"] != explored(bench, run, "--runs", "6", "--seed", "6", status=0)["orders"]


def test_what_is_told_of_a_finding(bench: Bench) -> None:
    run = recorded(bench, RACE)
    done = bench.run("-m", "reenact", "explore", run.path.stem, "--runs", "2")
    told = done.stdout.decode()
    assert done.status == 1
    order = next(name for name in bench.store.ids() if name != run.path.stem)
    assert told.startswith(f"ORDER MATTERS  {run.path.stem}: ")
    for words in ("came early", "agent.py:", "exit status 1", f"reenact replay {order}"):
        assert words in told
    listed = bench.run("-m", "reenact", "show", order).stdout.decode()
    assert f"{run.path.stem} with its outcomes in another order" in listed


def test_a_run_in_code_is_refused(bench: Bench) -> None:
    bench.run(bench.write("import reenact\n@reenact.record\ndef main():\n    return 1\nmain()\n"))
    (name,) = bench.store.ids()
    done = bench.run("-m", "reenact", "explore", name)
    assert done.status == 2
    assert "it is a run in code" in " ".join(done.stderr.decode().split())


def test_a_run_that_does_not_even_do_the_same_in_its_own_order_is_refused(bench: Bench) -> None:
    run = recorded(bench, "print(open('/proc/self/stat').read())")
    done = bench.run("-m", "reenact", "explore", run.path.stem)
    assert done.status == 2
    assert "in the recorded order too it does not do the same (output)" in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize("options", [("--runs", "0"), ("--seed", "x")])
def test_misuse_is_told(bench: Bench, options: tuple[str, str]) -> None:
    run = recorded(bench, "print(1)")
    assert bench.run("-m", "reenact", "explore", run.path.stem, *options).status == 2
