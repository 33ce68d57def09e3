"""Side traffic, by the real libraries: live in a recording, not kept, not made in a replay, and in nobody's way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.tape.event import Kind
from reenact.testing.host import Host
from reenact.testing.request import Request
from reenact.testing.response import HangUp, Pace, Response
from tests.runs import Bench, Run, Verified
from tests.sdk.wire import Wire

JSON = (("content-type", "application/json"),)
SLOW = 0.06  # seconds that an answer of the telemetry takes at most: it comes before, between and after the agent's own


class Telemetry(Host):
    """Takes what is sent, in a time that nobody knows. Under /status/N it turns down."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port, None)
        self._times = random.Random()

    def _answer(self, request: Request, index: int) -> Response | HangUp:
        match request.path.strip("/").split("/"):
            case ["status", status, *_]:
                return Response(int(status), JSON, b'{"error": "busy"}')
            case ["drop", *_]:
                return HangUp()
            case ["nothing", *_]:
                return Response(204, (), b"")
            case ["large", *_]:
                return Response(200, JSON, (b"[1,", b" " * 70_000, b"2]"))
        return Response(200, JSON, b'{"taken": %d}' % index, Pace(first_byte=self._times.uniform(0, SLOW)))


@pytest.fixture
def model() -> Iterator[Wire]:
    """What the agent asks."""
    with Wire() as server:
        yield server


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    """Where the side traffic goes."""
    with Telemetry() as server:
        yield server


def lists(folder: Path, *patterns: str) -> None:
    """The project names these patterns."""
    (folder / "pyproject.toml").write_text(f"[tool.reenact]\nside-traffic = {[*patterns]!r}\n", encoding="utf-8")


def env(model: Wire, telemetry: Telemetry, path: str = "/v1/track") -> dict[str, str]:
    return {"BASE": model.url, "TELEMETRY": telemetry.url + path}


def hosts(telemetry: Telemetry) -> str:
    return f"127.0.0.1:{telemetry.port}"


def same(run: Run) -> Verified:
    """Verified, with nothing to be said of it."""
    run.notes_nothing()
    verified = run.verify()
    assert verified.passed, verified.told()
    counts = len(run.tape.compared)
    assert verified.boundaries == (counts, counts, counts), verified.told()
    assert not verified.document["drifts"], verified.told()
    return verified


POSTS = {
    "httpx": "import httpx\nwith httpx.Client() as client: client.post(url, json=body).json()",
    "httpx2": "import httpx2\nhttpx2.post(url, json=body).raise_for_status()",
    "requests": "import requests\nrequests.post(url, json=body, timeout=5).json()",
    "urllib3": "import urllib3\nurllib3.PoolManager().request('PUT', url, json=body).json()",
    "aiohttp": """import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as answer:
        await answer.json()
asyncio.run(main())""",
    "async httpx": """import asyncio, httpx
async def main():
    async with httpx.AsyncClient() as client:
        (await client.post(url, json=body)).json()
asyncio.run(main())""",
}

THREAD = """
import ctypes, os, random, sys, threading, time, uuid
import httpx
import {library}
libc, pace, url, program = ctypes.CDLL(None), random.Random(), os.environ["TELEMETRY"], {program!r}

def posts():
    # past every seam: a replay does otherwise than the recording
    return 7 if not libc.access(b"more", 0) else 1 if not libc.access(b"fewer", 0) else 3

def send():
    for number in range(posts()):
        threading.Event().wait(pace.uniform(0.001, 0.03))
        time.sleep(pace.uniform(0.001, 0.03))
        body = {{"mark" + "er": str(uuid.uuid4()), "at": time.time(), "number": number}}
        try:
            exec(program, {{"url": url, "body": body}})
        except Exception as error:
            print("not sent:", type(error).__name__, file=sys.stderr)

sender = threading.Thread(target=send, daemon={daemon})
sender.start()
for number in range(4):
    print(len(httpx.get(os.environ["BASE"] + "/sized").content), uuid.uuid4(), random.random(), time.time())
    time.sleep(0.02)
if not {daemon}:
    sender.join()
print("the end")
"""


def thread(library: str, *, daemon: bool = False) -> str:
    return THREAD.format(library=library.rsplit(maxsplit=1)[-1], program=POSTS[library], daemon=daemon)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("library", POSTS)
def test_a_thread_that_posts_on_a_timer_is_beside_the_run(
    bench: Bench, model: Wire, telemetry: Telemetry, library: str
) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v1/*")
    run = bench.record(thread(library), env=env(model, telemetry))
    assert run.status == 0, run.stderr.decode()
    assert not run.stderr, run.stderr.decode()
    assert len(telemetry.requests) == 3
    assert b"marker" in telemetry.requests[0].body
    assert {path for path, lane in run.tape.lanes.items() if lane.asides and not lane.beside} == set()
    assert len(run.http) == 4
    assert "marker" not in repr(run.tape)
    assert "taken" not in repr(run.tape)
    verified = same(run)
    assert verified.document["side_traffic"] == {hosts(telemetry): 3}
    assert len(telemetry.requests) == 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize("otherwise", ["more", "fewer"])
@pytest.mark.parametrize("library", ["httpx", "requests", "aiohttp"])
def test_it_may_post_as_often_as_it_likes_in_a_replay(
    bench: Bench, model: Wire, telemetry: Telemetry, library: str, otherwise: str
) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v1/*")
    run = bench.record(thread(library), env=env(model, telemetry))
    (bench.folder / otherwise).touch()
    same(run)
    assert run.replay().stdout == run.stdout
    assert len(telemetry.requests) == 3


def test_ten_of_ten(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v1/*")
    run = bench.record(thread("requests"), env=env(model, telemetry))
    for _ in range(10):
        same(run)
    assert len(telemetry.requests) == 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("library", "path"),
    [
        ("requests", "/status/503"),
        ("aiohttp", "/status/503"),
        ("httpx", "/drop"),
        ("aiohttp", "/nothing"),
        ("requests", "/large"),
        ("aiohttp", "/large"),
    ],
)
def test_what_came_of_it_does_not_matter(
    bench: Bench, model: Wire, telemetry: Telemetry, library: str, path: str
) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(thread(library), env=env(model, telemetry, path))
    assert len(telemetry.requests) >= 3
    before = len(telemetry.requests)
    same(run)
    assert run.replay().stderr == run.stderr
    assert len(telemetry.requests) == before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("library", POSTS)
def test_nor_that_nobody_listens(bench: Bench, model: Wire, library: str) -> None:
    with Telemetry() as gone:
        pass
    lists(bench.folder, f"{hosts(gone)}/v1/*")
    run = bench.record(thread(library), env=env(model, gone))
    assert run.stderr.count(b"not sent") == 3
    verified = same(run)
    attempts = 12 if library == "urllib3" else 3  # it tries again by itself
    assert verified.document["side_traffic"] == {hosts(gone): attempts}


def test_a_replay_ends_while_a_daemon_sleeps_or_waits_for_its_answer(
    bench: Bench, model: Wire, telemetry: Telemetry
) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/*")
    forever = thread("httpx", daemon=True).replace("posts()):", "10**9):")
    run = bench.record(forever, env=env(model, telemetry))
    assert run.status == 0
    before = len(telemetry.requests)
    same(run)
    assert len(telemetry.requests) == before


def test_what_is_not_on_the_list_is_the_agents_own(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v2/*", f"{hosts(telemetry)}/v1/*", f"!{hosts(telemetry)}/v1/track")
    run = bench.record(thread("httpx"), env=env(model, telemetry))
    assert len(run.http) == 7
    assert not run.tape.asides
    run.verified()


def test_the_list_is_that_of_the_recording(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v1/*")
    run = bench.record(thread("httpx"), env=env(model, telemetry))
    (bench.folder / "pyproject.toml").unlink()
    same(run)


def test_it_is_told_what_was_left_out(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, f"{hosts(telemetry)}/v1/*")
    run = bench.record(thread("httpx"), env=env(model, telemetry))
    told = f"3 requests to {hosts(telemetry)}"
    assert told in bench.run("-m", "reenact", "show", run.path.stem).stdout.decode()
    assert told in bench.run("-m", "reenact", "verify", run.path.stem).stdout.decode()


def test_a_wrong_pattern_is_a_misuse(bench: Bench) -> None:
    lists(bench.folder, "https://telemetry.example.com/")
    done = bench.run("-m", "reenact", "record", bench.write("print()"))
    assert done.status == 2
    assert b"side-traffic: 'https://telemetry.example.com/' is no pattern" in done.stderr


# Lanes of the run that make such requests, too

MAIN = """
import os, random, sys, time, uuid
import httpx, requests
def tell(send, number):
    for attempt in range(3):
        try:
            send(os.environ["TELEMETRY"], json={"id": str(uuid.uuid4()), "number": number}).raise_for_status()
            return
        except Exception as error:
            print("again", type(error).__name__, file=sys.stderr)
            time.sleep(random.uniform(0, 0.01))
for number in range(3):
    tell(httpx.post, number)
    print(len(httpx.get(os.environ["BASE"] + "/sized").content), random.random())
    tell(requests.post, number)
"""


@pytest.mark.parametrize("path", ["/v1/track", "/status/503", "/drop"])
def test_the_main_lane_goes_on_as_it_did(bench: Bench, model: Wire, telemetry: Telemetry, path: str) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(MAIN, env=env(model, telemetry, path))
    assert len(run.http) == 3
    before = len(telemetry.requests)
    verified = same(run)
    assert verified.document["side_traffic"] == {hosts(telemetry): before}
    assert run.replay().stderr == run.stderr
    assert len(telemetry.requests) == before


def test_a_prompt_that_differs_is_found_beside_side_traffic(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(MAIN, env=env(model, telemetry))
    agent = bench.folder / "agent.py"
    agent.write_text(agent.read_text(encoding="utf-8").replace("/sized", "/empty"), encoding="utf-8")
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["what"] == "mismatch"


TASKS = """
import asyncio, os, random, uuid
import aiohttp, httpx
url, base = os.environ["TELEMETRY"], os.environ["BASE"]

async def sends(session):
    while True:
        await asyncio.sleep(random.Random().uniform(0.001, 0.02))
        heard(await session.post(url, json={"id": str(uuid.uuid4())}))

def heard(answer):
    # aiohttp holds a connection until its answer is let go, and says so on stderr when the collector comes first
    if isinstance(answer, aiohttp.ClientResponse):
        answer.release()

async def both(client, session, number):
    await client.get(base + "/sized")
    async with session.post(url, json={"id": str(uuid.uuid4())}) as told:
        await told.read()
    await client.post(url, json={"id": str(uuid.uuid4())})
    heard(await asyncio.wait_for(session.post(url, json={}), 2))
    try:
        async with asyncio.timeout(0.001 * number):
            heard(await session.post(url, json={"id": str(uuid.uuid4())}))
    except TimeoutError:
        print("too slow", number)
    print(number, uuid.uuid4(), len((await client.get(base + "/sized")).content))

async def main():
    async with httpx.AsyncClient() as client, aiohttp.ClientSession() as session:
        senders = [asyncio.create_task(sends(each)) for each in (client, session)]
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(both(client, session, number))
        for sender in senders:
            sender.cancel()
        await asyncio.wait(senders)
    print("the end")

asyncio.run(main())
"""


def test_tasks_go_on_in_the_order_in_which_they_did(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(TASKS, env=env(model, telemetry))
    assert run.status == 0, run.stderr.decode()
    assert len(run.http) == 12
    before = len(telemetry.requests)
    for _ in range(3):
        same(run)
    assert len(telemetry.requests) == before


# What others make of it

FLUSH = """
import os, queue, random, threading, time, uuid
import httpx, requests
jobs, results, seen = queue.Queue(), [], threading.Lock()

def exporter():
    while (job := jobs.get()) is not None:
        with seen:  # held while it is sent: whoever wants it waits for the telemetry
            requests.post(os.environ["TELEMETRY"], json={"job": job, "id": str(uuid.uuid4())})
            results.append(f"sent {job}")
        jobs.task_done()

def worker(name):
    for number in range(3):
        httpx.get(os.environ["BASE"] + "/sized")
        jobs.put(f"{name}{number}")
        with seen:
            results.append(f"{name}{number}")

threads = [threading.Thread(target=exporter)] + [threading.Thread(target=worker, args=(name,)) for name in "abc"]
for each in threads:
    each.start()
for each in threads[1:]:
    each.join()
jobs.join()
print("flushed", results)
jobs.put(None)
threads[0].join()
"""


def test_who_waits_for_the_telemetry_goes_on_at_the_same_place(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(FLUSH, env=env(model, telemetry))
    assert run.status == 0, run.stderr.decode()
    assert run.tape.side_traffic == {hosts(telemetry): 9}
    for _ in range(5):
        same(run)
    assert len(telemetry.requests) == 9


OTHERWISE = """
import ctypes, os, threading, time
import httpx
more = lambda: not ctypes.CDLL(None).access(b"more", 0)
done = threading.Event()

def exporter():
    deadline = time.monotonic() + 0.2
    while more() and time.monotonic() < deadline:
        time.sleep(0.01)
    httpx.post(os.environ["TELEMETRY"])
    done.set()

threading.Thread(target=exporter).start()
print(len(httpx.get(os.environ["BASE"] + "/sized").content))
print(done.wait(60))
print(len(httpx.get(os.environ["BASE"] + "/sized").content))
"""


def test_a_sender_that_does_more_than_it_did_keeps_nobody_waiting(
    bench: Bench, model: Wire, telemetry: Telemetry
) -> None:
    lists(bench.folder, hosts(telemetry))
    run = bench.record(OTHERWISE, env=env(model, telemetry))
    (bench.folder / "more").touch()
    same(run)
    assert len(telemetry.requests) == 1


IN_CODE = """
import os, threading
import httpx, reenact

@reenact.record
def answer(question):
    sender = threading.Thread(target=lambda: httpx.post(os.environ["TELEMETRY"], json={"asked": question}))
    sender.start()
    size = len(httpx.get(os.environ["BASE"] + "/sized").content)
    sender.join()
    return size

if __name__ == "__main__":
    print(answer("why"))
"""


def test_a_recorded_function_has_side_traffic_like_a_program(bench: Bench, model: Wire, telemetry: Telemetry) -> None:
    lists(bench.folder, hosts(telemetry))
    done = bench.plain(IN_CODE, env=env(model, telemetry))
    assert done.status == 0, done.stderr.decode()
    (made,) = bench.store.ids()
    run = Run(bench, bench.store.path(made), done)
    assert [event.kind for event in run.tape.events] == [Kind.HTTP]
    assert run.tape.side_traffic == {hosts(telemetry): 1}
    same(run)
    assert len(telemetry.requests) == 1
