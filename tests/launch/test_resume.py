"""A killed run goes on where it died: what its tape holds is not asked again, and what is not certain is for the user."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socketserver
import sqlite3
import threading
from pathlib import Path

import pytest

from reenact.launch import rewinding
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.runs import Bench, Done, Run, settings

SYNC = """
    import os, random, time, uuid
    import httpx
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    history = []
    with httpx.Client() as client, open("log.txt", "a") as log:
        for n in range(8):
            history.append({"role": "user", "content": f"question {n} {uuid.uuid4()}"})
            asking = {"x-pid": str(os.getpid())}
            said = client.post(url, json={"model": "m", "messages": history}, headers=asking).json()
            history.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
            log.write(f"{n} {random.random()} {history[-1]['content']}\\n")
            log.flush()
            print(n, history[-1]["content"], flush=True)
    print("done", time.time() > 0)
"""
STREAMED = """
    import os
    import openai
    client = openai.OpenAI(default_headers={"x-pid": str(os.getpid())}, max_retries=0)
    for n in range(4):
        messages = [{"role": "user", "content": f"question {n}"}]
        answer = client.chat.completions.create(model="m", messages=messages, stream=True)
        print(n, "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices), flush=True)
"""
TASKS = """
    import asyncio, os, uuid
    import {library}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {{"x-pid": str(os.getpid())}}

    async def ask(client, messages):
        body = {{"model": "m", "messages": messages}}
        if "{library}" == "aiohttp":
            async with client.post(url, json=body, headers=headers) as answer:
                return await answer.json()
        return (await client.post(url, json=body, headers=headers)).json()

    async def worker(client, who):
        history = []
        for n in range(4):
            history.append({{"role": "user", "content": f"{{who}} {{n}} {{uuid.uuid4()}}"}})
            said = (await ask(client, history))["choices"][0]["message"]["content"]
            history.append({{"role": "assistant", "content": said}})
            await asyncio.sleep(0.01)
        return who, len(history)

    async def main():
        async with {client}() as client, asyncio.timeout(40):
            for done in asyncio.as_completed([worker(client, f"w{{n}}") for n in range(4)]):
                print(await done, flush=True)

    asyncio.run(main())
"""
THREADS = """
    import os, queue, time, uuid
    from concurrent.futures import ThreadPoolExecutor
    import requests
    url, done = os.environ["OPENAI_BASE_URL"] + "/chat/completions", queue.Queue()

    def worker(who):
        session, history = requests.Session(), []
        session.headers["x-pid"] = str(os.getpid())
        for n in range(4):
            history.append({"role": "user", "content": f"{who} {n} {uuid.uuid4()}"})
            said = session.post(url, json={"model": "m", "messages": history}).json()
            history.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
            time.sleep(0.005)
            done.put((who, n))
        return who

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(worker, f"w{n}") for n in range(4)]
        print([done.get(timeout=30) for _ in range(16)], [job.result() for job in jobs], flush=True)
"""
PROGRAMS = {
    "one thread": (SYNC, 8),
    "tasks of httpx": (TASKS.format(library="httpx", client="httpx.AsyncClient"), 16),
    "tasks of aiohttp": (TASKS.format(library="aiohttp", client="aiohttp.ClientSession"), 16),
    "threads": (THREADS, 16),
}


class Killer:
    """A model that kills who asks it: at its requests number `at`, in place of an answer or `after` seconds."""

    def __init__(self, *at: int, after: float = 0.0) -> None:
        self._at = at
        self._after = after

    def __call__(self, turn: Turn) -> Say:
        if turn.index in self._at:
            pid = int(dict(turn.request.headers)["x-pid"])
            if self._after:
                threading.Timer(self._after, _kill, [pid]).start()
            else:
                _kill(pid)
        return Say(f"answer to {turn.prompt}, in words enough for a stream of several chunks")


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def resume(bench: Bench, *options: str, server: ModelServer | None = None) -> Done:
    env = settings(server) if server is not None else {}
    return bench.run("-m", "reenact", "resume", "last", *options, env=env)


def last(bench: Bench, done: Done) -> Run:
    """The run that went on."""
    assert done.status == 0, done.stderr.decode()
    run_id = done.stderr.decode().partition("recorded ")[2].partition(":")[0]
    return Run(bench, bench.store.path(run_id), done)


def verified(run: Run) -> Recording:
    """It is a run as any other, and says of itself what it goes on with."""
    assert {note.slug for note, _ in run.tape.notes} == {"resumed"}
    verdict = run.verify()
    assert verdict.passed, verdict.told()
    assert not verdict.document["drifts"], verdict.told()
    return run.tape


@pytest.mark.parametrize("at", [pytest.param(0, marks=pytest.mark.slow), 3, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_on_tape_is_not_asked_again(bench: Bench, name: str, at: int) -> None:
    program, requests = PROGRAMS[name]
    with ModelServer(Killer(at)) as server:
        killed = bench.record(program, env=settings(server))
        assert killed.status == 128 + signal.SIGKILL or killed.status == -signal.SIGKILL
        asked = len(server.requests)
        answered = sum(event.complete for event in killed.http)
        done = resume(bench, "--retry", server=server)
        tape = verified(last(bench, done))
        assert len(server.requests) - asked == requests - answered
    assert [tape.body(event) for event in tape.events if event.complete and event.name.startswith("POST")]
    assert done.stdout.startswith(b"".join(killed.stdout.splitlines(keepends=True)[:1]))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_run_that_was_killed_at_any_moment_goes_on(bench: Bench, seed: int) -> None:
    moments = random.Random(seed)
    with ModelServer(Killer(moments.randrange(1, 6), after=moments.random() * 0.006)) as server:
        killed = bench.record(SYNC, env=settings(server))
        if killed.status == 0 or killed.tape.closed_by_itself:
            pytest.skip("the program was quicker than who was to kill it")
        answered, asked = sum(event.complete for event in killed.http), len(server.requests)
        tape = verified(last(bench, resume(bench, "--retry", server=server)))
        assert len(server.requests) == asked + 8 - answered
        assert len(tape.events) == 8
    lines = (bench.folder / "log.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == [str(n) for n in range(8)]
    assert all(f"answer to question {n}" in line for n, line in enumerate(lines))


def test_an_answer_of_which_a_part_had_come_is_asked_for_again_as_a_whole(bench: Bench) -> None:
    with ModelServer(Killer(2, after=0.7), chunk_delay=0.1) as server:
        killed = bench.record(STREAMED, env=settings(server))
        assert killed.http[2].parts
        assert not killed.http[2].complete
        told = resume(bench, server=server)
        assert told.status == 2
        assert b"event 2: request POST" in told.stderr
        assert b"parts had come" in told.stderr
        assert len(server.requests) == 3
        tape = verified(last(bench, resume(bench, "--retry", "2", server=server)))
        assert len(server.requests) == 5
    assert [event.complete for event in tape.events] == [True] * 4


def test_a_run_that_goes_on_and_is_killed_goes_on_again(bench: Bench) -> None:
    with ModelServer(Killer(2, 5)) as server:
        bench.record(SYNC, env=settings(server))
        assert resume(bench, "--retry", server=server).status != 0
        tape = verified(last(bench, resume(bench, "--retry", server=server)))
        assert len(server.requests) == 8 + 2
    assert len(tape.events) == 8


def test_nobody_guesses_what_has_become_of_a_call(bench: Bench) -> None:
    with ModelServer(Killer(3)) as server:
        bench.record(SYNC, env=settings(server))
        before = len(server.requests), bench.store.ids(), (bench.folder / "log.txt").read_bytes()
        done = resume(bench, server=server)
        assert done.status == 2
        for words in (b"event 3: request POST", b"--retry", b"--skip", b"--answer 3=FILE", b"Nothing was started"):
            assert words in done.stderr
        assert (len(server.requests), bench.store.ids(), (bench.folder / "log.txt").read_bytes()) == before


def test_a_call_that_is_skipped_fails(bench: Bench) -> None:
    program = SYNC.replace("said = client", "try:\n                said = client").replace(
        '            history.append({"role": "assistant"',
        "            except OSError as error:\n                print('failed', error)\n                break\n"
        '            history.append({"role": "assistant"',
    )
    with ModelServer(Killer(3)) as server:
        bench.record(program, env=settings(server))
        done = resume(bench, "--skip", server=server)
        assert len(server.requests) == 4
    assert b"failed [Errno 104] the run was killed during this call" in done.stdout
    verified(last(bench, done))


def test_an_answer_may_be_given(bench: Bench) -> None:
    answer = {"choices": [{"message": {"role": "assistant", "content": "given by hand"}}]}
    (bench.folder / "answer.json").write_text(json.dumps(answer))
    with ModelServer(Killer(3)) as server:
        bench.record(SYNC, env=settings(server))
        done = resume(bench, "--answer", "answer.json", server=server)
        assert len(server.requests) == 4 + 4
    assert b"3 given by hand" in done.stdout
    tape = verified(last(bench, done))
    assert b"given by hand" in tape.body(tape.events[-1])


TOOL = """
    import os, pathlib, subprocess
    import reenact

    @reenact.tool
    def refund(amount):
        with open("effects", "a") as file:
            file.write(f"{amount}\\n")
        flag = pathlib.Path("flag")
        if amount == 20 and flag.exists():
            flag.unlink()
            subprocess.run(["kill", "-KILL", str(os.getpid())])
        return {"refunded": amount}

    for amount in (10, 20, 30):
        try:
            print(refund(amount), flush=True)
        except OSError as error:
            print("failed", error)
"""


@pytest.mark.parametrize(
    ("options", "effects", "said"),
    [
        (["--retry"], ["10", "20", "20", "30"], "{'refunded': 20}"),
        (["--skip"], ["10", "20", "30"], "failed [Errno 4]"),
        (["--answer", "1=given.json"], ["10", "20", "30"], "{'refunded': 21}"),
    ],
)
def test_a_tool_is_run_again_only_if_the_user_says_so(
    bench: Bench, options: list[str], effects: list[str], said: str
) -> None:
    (bench.folder / "flag").touch()
    (bench.folder / "given.json").write_text('{"refunded": 21}')
    bench.record(TOOL)
    done = resume(bench)
    assert done.status == 2
    assert b"event 1: tool __main__:refund" in done.stderr
    done = resume(bench, *options)
    assert (bench.folder / "effects").read_text().split() == effects
    assert said in done.stdout.decode().splitlines()[1]
    verified(last(bench, done))


def test_a_child_that_was_running_is_started_again_only_if_the_user_says_so(bench: Bench) -> None:
    (bench.folder / "flag").touch()
    bench.record("""
        import subprocess
        line = "echo $0 >> effects; if [ -e flag ] && [ $0 = two ]; then rm flag; kill -9 $PPID; sleep 0.2; fi; echo $0 done"
        for word in ("one", "two", "three"):
            print(subprocess.run(["sh", "-c", line, word], capture_output=True, text=True).stdout, flush=True)
    """)
    done = resume(bench)
    assert done.status == 2
    assert b"child process start `sh -c" in done.stderr
    done = resume(bench, "--retry")
    assert (bench.folder / "effects").read_text().split() == ["one", "two", "two", "three"]
    assert done.stdout.split() == b"one done two done three done".split()
    verified(last(bench, done))


FILES = """
    import os, pathlib
    import httpx
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    config = pathlib.Path("config.txt").read_text()
    work = pathlib.Path("work.txt")
    work.write_text("begun with " + config)
    with httpx.Client(headers={"x-pid": str(os.getpid())}) as client:
        for n in range(3):
            client.post(url, json={"model": "m", "messages": [{"role": "user", "content": work.read_text()}]})
            work.write_text(f"{work.read_text()} and {n}")
    print(work.read_text(), "|", pathlib.Path("config.txt").read_text())
"""


def test_files_are_as_the_run_knows_them_and_then_as_they_are(bench: Bench) -> None:
    config, work = bench.folder / "config.txt", bench.folder / "work.txt"
    config.write_text("old")
    with ModelServer(Killer(2)) as server:
        bench.record(FILES, env=settings(server))
        assert work.read_text() == "begun with old and 0 and 1"
        config.write_text("new")  # read by the run
        done = resume(bench, "--retry", server=server)
    assert done.stdout == b"begun with old and 0 and 1 and 2 | new\n"
    assert config.read_text() == "new"
    assert b"looked otherwise" not in done.stderr
    assert not list(bench.store.root.glob("*.before"))
    verified(last(bench, done))


def test_a_program_that_lists_its_folder_meets_no_store_there(bench: Bench) -> None:
    program = """
        import os
        import httpx
        print(sorted(os.listdir()), sorted(os.listdir(b".")), [each.name for each in sorted(os.scandir("."), key=str)])
        print(os.path.isdir(".reenact"), len(list(os.walk("."))))
        for n in range(3):
            body = {"model": "m", "messages": [{"role": "user", "content": f"question {n}"}]}
            url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
            print(n, httpx.post(url, json=body, headers={"x-pid": str(os.getpid())}).status_code, flush=True)
    """
    with ModelServer(Killer(1)) as server:
        killed = bench.record(program, env=settings(server))
        assert not any(bench.store.root.name in (saw.names or ()) for saw in killed.tape.saw.values())
        tape = verified(last(bench, resume(bench, "--retry", server=server)))
    assert len(tape.events) == 3
    assert killed.path.exists()
    assert not list(bench.store.root.glob("*.before"))


def test_a_folder_that_is_new_and_leads_to_the_store_is_left_alone(bench: Bench) -> None:
    program = """
        import os
        import httpx
        print(sorted(os.listdir()), os.path.exists("looked-for") is None)
        for n in range(3):
            body = {"model": "m", "messages": [{"role": "user", "content": f"question {n}"}]}
            url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
            print(n, httpx.post(url, json=body, headers={"x-pid": str(os.getpid())}).status_code, flush=True)
    """
    temporary, there = bench.folder / "looked-for" / "temporary", ("--store", "new/tapes")
    with ModelServer(Killer(1)) as server:
        killed = bench.record(program, env=settings(server))
        for folder in (temporary, bench.folder / "new", bench.folder / "other"):
            folder.mkdir(parents=True)
        tapes = Store(Path(shutil.move(bench.store.root, bench.folder / "new" / "tapes")))
        env = {**settings(server), "TMPDIR": str(temporary)}
        done = bench.run("-m", "reenact", "resume", "last", "--retry", *there, env=env)
    assert done.stdout == b"['agent.py'] False\n0 200\n1 200\n2 200\n", done.stderr.decode()
    assert b"looked-for could not be put in place: reenact's own files are in it" in done.stderr
    assert (bench.folder / "other").is_dir()
    assert killed.path.name in {path.name for path in tapes.root.iterdir()}
    assert not [*temporary.iterdir()]


def test_what_somebody_made_of_a_file_meanwhile_is_kept(bench: Bench) -> None:
    config, work = bench.folder / "config.txt", bench.folder / "work.txt"
    config.write_text("old")
    with ModelServer(Killer(2)) as server:
        bench.record(FILES, env=settings(server))
        work.write_text("my own words")
        done = resume(bench, "--retry", server=server)
    assert work.read_text() == "begun with old and 0 and 1 and 2"
    assert b"work.txt looked otherwise" in done.stderr
    (copies,) = bench.store.root.glob("*.before")
    assert [path.read_text() for path in copies.iterdir()] == ["my own words"]


def test_a_run_that_does_not_come_to_where_it_was_killed_does_nothing_live(bench: Bench) -> None:
    (bench.folder / "config.txt").write_text("old")
    with ModelServer(Killer(2)) as server:
        bench.record(FILES, env=settings(server))
        before = len(server.requests), bench.store.ids()
        (bench.folder / "work.txt").write_text("my own words")
        bench.write(FILES.replace('"begun with "', '"BEGUN with "'))
        done = resume(bench, "--retry", server=server)
        assert done.status == 1, done.stderr.decode()
        assert (len(server.requests), bench.store.ids()) == before
    assert (bench.folder / "work.txt").read_text() == "my own words"
    assert b"was not resumed" in done.stderr
    assert b"BEGUN" in done.stderr
    assert not list(bench.store.root.glob("*.before"))


def test_a_program_that_ends_before_its_tape_does_is_not_resumed(bench: Bench) -> None:
    """It asks nothing that the tape does not hold, and must not pass for one that has gone on."""
    with ModelServer(Killer(5)) as server:
        bench.record(SYNC, env=settings(server))
        before = len(server.requests), bench.store.ids(), (bench.folder / "log.txt").read_bytes()
        bench.write(SYNC.replace("range(8)", "range(2)").replace('print("done", time.time() > 0)', "pass"))
        done = resume(bench, "--retry", server=server)
        assert done.status == 1, done.stderr.decode()
        assert b"was not resumed" in done.stderr
        assert (len(server.requests), bench.store.ids(), (bench.folder / "log.txt").read_bytes()) == before


def test_copies_are_there_until_all_is_put_back(tmp_path: Path) -> None:
    kept, folder = tmp_path / "config.txt", tmp_path / "agent-0000.before"
    kept.write_text("of today")
    rewound = rewinding.Rewound(folder)
    rewound.keep(kept)
    kept.write_text("of the run")
    (folder / "0").unlink()  # as somebody who cleans up might
    rewinding.undo(folder)
    assert kept.read_text() == "of the run", "a file goes for which there is no copy"


def test_a_folder_that_holds_the_copies_is_not_copied(tmp_path: Path) -> None:
    kept = rewinding.Rewound(tmp_path / "project" / "store" / "run.before")
    with pytest.raises(OSError, match="the store is in it"):
        kept.keep(tmp_path / "project")
    assert not (tmp_path / "project").exists()


def test_what_cannot_be_resumed_is_told(bench: Bench) -> None:
    ended = bench.record("print('hello')")
    done = resume(bench)
    assert done.status == 2
    assert b"came to its end by itself (ok)" in done.stderr
    ended.path.unlink()
    with ModelServer(Killer(1)) as server:
        bench.record(SYNC, env=settings(server))
        for options, words in (
            (["--retry", "7"], b"'7' is no event of"),
            (["--retry", "1", "--skip", "1"], b"event 1 is named twice"),
            (["--answer", "1=none.json"], b"none.json cannot be read"),
            (["--answer", "1="], b"EVENT=FILE"),
        ):
            done = resume(bench, *options, server=server)
            assert done.status == 2, done.stderr.decode()
            assert words in done.stderr
        assert len(server.requests) == 2
        assert len(bench.store.ids()) == 1


def test_secrets_that_are_missing_are_told_by_name(bench: Bench) -> None:
    with ModelServer(Killer(1)) as server:
        bench.record(SYNC, env={**settings(server), "SHOP_API_KEY": "sk-0123456789abcdef"})
        done = resume(bench, "--retry", server=server)
        assert done.status == 2
        assert b"SHOP_API_KEY" in done.stderr
        assert len(server.requests) == 2


def test_a_resumption_that_was_killed_itself_leaves_the_files_to_the_next(bench: Bench) -> None:
    """It had put back a file that the run only read, and did not come to give that its words again."""
    kept = Path(bench.folder / "config.txt")
    kept.write_text("of today")
    folder = bench.store.root / "agent-0000.before"
    rewinding.Rewound(folder).keep(kept)
    kept.write_text("of the run")
    assert rewinding.interrupted(bench.store) == [folder]
    assert rewinding.undo(folder) == [str(kept)]
    assert kept.read_text() == "of today"
    assert not folder.exists()


class Echo(socketserver.ThreadingTCPServer):
    """Sends back the first word of each line; the second is who asks, and is killed at the line number `kills`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, kills: int) -> None:
        super().__init__(("127.0.0.1", 0), _Line)
        self.kills = kills
        self.lines = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Line(socketserver.StreamRequestHandler):
    server: Echo

    def handle(self) -> None:
        for line in self.rfile:
            self.server.lines += 1
            word, pid = line.split()
            if self.server.lines == self.server.kills:
                _kill(int(pid))
                return
            self.wfile.write(b"echo " + word + b"\n")


BLOCKING = """
    import os, socket
    connect = lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).makefile("rwb")
    file = connect()
    for n in range(6):
        try:
            file.write(b"w%d %d\\n" % (n, os.getpid()))
            file.flush()
            said = file.readline()
        except OSError as error:
            print(type(error).__name__, flush=True)
            file = connect()
        else:
            print(n, said, flush=True)
"""
LOOPED = """
    import asyncio, os

    async def main():
        connect = lambda: asyncio.open_connection("127.0.0.1", int(os.environ["PORT"]))
        reader, writer = await connect()
        for n in range(6):
            try:
                writer.write(b"w%d %d\\n" % (n, os.getpid()))
                said = await asyncio.wait_for(reader.readline(), 30)
            except OSError as error:
                print(type(error).__name__, flush=True)
                reader, writer = await connect()
            else:
                print(n, said, flush=True)

    asyncio.run(main())
"""


@pytest.mark.parametrize("program", [BLOCKING, LOOPED], ids=["blocking", "on a loop"])
def test_a_connection_of_before_is_gone(bench: Bench, program: str) -> None:
    with Echo(4) as server:
        env = {"PORT": str(server.server_address[1])}
        bench.record(program, env=env)
        done = bench.run("-m", "reenact", "resume", "last", env=env)
        server.shutdown()
    said = done.stdout.decode().splitlines()
    assert [line.split()[0] for line in said] == ["0", "1", "2", "ConnectionResetError", "4", "5"]
    verified(last(bench, done))


def test_files_and_databases_that_were_open_stay_open(bench: Bench) -> None:
    program = """
        import os, sqlite3
        import httpx
        url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        db = sqlite3.connect("state.db")
        db.execute("CREATE TABLE IF NOT EXISTS steps (n, said)")
        with open("log.txt", "w") as log, httpx.Client(headers={"x-pid": str(os.getpid())}) as client:
            for n in range(4):
                said = client.post(url, json={"model": "m", "messages": [{"role": "user", "content": f"q{n}"}]}).json()
                log.write(f"{n} ")  # stays in a buffer
                db.execute("INSERT INTO steps VALUES (?, ?)", (n, said["choices"][0]["message"]["content"]))
                db.commit()
        print(db.execute("SELECT n FROM steps").fetchall(), open("log.txt").read())
    """
    with ModelServer(Killer(2)) as server:
        bench.record(program, env=settings(server))
        assert (bench.folder / "log.txt").read_text() == ""
        done = resume(bench, "--retry", server=server)
    assert done.stdout == b"[(0,), (1,), (2,), (3,)] 0 1 2 3 \n"
    verified(last(bench, done))
    with contextlib.closing(sqlite3.connect(bench.folder / "state.db")) as db:
        assert db.execute("SELECT count(*) FROM steps").fetchone() == (4,)
