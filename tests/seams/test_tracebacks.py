"""Tracebacks: what a program prints of an exception is what it would print without us, and the same in replay."""

from __future__ import annotations

import pytest

from reenact.testing import ModelServer, ResetMidStream, Say
from reenact.testing.turn import Turn
from tests.runs import Bench

NOBODY = {"URL": "http://127.0.0.1:9/v1"}  # discard, a port that nobody serves
# what takes long to import is imported where it is used: each program is started four times
HEAD = """
import asyncio, concurrent.futures, httpx, logging, os, sys, threading, time, traceback
url = os.environ["URL"]
pool = concurrent.futures.ThreadPoolExecutor(1)
async def with_httpx():
    async with httpx.AsyncClient() as client:
        await client.get(url)
async def with_aiohttp():
    import aiohttp
    async with aiohttp.ClientSession() as session:
        await session.get(url)
def with_openai():
    import openai
    client = openai.OpenAI(base_url=url, api_key="-", max_retries=1)
    client.chat.completions.create(model="m", messages=[])
async def with_async_openai():
    import openai
    client = openai.AsyncOpenAI(base_url=url, api_key="-", max_retries=0)
    await client.chat.completions.create(model="m", messages=[])
def while_handling():
    try:
        {}["no"]
    except KeyError:
        httpx.get(url)
def handled_while_handling():
    try:
        {}["no"]
    except KeyError:
        try:
            httpx.get(url)
        except httpx.ConnectError:
            raise LookupError("neither here nor there")
"""
CAUGHT = """
import requests
for fails in (
    lambda: httpx.get(url),
    lambda: requests.get(url),
    lambda: asyncio.run(with_httpx()),
    lambda: asyncio.run(with_aiohttp()),
    with_openai,
    lambda: asyncio.run(with_async_openai()),
    lambda: pool.submit(httpx.get, url).result(),
    lambda: asyncio.run(asyncio.to_thread(httpx.get, url)),
    while_handling,
    handled_while_handling,
    lambda: time.sleep(-1),
    lambda: input(),
    lambda: sys.stdout.write(b"bytes"),
    lambda: os.execv("/nowhere", ["x"]),
    lambda: threading.Lock().release(),
):
    try:
        fails()
    except Exception:
        traceback.print_exc()
        logging.exception("it failed")
        print(traceback.format_exc())
"""


def same_everywhere(bench: Bench, program: str) -> bytes:
    """What the program writes to stderr: without us, recorded and replayed."""
    plain = bench.plain(HEAD + program, env=NOBODY)
    run = bench.record(HEAD + program, env=NOBODY)
    assert run.stderr.decode() == plain.stderr.decode()
    assert (run.stdout, run.status) == (plain.stdout, plain.status)
    run.reproduced()
    return run.stderr


def test_what_is_printed_and_logged_of_an_exception_has_no_line_of_ours(bench: Bench) -> None:
    stderr = same_everywhere(bench, CAUGHT)
    assert stderr.count(b"it failed") == 15
    assert b"httpcore/_sync/connection_pool.py" in stderr
    assert b"reenact" not in stderr


@pytest.mark.parametrize(
    "ending",
    [
        "httpx.get(url)",
        "asyncio.run(with_httpx())",
        "pool.submit(with_openai).result()",
        "handled_while_handling()",
        "threading.Thread(target=httpx.get, args=(url,)).start()",
        "asyncio.run(asyncio.wait_for(asyncio.sleep(60), 0.01))",
    ],
)
def test_an_exception_that_nobody_catches_is_told_the_same(bench: Bench, ending: str) -> None:
    assert b"Traceback" in same_everywhere(bench, ending)


def test_an_answer_that_breaks_off_comes_with_the_lines_that_it_came_through(bench: Bench) -> None:
    def breaks(turn: Turn) -> ResetMidStream:
        return ResetMidStream(Say(f"an answer to {turn.prompt} that is longer than it seems"), 2)

    program = """
        import httpx, os
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
        with httpx.stream("POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body) as answer:
            for line in answer.iter_lines():
                print(len(line))
    """
    run = bench.unchanged(program, lambda port: ModelServer(breaks, port=port))
    assert b"httpcore" in run.stderr
    run.reproduced()


def test_hooks_are_the_interpreters_own_unless_the_program_sets_others(bench: Bench) -> None:
    run = bench.record("""
        import sys, threading
        print(sys.excepthook is sys.__excepthook__, threading.excepthook is threading.__excepthook__)
        print(sys.unraisablehook is sys.__unraisablehook__, sys.excepthook.__name__)
        sys.excepthook = lambda kind, error, trace: print("mine", kind.__name__)
        class Odd:
            def __del__(self):
                raise ValueError("ignored")
        Odd()
        raise KeyError("x")
    """)
    assert run.text == "True True\nTrue excepthook\nmine KeyError\n"
    assert b"ValueError: ignored" in run.stderr
    assert b"reenact" not in run.stderr
