"""What a program says, how it ends: reproduced, and compared."""

from __future__ import annotations

import signal

import pytest

from reenact.testing import ModelServer
from tests.runs import Bench, same, settings
from tests.sdk.wire import Wire
from tests.seams.held import Held


def test_everything_that_is_written_is_on_tape_once_and_comes_back(bench: Bench) -> None:
    program = """
        import io, logging, os, subprocess, sys, warnings

        print("print", 1, 2.5, sep="-", end="!\\n", flush=True)
        sys.stdout.write("write\\n"); sys.stdout.writelines(["line 1\\n", "line 2\\n"]); sys.stdout.flush()
        sys.stdout.buffer.write(b"bytes \\xff\\n"); sys.stdout.buffer.flush()
        os.write(1, b"os.write\\n"); os.write(2, b"os.write to stderr\\n")
        print("ünïcode \\u2603 \\U0001f680")
        print("to stderr", file=sys.stderr); sys.__stdout__.write("the original\\n")
        sys.stdout.flush()
        with os.fdopen(os.dup(1), "w") as copy:
            copy.write("through a copy of the descriptor\\n")
        with open(1, "w", closefd=False) as same:
            same.write("through another file object\\n")
        logging.warning("a warning"); warnings.warn("another")
        kept, sys.stdout = sys.stdout, io.StringIO()
        print("caught"); caught, sys.stdout = sys.stdout.getvalue(), kept
        print(len(caught), end=""); print()
        sys.stdout.reconfigure(line_buffering=True); print("line buffered")
        print("x" * 100_000)
        print(subprocess.run([sys.executable, "-c", "print('a child says so')"], check=True, capture_output=True).stdout)
        sys.stderr.write("no line end at the end")
    """
    plain, run = bench.plain(program), bench.record(program)
    assert (run.stdout, run.stderr, run.status) == (plain.stdout, plain.stderr, plain.status)
    run.reproduced()
    said = bytes(run.tape.wrote[1])
    assert said.count(b"print-1-2.5") == said.count(b"os.write\n") == said.count(b"bytes \xff") == 1


ENDINGS = {
    "pass": 0,
    "sys.exit()": 0,
    "sys.exit(3)": 3,
    "sys.exit('the reason')": 1,
    "raise SystemExit(4)": 4,
    "raise ValueError('wrong', 7)": 1,
    "raise ExceptionGroup('many', [OSError(2, 'no'), KeyError('k')])": 1,
    "raise KeyboardInterrupt": -2,
    "asyncio.run(fails())": 1,
    "atexit.register(lambda: print('at exit', uuid.uuid4()))": 0,
    "threading.Thread(target=lambda: 1 / 0).start()": 0,
    "threading.Thread(target=sys.exit, args=(6,)).start()": 0,
    "pool.submit(sys.exit, 6).result()": 6,
    "os._exit(5)": 5,
    "atexit.register(os._exit, 8)": 8,
    "pool.submit(os._exit, 9).result()": 9,
    "os.abort()": -6,
    "pool.submit(os.abort).result()": -6,
    "os.kill(os.getpid(), signal.SIGTERM)": -15,
    "os.kill(os.getpid(), signal.SIGKILL)": -9,
    "os.kill(0, signal.SIGTERM)": -15,
    "os.killpg(os.getpgrp(), signal.SIGHUP)": -1,
    "signal.raise_signal(signal.SIGQUIT)": -3,
    "signal.raise_signal(signal.SIGINT)": -2,
    "signal.pthread_kill(threading.get_ident(), signal.SIGALRM)": -14,
    "_thread.interrupt_main()": -2,
    "os.execv('/nowhere', ['x'])": 1,
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_ends_as_it_did(bench: Bench, ending: str) -> None:
    program = f"""
        import _thread, asyncio, atexit, concurrent.futures, os, resource, signal, sys, threading, time, uuid
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        pool = concurrent.futures.ThreadPoolExecutor(2)
        async def fails():
            await asyncio.sleep(0)
            raise RuntimeError(len("in a coroutine"))
        print("begins", flush=True)
        {ending}
    """
    plain = bench.plain(program)
    assert plain.status == ENDINGS[ending]
    run = bench.record(program)
    assert run.status == plain.status
    if "uuid4" not in ending:
        assert run.stdout == plain.stdout
        assert run.stderr == plain.stderr
    run.reproduced()


WAITS = {
    "abort": ("threading.Thread(target=os.abort).start(); ask('hold')", -6),
    "exit": ("threading.Thread(target=os._exit, args=(9,)).start(); ask('hold')", 9),
    "kill": ("threading.Thread(target=os.kill, args=(os.getpid(), 15)).start(); time.sleep(60)", -15),
    "daemon": ("threading.Thread(target=ask, args=('hold',), daemon=True).start(); time.sleep(0.2)", 0),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WAITS)
def test_an_end_while_another_waits_for_a_model(bench: Bench, name: str) -> None:
    """Its answer never came: in replay the other waits for it, too, until the end comes."""
    ending, status = WAITS[name]
    program = f"""
        import os, resource, sys, threading, time, httpx
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        def body(text):
            return {{"model": "m", "messages": [{{"role": "user", "content": text}}]}}
        def ask(text):
            return httpx.post(url, json=body(text), timeout=60).json()["choices"][0]["message"]["content"]
        print(ask("first"), flush=True)
        {ending}
    """
    model = Held()
    with ModelServer(model) as server:
        run = bench.record(program, env=settings(server))
        model.released.set()
    assert (run.text, run.status) == ("answer to first\n", status)
    run.reproduced()


CRASH = """
    import ctypes, importlib.util, os, resource, httpx
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    def crash():
        os.getpid()
        ctypes.string_at(0)
    for number in range(3):
        if number == 1 and importlib.util.find_spec("early"):
            crash()
        print("asks", flush=True)
        httpx.get(os.environ["BASE"] + "/sized")
    {}
"""


def test_a_crash_that_nobody_can_see_coming_is_verified_up_to_there(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(CRASH.format("crash()"), env=settings(server))
    assert run.status == -signal.SIGSEGV
    verified = run.verify()
    assert (verified.status, verified.document["verdict"]) == (0, "verified-until-cut"), verified.told()
    assert verified.boundaries == (3, 3, 3)
    assert verified.document["ending"]["replayed"] == -signal.SIGSEGV
    replayed = run.replay()
    assert (replayed.status, replayed.stdout, replayed.stderr) == (run.status, run.stdout, run.stderr)


@pytest.mark.parametrize("ending", ["crash()", "os._exit(3)"])
def test_a_crash_before_that_is_a_divergence_and_says_how_far_it_came(bench: Bench, ending: str) -> None:
    with Wire() as server:
        run = bench.record(CRASH.format(ending), env=settings(server))
    (bench.folder / "early.py").touch()  # code: what a replay runs is today's
    verified = run.verify()
    assert verified.status == 1
    assert verified.boundaries == (3, 1, 1)
    (only,) = verified.divergences
    assert only["what"] == "exit"
    assert "it had made 1 of the 3 calls on tape" in only["notes"]
    assert "it had written 5 of the 15 bytes of output on tape" in only["notes"]


def test_a_difference_before_a_crash_is_told(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(CRASH.format("crash()"), env=settings(server))
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace('print("asks"', 'print("does"'))
    (bench.folder / "early.py").touch()  # code: what a replay runs is today's
    verified = run.verify()
    assert verified.status == 1
    assert [one["what"] for one in verified.divergences] == ["output"]


def test_a_program_that_becomes_another_is_verified_up_to_there(bench: Bench) -> None:
    run = bench.record("""
        import os, sys
        print("begins", flush=True)
        try:
            os.execvp("no-such-program", ["x"])
        except FileNotFoundError as error:
            print(error, flush=True)
        os.execl(sys.executable, sys.executable, "-c", "open('made', 'w'); print('another'); raise SystemExit(4)")
    """)
    assert (run.text.splitlines()[-1], run.status) == ("another", 4)
    assert "the program became another (exec " in run.stderr.decode()
    (bench.folder / "made").unlink()
    verified = run.verify()
    assert (verified.status, verified.document["verdict"]) == (0, "verified-until-cut"), verified.told()
    (incomplete,) = verified.document["incomplete"]
    assert "the program became another (exec " in incomplete
    replayed = run.replay()
    assert (replayed.stdout, replayed.status) == (run.stdout.removesuffix(b"another\n"), 4)
    assert not (bench.folder / "made").exists()


def test_becoming_another_program_is_a_call_like_any(bench: Bench) -> None:
    run = bench.record("""
        import os
        print("begins", flush=True)
        os.execl("/bin/sh", "sh", "-c", "exit 4")
    """)
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("exit 4", "exit 5"))
    verified = run.verify()
    assert verified.status == 1
    assert (verified.divergences[0]["what"], verified.divergences[0]["site"]["line"]) == ("mismatch", 4)


def test_what_a_program_forks_ends_nothing_but_itself(bench: Bench) -> None:
    run = bench.record("""
        import os, signal, sys, time
        def fork(child):
            pid = os.fork()
            if not pid:
                child()
                sys.exit(3)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        signal.signal(signal.SIGUSR1, lambda number, _frame: print("in the child", flush=True))
        fork(lambda: None)
        fork(os.abort)
        fork(lambda: os._exit(4))
        fork(lambda: os.kill(os.getpid(), signal.SIGTERM))
        fork(lambda: os.kill(os.getpid(), signal.SIGUSR1))
        print("the parent goes on", time.time())
    """)
    assert run.status == 0, run.stderr.decode()
    assert run.text.splitlines()[:-1] == ["3", "-6", "4", "-15", "in the child", "3"]
    assert [(note.slug, site.line) for note, site in run.tape.notes if site is not None] == [("child", 4)]
    assert run.verify().passed
    same(run.stdout, run.replay().stdout, "stdout recorded and replayed")


def test_another_output_is_a_divergence_at_its_line(bench: Bench) -> None:
    run = bench.record("""
        print("one")
        print("two")
        print("three")
    """)
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("two", "zwei"))
    verified = run.verify()
    assert verified.status == 1
    (first, *_) = verified.divergences
    assert (first["what"], first["site"]["line"]) == ("output", 3)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("sys.exit(3)", "sys.exit(4)"),
        ("sys.exit(3)", "pass"),
        ("pass", "raise ValueError"),
        ("raise KeyError", "raise ValueError"),
    ],
)
def test_another_end_is_a_divergence(bench: Bench, was: str, now: str) -> None:
    run = bench.record(f"""
        import sys
        {was}
    """)
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace(was, now))
    verified = run.verify()
    assert verified.status == 1
    assert "exit" in [one["what"] for one in verified.divergences]


def test_output_that_depends_on_what_is_not_recorded_fails(bench: Bench) -> None:
    (bench.folder / "facts.py").write_text("FACT = 1")
    run = bench.record("import facts; print(facts.FACT)")
    assert run.verify().passed
    (bench.folder / "facts.py").write_text("FACT = 22")
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["what"] == "output"
