"""Several branches that leave a run at one place: what lies before is served once, and each goes on by itself."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reenact.launch.spec import Begun, Spec, Stands
from reenact.launch.together import GONE, Started, Together
from reenact.probe.link import Link
from reenact.testing import ModelServer, Say
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.branch.test_fork import CHAT, SEVERAL, THREADS, Counting, fork
from tests.runs import PATIENCE, Bench, Done, Run, settings

ADDRESSED = CHAT.replace(
    "messages=history)", 'messages=history, extra_headers={{"x-at": str(id(history)) if n == 3 else ""}})'
)
DRAWING = """
    import os, random, secrets, ssl, tempfile, time, uuid
    import openai
    client = openai.OpenAI(max_retries=0)
    drawn = []
    for n in range(2):
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": f"{n} {drawn}"}])
        drawn = [os.urandom(8).hex(), str(uuid.uuid4()), secrets.token_hex(8), random.Random().random(), time.time_ns(),
                 time.monotonic_ns(), ssl.RAND_bytes(8).hex(), random.SystemRandom().random(), str(uuid.uuid1())]
        assert os.getpid() > 0
    print(*drawn, random.random())
"""
WITH_FILES = """
    import os, sqlite3
    import openai
    client = openai.OpenAI(max_retries=0)

    def ask(text):
        return client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": text}]).choices[0].message.content

    os.mkdir("made"); open("made/before", "w").write("as it was")
    os.remove("gone")
    log = open("log", "a+"); log.write("before\\n"); log.flush()
    lines = open("lines"); lines.readline()
    data = sqlite3.connect("data.db"); data.execute("CREATE TABLE said (text)"); data.commit()
    first = ask("one")
    data.execute("INSERT INTO said VALUES (?)", (first,)); data.commit()
    second = ask("two")
    log.write(second + "\\n"); log.flush(); log.seek(0)
    data.execute("INSERT INTO said VALUES (?)", (second,)); data.commit()
    open("made/after", "w").write(second)
    print(log.read().split(), lines.readline(), data.execute("SELECT text FROM said").fetchall(),
          os.path.exists("gone"), sorted(os.listdir("made")), open("made/before").read())
"""


def outcomes(done: Done) -> list[dict[str, Any]]:
    """What `--json` says of branches that all came to their end."""
    assert done.status == 0, done.stdout.decode() + done.stderr.decode()
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def runs_of(bench: Bench, found: list[dict[str, Any]]) -> Iterator[Run]:
    """The branches, each of which replays N of N."""
    for one in found:
        run = Run(bench, bench.store.path(one["run"]), Done(one["exit_status"], b"", b""))
        run.verified()
        yield run


def printed(run: Run) -> str:
    """What a branch wrote to stdout, of which nobody saw anything."""
    return b"".join(run.tape.wrote.values()).decode()


@pytest.mark.usefixtures("namespaces")
def test_the_steps_before_are_served_once(bench: Bench) -> None:
    """A list is at the same address in copies of one process; in processes of their own it is not."""
    with ModelServer(Counting()) as server:
        parent = bench.record(ADDRESSED.format(steps=4), env=settings(server)).path
        before = parent.read_bytes()
        live = len(server.requests)
        found = outcomes(fork(bench, "last@3", "--n", "6", "--json", server=server))
        asked = [at for request in server.requests[live:] if (at := dict(request.headers)["x-at"])]
        fork(bench, "last@3", server=server)
        alone = dict(server.requests[-1].headers)["x-at"]
    assert len(asked) == 6
    assert len(set(asked)) == 1
    assert alone != asked[0], "an address would be the same anyway: this machine does not shuffle them"
    assert [one["alone"] for one in found] == [""] * 6
    assert len({one["run"] for one in found}) == 6
    assert parent.read_bytes() == before


@pytest.mark.usefixtures("namespaces")
def test_each_branch_draws_for_itself(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        bench.record(DRAWING, env=settings(server))
        found = outcomes(fork(bench, "last@2", "--n", "5", "--json", server=server))
    assert not any(one["alone"] for one in found)
    *drawn, state = zip(*(printed(run).split() for run in runs_of(bench, found)), strict=True)
    for values in drawn:
        assert len(set(values)) == 5, values
    assert len(set(state)) == 1, "the generator that the run had seeded goes on from the state that it was in"


@pytest.mark.usefixtures("namespaces")
def test_each_branch_has_files_of_its_own(bench: Bench) -> None:
    (bench.folder / "gone").write_text("there")
    (bench.folder / "lines").write_text("a\nb\nc\n")
    with ModelServer(Counting()) as server:
        bench.record(WITH_FILES, env=settings(server))
        for name in ("log", "data.db", "made/before", "made/after"):
            (bench.folder / name).unlink()
        (bench.folder / "made").rmdir()
        (bench.folder / "gone").write_text("there")
        found = outcomes(fork(bench, "last@2", "--n", "3", "--json", "--keep-files", "kept", server=server))
    assert not any(one["alone"] for one in found), found[0]["alone"]
    said = set()
    for run in runs_of(bench, found):
        log, second = printed(run).split("]", 1)
        mine = log.rpartition("'before', '")[2].rstrip("'")
        said.add(mine)
        assert "['before', '" in log
        folder = bench.folder / "kept" / run.path.stem
        assert (folder / "made/after").read_text() == " ".join(mine.split("', '"))
        assert (folder / "log").read_text().splitlines() == ["before", " ".join(mine.split("', '"))]
        assert second.startswith(" b\n")
        assert "False ['after', 'before'] as it was" in second
        assert second.count("('answer") == 2, second
    assert len(said) == 3, "each asked for itself"
    assert not (bench.folder / "made").exists()
    assert (bench.folder / "gone").exists()


@pytest.mark.usefixtures("namespaces")
def test_tasks_of_a_loop_go_on_in_each(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        bench.record(SEVERAL, env=settings(server))
        found = outcomes(fork(bench, "last@9", "--n", "3", "--json", server=server))
    assert not any(one["alone"] for one in found), found[0]["alone"]
    assert all(printed(run).count("answer") == 24 for run in runs_of(bench, found))


def _with(code: str) -> str:
    return CHAT.format(steps=2).replace("history = []", f"history = []; {code}")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (THREADS, "it has more than one thread"),
        (_with("kept = open('kept', 'w'); os.unlink('kept')"), "it has a file open that is not where it was any more"),
        (_with("kept = open('kept', 'w'); os.dup(kept.fileno())"), "open under two numbers that go on together"),
        (_with("kept = os.pipe()"), "which its copies would share"),
    ],
    ids=["threads", "deleted", "twice", "pipe"],
)
@pytest.mark.usefixtures("namespaces")
def test_where_there_can_be_no_copy_each_begins_by_itself(bench: Bench, program: str, words: str) -> None:
    with ModelServer(Counting()) as server:
        bench.record(program, env=settings(server))
        found = outcomes(fork(bench, "last@2", "--n", "2", "--json", server=server))
    assert all(words in one["alone"] for one in found), found
    assert len([*runs_of(bench, found)]) == 2


def test_files_that_are_closed_in_python_are_no_copys(sealed: Bench) -> None:
    with ModelServer(Counting()) as server:
        sealed.record(CHAT.format(steps=2), env=settings(server))
        told = fork(sealed, "last@2", "--n", "2", server=server)
    assert told.status == 0, told.stderr
    words = "the steps before were served 2 times, each branch by itself: its files are closed in Python"
    assert words in told.stdout.decode()


def test_a_folder_whose_name_is_too_long_for_a_socket_is_no_reason_to_fail(bench: Bench, tmp_path: Path) -> None:
    temporary = tmp_path / ("n" * 100)
    temporary.mkdir()
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        found = outcomes(fork(bench, "last@2", "--n", "2", "--json", server=server, TMPDIR=str(temporary)))
    assert all(one["alone"].startswith("no socket could be made in") for one in found), found
    assert not [*temporary.iterdir()]


def test_a_program_that_does_something_else_by_now_has_no_branches(bench: Bench, tmp_path: Path) -> None:
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=3), env=settings(server))
        program = bench.folder / "agent.py"
        program.write_text(program.read_text().replace("question", "something else"))
        done = fork(bench, "last@3", "--n", "3", "--json", server=server, TMPDIR=str(_empty(tmp_path)))
        assert len(server.requests) == 3
    assert done.status == 1, done.stderr.decode()
    assert {one["outcome"] for one in json.loads(done.stdout)} == {"not forked"}
    assert all(one["reason"].startswith("it left its parent's tape") for one in json.loads(done.stdout))
    assert len(bench.store.ids()) == 1
    assert not [*(tmp_path / "temporary").iterdir()]


@pytest.mark.usefixtures("namespaces")
def test_what_the_steps_before_showed_of_secrets_is_in_no_branch(bench: Bench) -> None:
    program = CHAT.format(steps=3).replace(
        "history = []", 'history = []; os.environ["LATE_API_KEY"] = "".join(["vF83kd", "-0aQmpwx7Zq1LrT5"])'
    )
    program = program.replace("question {n}", "question {n} {os.environ['LATE_API_KEY']}")
    secret = b"vF83kd-0aQmpwx7Zq1LrT5"
    with ModelServer(Counting()) as server:
        bench.record(program, env=settings(server))
        found = outcomes(fork(bench, "last@2", "--n", "2", "--json", server=server))
        assert secret in server.requests[-1].body
    assert not any(one["alone"] for one in found)
    for run in runs_of(bench, found):
        assert secret not in run.path.read_bytes()
    assert not [*bench.store.root.glob("*-secrets")]


class _Waiting:
    """Says when it is asked, and answers when it is let; a recording at once."""

    def __init__(self) -> None:
        self.reached, self.release = threading.Semaphore(0), threading.Event()
        self.forked = False

    def __call__(self, _turn: Turn) -> Reply:
        if self.forked:
            self.reached.release()
            self.release.wait(PATIENCE)
        return Say("fair")


@pytest.mark.usefixtures("namespaces")
def test_where_the_standing_process_is_killed_the_others_begin_by_themselves(bench: Bench) -> None:
    model = _Waiting()
    with ModelServer(model) as server:
        bench.record(CHAT.format(steps=1), env=settings(server))
        model.forked = True
        command = ("-m", "reenact", "fork", "last@1", "--live", "--n", "6", "--json")
        with bench.start(*command, env=settings(server)) as process:
            for _ in range(4):
                assert model.reached.acquire(timeout=PATIENCE)
            (standing,) = _children(process.pid) - _asking(server.port)
            os.kill(standing, signal.SIGKILL)
            model.release.set()
            stdout, stderr = process.communicate(timeout=PATIENCE)
    found = outcomes(Done(process.returncode, stdout, stderr))
    assert sorted(one["alone"] for one in found) == [""] * 4 + [GONE] * 2
    assert len([*runs_of(bench, found)]) == 6


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is copied elsewhere")
def test_a_copy_of_what_is_killed_just_afterwards_has_not_begun_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = [sys.executable, "-S", "-c", "pass"]
    start = Started(nothing, os.environ, str(Path.cwd()), Spec("fork", "run-1.tape"))
    with Together([]) as together:
        link, theirs = Link[Stands].pair(Stands)
        monkeypatch.setattr(together, "_first", subprocess.Popen(nothing))
        monkeypatch.setattr(together, "_link", link)
        copied = threading.Thread(target=_copies_once, args=(theirs, start))
        copied.start()
        assert together.run(start) == (0, "")
        assert together.run(start) == (0, GONE)
        copied.join()


def _copies_once(end: int, start: Started) -> None:
    """What stands: it makes one copy, and is gone before it says that it still stands."""
    link = Link[Spec](end, Spec)
    _, answers = link.receive()
    child = os.posix_spawn(start.argv[0], start.argv, os.environ)
    answering = Link[Begun](answers, Begun)
    answering.send(Begun(child))
    answering.close()
    link.close()


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_behind(bench: Bench, tmp_path: Path, number: signal.Signals) -> None:
    model, temporary = _Waiting(), _empty(tmp_path)
    with ModelServer(model) as server:
        bench.record(CHAT.format(steps=1), env=settings(server))
        model.forked = True
        command = ("-m", "reenact", "fork", "last@1", "--live", "--n", "6", "--name", "child")
        with bench.start(*command, env={**settings(server), "TMPDIR": str(temporary)}) as process:
            for _ in range(4):
                assert model.reached.acquire(timeout=PATIENCE)
            children, until = _children(process.pid), time.monotonic() + PATIENCE
            while len(children) < 5 and time.monotonic() < until:  # a copy may ask before it is our child
                children = _children(process.pid)
            assert len(children) == 5
            process.send_signal(number)
            _, stderr = process.communicate(timeout=PATIENCE)
            model.release.set()
    assert process.returncode == 128 + number, stderr.decode()
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    assert not [*temporary.iterdir()]
    assert len([run for run in bench.store.ids() if run.startswith("child")]) == 4


def test_an_interrupt_before_it_is_live_begins_none(bench: Bench, tmp_path: Path) -> None:
    model, temporary = _Waiting(), _empty(tmp_path)
    program = CHAT.format(steps=1).replace(
        "history = []", "history = []; os.path.exists('slow') and any(0 for _ in iter(int, 1))"
    )
    with ModelServer(model) as server:
        bench.record(program, env=settings(server))
        program = (bench.folder / "agent.py").read_text().replace("os.path.exists('slow') and", "")
        (bench.folder / "agent.py").write_text(program)
        command = ("-m", "reenact", "fork", "last@1", "--live", "--n", "5", "--name", "child")
        with bench.start(*command, env={**settings(server), "TMPDIR": str(temporary)}) as process:
            while not any(b"agent.py" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in _children(process.pid)):
                assert process.poll() is None
            children = _children(process.pid)
            process.send_signal(signal.SIGINT)
            try:
                _, stderr = process.communicate(timeout=PATIENCE / 4)
            except subprocess.TimeoutExpired:  # Python loses one that comes as it lets go of the lock of an import
                process.send_signal(signal.SIGINT)
                _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT, stderr.decode()
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]
    assert not [*temporary.iterdir()]
    assert len(bench.store.ids()) == 1


def _empty(folder: Path) -> Path:
    temporary = folder / "temporary"
    temporary.mkdir()
    return temporary


def _children(pid: int) -> set[int]:
    found = set()
    for about in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if int(about.read_text().rpartition(")")[2].split()[1]) == pid:
                found.add(int(about.parent.name))
    return found


def _asking(port: int) -> set[int]:
    """Processes that have a connection to that port of this machine."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    sockets = {f"socket:[{line.split()[9]}]" for line in lines if int(line.split()[2].partition(":")[2], 16) == port}
    found = set()
    for name in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(name.readlink()) in sockets:
                found.add(int(name.parts[2]))
        except OSError:
            continue
    return found
