"""What a program says, how it ends: reproduced, and compared."""

from __future__ import annotations

import pytest

from tests.runs import Bench


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
        subprocess.run([sys.executable, "-c", "print('a child says so')"], check=True)
        sys.stderr.write("no line end at the end")
    """
    plain, run = bench.plain(program), bench.record(program)
    assert (run.stdout, run.stderr, run.status) == (plain.stdout, plain.stderr, plain.status)
    run.reproduced()
    said = bytes(run.tape.wrote[1])
    assert said.count(b"print-1-2.5") == said.count(b"os.write\n") == said.count(b"bytes \xff") == 1


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("pass", 0),
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('the reason')", 1),
        ("raise SystemExit(4)", 4),
        ("raise ValueError('wrong', 7)", 1),
        ("raise ExceptionGroup('many', [OSError(2, 'no'), KeyError('k')])", 1),
        ("os._exit(5)", 5),
        ("raise KeyboardInterrupt", 130),
        ("threading.Thread(target=lambda: 1 / 0).start()", 0),
        ("atexit.register(lambda: print('at exit', uuid.uuid4()))", 0),
        ("asyncio.run(fails())", 1),
    ],
)
def test_a_program_ends_as_it_did(bench: Bench, ending: str, status: int) -> None:
    program = f"""
        import asyncio, atexit, os, signal, sys, threading, uuid
        async def fails():
            await asyncio.sleep(0)
            raise RuntimeError(len("in a coroutine"))
        print("begins", flush=True)
        {ending}
    """
    plain = bench.plain(program)
    run = bench.record(program)
    known = abs(plain.status) + 128 if plain.status < 0 else plain.status
    assert known == status
    assert run.status == plain.status
    if "uuid4" not in ending:
        assert run.stdout == plain.stdout
        assert run.stderr.splitlines()[-1:] == plain.stderr.splitlines()[-1:]
    run.reproduced()


@pytest.mark.parametrize("ending", ["os.abort()", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_a_program_that_kills_itself_does_so_again(bench: Bench, ending: str) -> None:
    run = bench.record(f"""
        import os, signal, time
        print("begins", time.time(), flush=True)
        time.sleep(0.01)
        {ending}
    """)
    assert run.status < 0
    verified = run.verify()
    assert (verified.status, verified.document["verdict"]) == (0, "verified"), verified.told()
    replayed = run.replay()
    assert (replayed.stdout, replayed.status) == (run.stdout, run.status)


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
    (bench.folder / "facts.txt").write_text("one")
    run = bench.record("print(open('facts.txt').read())")
    assert run.verify().passed
    (bench.folder / "facts.txt").write_text("two")
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["what"] == "output"
