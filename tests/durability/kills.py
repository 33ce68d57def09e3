"""Recordings that are killed at random moments: the tape opens, and explains all that the world has seen (law 3)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from reenact.tape.event import Kind
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.runs import Bench, answer_of, settings
from trust.tally import Tally

KILLS = 200
REQUESTS = 40

AGENT = f"""
    import os, time
    print(os.getpid(), flush=True)
    import httpx
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    history = []
    with httpx.Client() as client:
        for n in range({REQUESTS}):
            history.append({{"role": "user", "content": f"question {{n}} at {{time.time()}}"}})
            body = {{"model": "m", "messages": history, "stream": n % 3 == 2}}
            if n % 3 == 2:
                with client.stream("POST", url, json=body) as answer:
                    said = b"".join(answer.iter_raw()).decode()[-40:]
            else:
                said = client.post(url, json=body).json()["choices"][0]["message"]["content"]
            history.append({{"role": "assistant", "content": said}})
"""


def answer(turn: Turn) -> Say:
    return Say(f"answer to {turn.prompt}, in words that make a stream of several chunks")


def kills(many: int, folder: Path) -> Tally:
    """Kills so many recordings."""
    moments = random.Random(2026)
    seen = on_tape = 0
    wrong = []
    for number in range(many):
        (place := folder / str(number)).mkdir()
        try:
            requests, events = killed_once(Bench(place), moments)
        except AssertionError as error:
            wrong.append(f"kill {number}: {error} (see {place})")
        else:
            seen, on_tape = seen + requests, on_tape + events
    told = f"{seen:,} requests reached the server, {on_tape:,} are on tape"
    return Tally("kills at random moments", many, many - len(wrong), "survived", wrong, told)


def killed_once(bench: Bench, moments: random.Random) -> tuple[int, int]:
    """Records, kills, and checks. How many requests the server saw, and how many are on tape."""
    program = bench.write(AGENT)
    with ModelServer(answer, chunk_delay=0.001) as server:
        process = bench.start("-m", "reenact", "record", "--quiet", program, env=settings(server))
        recorder_first = moments.random() < 0.3
        kill(process, server, moments, recorder_first=recorder_first)
        process.wait(timeout=60)
        process.communicate()
        requests = server.requests
    tapes = list(bench.store.root.glob("*.tape"))
    if not tapes:
        assert not requests, "requests left before there was a tape"
        return 0, 0
    (path,) = tapes
    explains(read(path), [request.body for request in requests])
    fsck = bench.run("-m", "reenact", "fsck", path.stem)
    assert fsck.status == 0, fsck.stdout.decode() + fsck.stderr.decode()
    again = read(path)
    explains(again, [request.body for request in requests])
    return len(requests), len(again.events)


def kill(
    process: subprocess.Popen[bytes], server: ModelServer, moments: random.Random, *, recorder_first: bool
) -> None:
    """Kills the agent somewhere between its first line and its last request; sometimes its recorder before it."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.strip():
        return
    agent = int(line)
    wanted = moments.randrange(REQUESTS)
    until = time.monotonic() + 30
    while len(server.requests) < wanted and process.poll() is None and time.monotonic() < until:
        os.sched_yield()
    moment = time.perf_counter() + moments.random() * 0.006
    while time.perf_counter() < moment:
        pass
    with contextlib.suppress(ProcessLookupError):
        if recorder_first:
            process.kill()
        os.kill(agent, signal.SIGKILL)
    while recorder_first and _alive(agent) and time.monotonic() < until:
        os.sched_yield()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def explains(tape: Recording, sent: list[bytes]) -> None:
    """Every request that the server saw is on tape, and every answer after which another request was made is whole."""
    events = [event for event in tape.events if event.kind is Kind.HTTP]
    kept = [tape.body(event) for event in events]
    assert kept[: len(sent)] == sent
    assert len(kept) - len(sent) in (0, 1), "more than one request on tape that the server never saw"
    for event in events[:-1]:
        assert event.complete, f"event {event.id} has no whole outcome, though event {event.id + 1} followed"
        asked = json.loads(tape.body(event))["messages"][-1]["content"]
        assert f"answer to {asked}" in _said(answer_of(event))


def _said(body: bytes) -> str:
    if not body.startswith(b"data:"):
        return str(json.loads(body)["choices"][0]["message"]["content"])
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
