"""Signals: those that come from outside, those that a program sends to itself, and Ctrl-C at a terminal."""

from __future__ import annotations

import os
import signal
import textwrap

import pytest

from reenact.testing import ModelServer
from tests.runs import Bench, Done, Run, settings
from tests.seams.held import Held

HEAD = """
import _thread, asyncio, concurrent.futures, os, signal, sys, threading, time, httpx
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}
def said(response):
    return response.json()["choices"][0]["message"]["content"]
def ask(text):
    return said(httpx.post(url, json=body(text), timeout=60))
async def aask(text):
    async with httpx.AsyncClient(timeout=60) as client:
        return said(await client.post(url, json=body(text)))
def tell(number, _frame):
    print("got", number, flush=True)
def leave(number, _frame):
    print("leaves", flush=True)
    sys.exit(7)
"""


def recorded(bench: Bench, program: str, number: int, until: bytes = b"") -> Run:
    """The program, recorded, with a signal sent while the model holds an answer back until it has printed `until`."""
    model = Held()
    words = ("-m", "reenact", "record", "-q", bench.write(HEAD + textwrap.dedent(program)))
    with ModelServer(model) as server, bench.start(*words, env=settings(server)) as process:
        assert model.asked.wait(60)
        process.send_signal(number)
        stdout = _read(process.stdout.fileno(), until) if process.stdout is not None else b""
        if until:
            model.released.set()
        rest, stderr = process.communicate(timeout=60)
        model.released.set()
    (run_id,) = bench.store.ids()
    return Run(bench, bench.store.path(run_id), Done(process.returncode, stdout + rest, stderr))


def _read(descriptor: int, until: bytes) -> bytes:
    data = b""
    while until not in data:
        more = os.read(descriptor, 4096)
        assert more, f"{until!r} never came, but {data!r}"
        data += more
    return data


# From outside, while a model is asked

HANDLED = {
    "goes on": ("signal.signal(15, tell); print(ask('hold')); print(ask('more'))", "got 15"),
    "asks": (
        "signal.signal(15, lambda *_: print(ask('last words'), flush=True)); print(ask('hold'))",
        "answer to last",
    ),
}
ENDED = {
    "caught": (
        """
        try:
            ask('hold')
        except KeyboardInterrupt:
            print(ask('bye'))
        """,
        signal.SIGINT,
        0,
    ),
    "not handled": ("ask('hold')", signal.SIGTERM, -15),
    "exits": ("signal.signal(15, leave); ask('hold')", signal.SIGTERM, 7),
    "a sleep": (
        """
        threading.Thread(target=ask, args=('hold',), daemon=True).start()
        signal.signal(15, leave)
        time.sleep(0.01)
        time.sleep(60)
        """,
        signal.SIGTERM,
        7,
    ),
    "a coroutine that says good-bye": (
        """
        async def main():
            try:
                await aask('hold')
            except asyncio.CancelledError:
                print(await aask('bye'))
        asyncio.run(main())
        """,
        signal.SIGINT,
        0,
    ),
    "a coroutine and a handler": ("signal.signal(15, leave); asyncio.run(aask('hold'))", signal.SIGTERM, 7),
    "a handler of the loop": (
        """
        async def main():
            stop = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(15, stop.set)
            asked = asyncio.create_task(aask('hold'))
            await stop.wait()
            asked.cancel()
            print(await asyncio.gather(asked, return_exceptions=True))
        asyncio.run(main())
        """,
        signal.SIGTERM,
        0,
    ),
}


@pytest.mark.parametrize("name", HANDLED)
def test_a_handler_that_goes_on_is_called_where_it_was(bench: Bench, name: str) -> None:
    program, said = HANDLED[name]
    run = recorded(bench, program, signal.SIGTERM, said.encode())
    assert run.status == 0, run.stderr.decode()
    assert run.text.startswith(said)
    assert "\nanswer to hold\n" in run.text
    run.reproduced()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ENDED)
def test_a_signal_that_ends_a_call_ends_it_again(bench: Bench, name: str) -> None:
    program, number, status = ENDED[name]
    run = recorded(bench, program, number)
    assert run.status == status, run.stderr.decode()
    assert b"reenact" not in run.stderr
    if run.tape.closed_by_itself:
        run.reproduced()
    else:
        assert run.verify().document["verdict"] == "verified-until-cut"
        assert run.replay().status == status


# To itself

SENT = {
    "at once": """
        os.kill(os.getpid(), signal.SIGUSR1); print("kill")
        signal.raise_signal(signal.SIGUSR1); print("raise_signal")
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1); print("pthread_kill")
        os.killpg(0, signal.SIGWINCH); print("killpg")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM); print("ignored")
        os.kill(os.getpid(), signal.SIGURG); os.kill(os.getpid(), 0); print("of no consequence")
        try:
            os.kill(os.getpid(), 99)
        except OSError as error:
            print(error)
    """,
    "blocked": """
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1); print("blocked")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1]); time.sleep(0.01); print("unblocked")
    """,
    "awaited": """
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1); print(signal.sigwait([signal.SIGUSR1]))
        os.kill(os.getpid(), signal.SIGUSR1); print(signal.sigwaitinfo([signal.SIGUSR1]).si_signo)
        print(signal.sigtimedwait([signal.SIGUSR1], 0.01))
    """,
    "in a coroutine": """
        async def coroutine():
            print("before")
            os.kill(os.getpid(), signal.SIGUSR1)
            print("in it")
            await asyncio.sleep(0)
        asyncio.run(coroutine())
    """,
    "as an interrupt": """
        try:
            _thread.interrupt_main()
            time.sleep(0)
        except KeyboardInterrupt:
            print("interrupted")
    """,
    "from a thread": "threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1)).start(); time.sleep(0.05)",
    "to a child": """
        import subprocess
        child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        child.terminate()
        print(child.wait())
    """,
    "later": "signal.signal(14, tell); signal.setitimer(signal.ITIMER_REAL, 0.02); time.sleep(0.2)",
}
NOWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SENT)
def test_what_a_program_sends_comes_where_it_came(bench: Bench, name: str) -> None:
    handlers = "signal.signal(signal.SIGUSR1, tell)\nsignal.signal(signal.SIGWINCH, tell)\n"
    program = f"{HEAD}{handlers}{textwrap.dedent(SENT[name])}\nprint('ends', time.time() > 0)\n"
    plain = bench.plain(program, env=NOWHERE)
    run = bench.record(program, env=NOWHERE)
    assert (run.status, run.stdout, run.stderr) == (plain.status, plain.stdout, plain.stderr)
    assert plain.status == 0
    run.reproduced()


def test_in_replay_no_signal_leaves_for_others(bench: Bench) -> None:
    """Neither for the group, where the recorder and its shell are, nor for all, nor for the number that it once had."""
    program = """
        import os, signal
        got = []
        signal.signal(signal.SIGUSR2, lambda number, _frame: got.append(number))
        me = os.getpid()
        os.kill(me, signal.SIGUSR2)
        os.killpg(os.getpgrp(), signal.SIGUSR2)
        if os.path.exists("replayed"):
            os.kill(-1, signal.SIGKILL)
        print(got)
    """
    run = bench.record(program)
    assert run.text == "[12, 12]\n"
    (bench.folder / "replayed").touch()
    with bench.start("-c", "import time; time.sleep(60)") as other:
        run.reproduced()
        assert other.poll() is None
        other.kill()
