"""Child processes: what they answer is on tape, and in replay none is started."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

from tests.runs import Bench

CLOCK = """
    import os, sys, time
    with open("starts.log", "a") as log:
        log.write("started\\n")
    sys.stdout.write(f"{os.getpid()} {time.time()} {' '.join(sys.argv[1:])}\\n")
    sys.stderr.write("to stderr\\n")
    sys.stdout.write(sys.stdin.read().upper())
    sys.exit(3)
"""
STARTS = {
    "run": "print(subprocess.run(tool, input='héllo', capture_output=True, text=True))",
    "output": "print(subprocess.getoutput(shlex.join(tool) + ' < /dev/null'))",
    "check": """
    try:
        subprocess.check_output(tool, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        print(error, error.output, error.stderr)""",
    "together": "print(subprocess.run(tool, input=b'x', stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.splitlines()[1:])",
    "piece by piece": """
    with subprocess.Popen(tool, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdin.write(b"one ")
        child.stdin.flush()
        print(child.poll(), child.pid)
        child.stdin.close()
        for line in child.stdout:
            print(line)
        print(child.stderr.read(), child.wait(), child.returncode)""",
    "unbuffered": """
    child = subprocess.Popen(tool, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
    print(child.stdout.read(5), child.stdout.read(10000), child.stdout.read(1), child.wait())""",
    "lines": """
    child = subprocess.Popen(tool, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    print("two", file=child.stdin)
    child.stdin.close()
    print([line for line in child.stdout], child.wait(timeout=20))""",
    "popen": "print(os.popen(shlex.join(tool) + ' < /dev/null 2>&1').read())",
    "system": "print(os.system(shlex.join(tool) + ' > /dev/null 2>&1 < /dev/null'))",
    "not there": """
    try:
        subprocess.run(["no-such-program", "x"])
    except FileNotFoundError as error:
        print(error, error.filename, error.errno)""",
    "in threads": """
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(*pool.map(lambda at: subprocess.run([*tool, str(at)], input=b"", capture_output=True).stdout, range(3)))""",
}

ALONE = {"REENACT_CHILDREN": "false"}  # no child records itself: what is on tape is what its program sees of it

LOOP = {
    "communicate": """
    child = await start(*tool, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    print(await child.communicate(b"abc"), child.returncode, child.pid)""",
    "lines": """
    child = await start(*tool, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    child.stdin.write(b"one\\ntwo\\n")
    await child.stdin.drain()
    child.stdin.close()
    async for line in child.stdout:
        print(line)
    print(await child.wait())""",
    "shell": """
    child = await asyncio.create_subprocess_shell(shlex.join(tool) + " | tail -1", stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
    print(await child.stdout.read(), await child.wait())""",
    "killed": """
    child = await start(sys.executable, "-uc", "print(1); import time; time.sleep(60)", stdout=PIPE, stderr=DEVNULL)
    print(await child.stdout.readline())
    child.kill()
    print(await child.wait(), await child.stdout.read())""",
    "too long": """
    child = await start(sys.executable, "-c", "import time; time.sleep(60)", stdout=DEVNULL, stderr=DEVNULL)
    try:
        await asyncio.wait_for(child.wait(), 0.3)
    except TimeoutError:
        print("too long")
        child.terminate()
    print(await child.wait())""",
    "many": """
    async def one(at):
        child = await start(*tool, str(at), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL)
        out, _ = await child.communicate()
        print(at, out)
    await asyncio.gather(*map(one, range(4)))""",
    "a server": """
    code = "import sys\\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
    child = await start(sys.executable, "-c", code, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    for word in ("one", "two"):
        child.stdin.write(f"{word}\\n".encode())
        print(await child.stdout.readline())
    child.stdin.close()
    print(await child.wait())""",
    "not there": """
    try:
        await start("no-such-program", stdout=PIPE, stderr=PIPE)
    except FileNotFoundError as error:
        print(error)""",
}


@pytest.fixture
def tool(bench: Bench) -> Path:
    """A program that answers otherwise each time, and keeps count of its starts."""
    path = bench.folder / "tool.py"
    path.write_text(textwrap.dedent(CLOCK), encoding="utf-8")
    return path


def starts(tool: Path) -> int:
    """How often it has been started."""
    log = tool.with_name("starts.log")
    return log.read_text(encoding="utf-8").count("started") if log.exists() else 0


def program(body: str) -> str:
    return f"""
    import concurrent.futures, os, shlex, subprocess, sys
    tool = [sys.executable, "tool.py", "word"]
    {body.strip()}
    """


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", STARTS)
def test_a_child_answers_in_replay_and_is_not_started(bench: Bench, tool: Path, way: str) -> None:
    run = bench.record(program(STARTS[way]), env=ALONE)
    assert run.status == 0, run.stderr
    count = starts(tool)
    assert count == {"not there": 0, "in threads": 3}.get(way, 1)
    assert run.verify().passed
    tool.write_text("raise SystemExit('changed')", encoding="utf-8")
    assert run.verify().passed
    assert starts(tool) == count
    assert len(run.tape.notes) == (way in {"system", "popen"})


def on_loop(body: str) -> str:
    return f"""
import asyncio, shlex, sys
from asyncio.subprocess import DEVNULL, PIPE
tool = [sys.executable, "tool.py", "word"]
start = asyncio.create_subprocess_exec
async def main():
    {body.strip()}
asyncio.run(main())
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", LOOP)
def test_a_child_of_a_loop_answers_in_replay_and_is_not_started(bench: Bench, tool: Path, way: str) -> None:
    run = bench.record(on_loop(LOOP[way]), env=ALONE)
    assert run.status == 0, run.stderr
    count = starts(tool)
    assert count == {"many": 4}.get(way, int("*tool" in LOOP[way] or "(tool)" in LOOP[way]))
    run.reproduced()
    tool.write_text("raise SystemExit('changed')", encoding="utf-8")
    run.reproduced()
    assert starts(tool) == count


@pytest.mark.parametrize("way", ["run", "piece by piece", "lines"])
def test_the_program_sees_what_it_would_have_seen(bench: Bench, tool: Path, way: str) -> None:
    tool.write_text(
        "import sys; print('a', len(sys.stdin.read())); sys.stderr.write('b'); sys.exit(5)", encoding="utf-8"
    )
    text = program(STARTS[way]).replace("print(child.poll(), child.pid)", "child.poll()")
    assert bench.plain(text).stdout == bench.record(text).stdout


def test_a_child_that_takes_too_long_does_so_again(bench: Bench) -> None:
    run = bench.record(
        """
        import subprocess, sys, time
        slow = [sys.executable, "-uc", "import time; print('begun', flush=True); time.sleep(60)"]
        for pipes in ({"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}, {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}):
            try:
                subprocess.run(slow, timeout=1.5, **pipes)
            except subprocess.TimeoutExpired as error:
                print(error.timeout, error.output)
        child = subprocess.Popen(slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired as error:
            print(error)
        child.terminate()
        print(child.wait())
    """,
        env=ALONE,
    )
    assert run.text.endswith("-15\n")
    run.reproduced()


CHANGES = """
    import asyncio, os, subprocess, sys
    def state():
        text = lambda name: open(name).read() if os.path.exists(name) else None
        return [text(name) for name in ("old.txt", "gone.txt", "mine.txt", "folder/new.txt", "never")], sorted(os.listdir("folder"))
    open("mine.txt", "w").write("first ")
    print(state())
    shell = "echo again >> old.txt; rm -f gone.txt; echo second >> mine.txt; echo new > folder/new.txt; echo {} >> folder/other"
    START
    print(state(), open("folder/other").read())
"""
WAYS = {
    "run": "for word in ('a', 'b'): subprocess.run(shell.format(word), shell=True, stdout=-3, stderr=-3); print(state())",
    "system": "os.system(shell.format('c') + ' > /dev/null 2>&1')",
    "at once": "os.system('echo e > folder/other; echo again >> old.txt; echo second >> mine.txt')",
    "loop": """
    async def main():
        child = await asyncio.create_subprocess_shell(shell.format("d"), stdout=-3, stderr=-3)
        print(await child.wait(), state())
    asyncio.run(main())""",
}


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_child_does_to_files_is_found_when_it_has_ended(bench: Bench, way: str) -> None:
    (bench.folder / "folder").mkdir()
    for name in ("old.txt", "gone.txt"):
        (bench.folder / name).write_text(f"{name} ", encoding="utf-8")
    run = bench.record(CHANGES.replace("START", WAYS[way].strip()))
    assert run.status == 0, run.stderr
    assert "old.txt again" in run.text
    assert "second" in run.text
    for _ in range(2):
        verified = run.verify()
        assert verified.passed, verified.document
        for path in (bench.folder / "old.txt", bench.folder / "folder" / "new.txt"):
            path.unlink(missing_ok=True)


def test_another_command_is_a_difference(bench: Bench, tool: Path) -> None:
    text = program(STARTS["run"])
    run = bench.record(text)
    bench.write(text.replace('"word"', '"sword"'))
    verified = run.verify()
    assert not verified.passed
    assert "sword" in json.dumps(verified.document)
    bench.write(text.replace("héllo", "hello"))
    assert not run.verify().passed
    assert starts(tool) == 1


def test_a_signal_goes_to_nobody_in_replay(bench: Bench) -> None:
    """The number that a child had may be anybody's by now."""
    run = bench.record(
        """
        import os, signal, subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=-3, stderr=-3)
        os.kill(child.pid, signal.SIGTERM)
        print(child.wait())
    """,
        env=ALONE,
    )
    assert run.text == "-15\n"
    run.reproduced()


def test_what_is_secret_is_not_on_tape(bench: Bench) -> None:
    secret = "battery-staple-0451"
    run = bench.record(
        f"""
        import os, subprocess, sys
        code = "import os, sys; print(os.environ['MY_API_KEY'] == sys.argv[1], sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", code, os.environ["A_TOKEN"]], capture_output=True, text=True,
                              env={{**os.environ, "MY_API_KEY": os.environ["A_TOKEN"]}})
        print(done.stdout.split()[0], done.returncode, len(done.stdout) > {len(secret)})
        """,
        env={"A_TOKEN": secret},
    )
    assert run.text == "True 0 True\n"
    disk = b"".join(path.read_bytes() for path in bench.store.root.rglob("*.tape"))
    assert secret.encode() not in disk + repr(run.tape.events).encode()
    assert secret.encode() not in repr([(one.manifest, one.wrote) for one in run.tape.processes]).encode()
    run.reproduced()


def test_what_cannot_be_kept_is_told(bench: Bench) -> None:
    run = bench.record(
        f"""
        import subprocess
        subprocess.run([{sys.executable!r}, "-c", "print('past us')"])
    """,
        env=ALONE,
    )
    assert b"past us" in run.stdout
    assert "not on tape" in " ".join(note.text for note, _ in run.tape.notes)


@pytest.mark.parametrize("name", ["posix_spawn", "posix_spawnp"])
def test_what_is_not_kept_is_told_and_not_started_again(bench: Bench, name: str) -> None:
    run = bench.record(f"""
        import os
        command = ["/bin/sh", "-c", "echo started >> starts.log"]
        os.waitpid(os.{name}(command[0], command, os.environ), 0)
    """)
    assert run.status == 0, run.stderr.decode()
    assert [note.slug for note, _ in run.tape.notes] == ["child"]
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["actual"]["name"].startswith("start `/bin/sh")
    assert (bench.folder / "starts.log").read_text() == "started\n"
