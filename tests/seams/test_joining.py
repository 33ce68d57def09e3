"""Pythons that a program starts: each records itself, as a process of the run, and is replayed with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from reenact.testing import ModelServer, Say
from tests.runs import Bench, Run, settings

WORKER = f"""#!{sys.executable}
import os, random, sys, time
import httpx

def ask(question):
    asked = {{"model": "m", "messages": [{{"role": "user", "content": f"Say: {{question}}"}}]}}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=asked, headers={{"x-at": str(time.time())}})
    return answer.json()["choices"][0]["message"]["content"]

if __name__ == "__main__":
    for question in sys.argv[1:] or map(str.strip, sys.stdin):
        print(ask(question), os.getpid(), random.random(), time.time(), flush=True)
"""
QUESTION_LINE = 6  # of the worker: where the prompt is sent
HEAD = """
import asyncio, concurrent.futures, os, shlex, subprocess, sys
from asyncio.subprocess import PIPE
tool = [sys.executable, "worker.py"]
"""
LOOP = """
async def main():
    {}
asyncio.run(main())
"""
TALK = """
child = subprocess.Popen(tool, stdin=PIPE, stdout=PIPE, text=True, bufsize=1)
for question in ("one", "two"):
    print(question, file=child.stdin)
    print(child.stdout.readline())
child.stdin.close()
print(child.wait(20))
"""
WAYS = {
    "pipes": (1, "print(subprocess.run(tool, input='one\\ntwo\\n', capture_output=True, text=True))"),
    "talk": (1, TALK),
    "loop": (
        1,
        LOOP.format(
            "child = await asyncio.create_subprocess_exec(*tool, stdin=PIPE, stdout=PIPE, stderr=PIPE);"
            "print(await child.communicate(b'one\\ntwo\\n'), child.returncode)"
        ),
    ),
    "module": (1, "print(subprocess.check_output([sys.executable, '-u', '-m', 'worker', 'one'], text=True))"),
    "code": (1, "print(subprocess.check_output([sys.executable, '-c', 'from worker import ask; print(ask(1))']))"),
    "its own output": (1, "print('a', flush=True); subprocess.run([*tool, 'one'], check=True); print('z')"),
    "a script": (1, "print(subprocess.check_output(['./worker.py', 'one'], text=True))"),
    "a script on the path": (
        1,
        "print(subprocess.check_output(['worker.py', 'one'], env=os.environ | {'PATH': os.getcwd()}))",
    ),
    "another folder": (1, "print(subprocess.check_output([sys.executable, '../worker.py', 'one'], cwd='deeper'))"),
    "shell": (1, "print(subprocess.check_output(shlex.join([*tool, 'one two']) + ' 2>&1', shell=True))"),
    "shell, several": (
        2,
        "tool = shlex.join(tool); print(subprocess.getoutput(f'cd . && {tool} one | cat; A=b {tool} \"$HOME\"'))",
    ),
    "system": (1, "print(os.system(shlex.join([*tool, 'one'])))"),
    "system, to a file": (1, "os.system(shlex.join([*tool, 'one']) + ' > out.txt'); print(open('out.txt').read())"),
    "popen": (1, "print(os.popen(shlex.join([*tool, 'one'])).read())"),
    "grandchild": (
        2,
        """
code = 'import subprocess, sys; print(subprocess.run([sys.executable, "worker.py", "x"], check=True))'
print(subprocess.run([sys.executable, "-c", code], capture_output=True))""",
    ),
    "at once": (
        4,
        """
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    print(*pool.map(lambda at: subprocess.check_output([*tool, str(at)]), range(4)))""",
    ),
    "at once on a loop": (
        3,
        "async def one(at):\n"
        "    child = await asyncio.create_subprocess_exec(*tool, str(at), stdout=PIPE)\n"
        "    return await child.communicate()\n" + LOOP.format("print(await asyncio.gather(*map(one, range(3))))"),
    ),
}


def recorded(bench: Bench, body: str, worker: str = WORKER) -> Run:
    """A program that starts the worker; the models that both ask are gone when this returns."""
    path = bench.folder / "worker.py"
    path.write_text(worker, encoding="utf-8")
    path.chmod(0o755)
    (bench.folder / "deeper").mkdir(exist_ok=True)
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt}")) as server:
        run = bench.record(HEAD + body, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    return run


@pytest.mark.sampled(7)
@pytest.mark.parametrize("way", WAYS)
def test_a_python_joins_the_run_however_it_is_started(bench: Bench, way: str) -> None:
    count, body = WAYS[way]
    run = recorded(bench, body)
    verified = run.reproduced()
    assert verified.document["processes"] == {"recorded": count, "replayed": count, "cut": 0}
    assert verified.document["boundaries"]["kinds"]["http"] >= 1


def test_its_steps_are_those_of_the_run(bench: Bench) -> None:
    run = recorded(bench, "print(subprocess.check_output([*tool, 'one']), subprocess.check_output([*tool, 'two']))")
    assert run.tape.summary["steps"] == 2
    shown = json.loads(bench.run("-m", "reenact", "show", run.path.stem, "--json").stdout)
    assert [(step["number"], step["lane"]) for step in shown["steps"]] == [(1, "0.1"), (2, "0.2")]
    assert [process.main for process in run.tape.processes] == ["0.1", "0.2"]
    assert not list(run.bench.store.root.glob("*/"))


def test_its_lane_is_the_next_child_of_the_lane_that_starts_it(bench: Bench) -> None:
    body = """
import threading
def work():
    print(subprocess.check_output([*tool, "in a thread"]))
for _ in range(2):
    threading.Thread(target=work).start()
    print(subprocess.check_output([*tool, "in main"]))
"""
    run = recorded(bench, body)
    assert [process.main for process in run.tape.processes] == ["0.1.1", "0.2", "0.3.1", "0.4"]
    run.reproduced()


def test_a_changed_prompt_is_told_with_lane_step_and_line(bench: Bench) -> None:
    run = recorded(bench, "print(subprocess.run(['true'])); print(subprocess.check_output([*tool, 'one', 'two']))")
    path = bench.folder / "worker.py"
    path.write_text(WORKER.replace("Say: ", "Tell: "), encoding="utf-8")
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert (first["what"], first["lane"], first["step"]) == ("mismatch", "0.1", 1)
    assert first["site"]["line"] == QUESTION_LINE + 1
    assert first["process"].endswith("worker.py one two")
    assert verified.document["not_restored"] == ["worker.py has changed since the recording"]
    told = bench.run("-m", "reenact", "verify", run.path.stem).stdout.decode()
    assert "Say" in told
    assert "0.1" in told
    assert bench.run("-m", "reenact", "replay", run.path.stem).status == 1


def test_what_is_not_started_any_more_is_the_programs_own_difference(bench: Bench) -> None:
    run = recorded(bench, "print(subprocess.check_output([*tool, 'one']))")
    bench.write("print('changed')")
    (bench.folder / "worker.py").write_text("raise SystemExit('changed')", encoding="utf-8")
    verified = run.verify()
    assert verified.status == 1
    assert {one["lane"] for one in verified.divergences} == {"0"}
    assert verified.document["processes"] == {"recorded": 1, "replayed": 0, "cut": 0}


ENVIRONMENT = """
import os, sys
known = [os.environ.get(name) for name in ("PYTHONHASHSEED", "A", "PATH", "HOME")]
print(sorted(os.environ), known, sys.argv, sys.flags, sys.stdin.isatty(), os.getcwd(), sys.orig_argv, sys.path)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("env", ["None", "os.environ | {'A': 'b'}", "{'PYTHONHASHSEED': '7', 'X': 'y'}", "{}"])
def test_it_sees_what_it_would_have_seen(bench: Bench, env: str) -> None:
    (bench.folder / "worker.py").write_text(ENVIRONMENT, encoding="utf-8")
    program = f"""{HEAD}
print(subprocess.run([*tool, "7"], capture_output=True, env={env}))
print(subprocess.run(shlex.join([*tool, "7"]), shell=True, capture_output=True, env={env}))
print(os.system(shlex.join([*tool, "0"]) + " >&2"))
"""
    plain = bench.plain(program)
    run = bench.record(program)
    assert (plain.stdout, plain.stderr, plain.status) == (run.stdout, run.stderr, run.status)
    assert len(run.tape.processes) == 3
    run.reproduced()


def test_one_that_is_killed_is_replayed_as_far_as_it_came(bench: Bench) -> None:
    body = """
try:
    subprocess.run([sys.executable, "-c", "import time, worker; print(worker.ask(1)); time.sleep(60)"], timeout=4, stdout=PIPE)
except subprocess.TimeoutExpired as error:
    print(error)
"""
    run = recorded(bench, body)
    (process,) = run.tape.processes
    assert (process.closed_by_itself, process.status) == (False, -9)
    verified = run.verified(drift=True)  # it had read clocks since its last commit
    assert verified.document["processes"] == {"recorded": 1, "replayed": 1, "cut": 1}
    assert verified.document["boundaries"]["kinds"]["http"] == 1


def test_how_it_ended_is_compared(bench: Bench) -> None:
    run = recorded(bench, "print(subprocess.run(tool))", "raise SystemExit(3)")
    (bench.folder / "worker.py").write_text("raise SystemExit(4)", encoding="utf-8")
    verified = run.verify()
    assert [(one["what"], one["lane"]) for one in verified.divergences] == [("exit", "0.1")]
    first = verified.divergences[0]
    assert (first["expected"]["text"], first["actual"]["text"]) == ("exit status 3", "exit status 4")


MADE = """
import shutil, tempfile
folder = tempfile.mkdtemp()
for word in ("one", "two"):
    with open(f"{folder}/helper.py", "w") as file:
        file.write(f"WORD = {word!r}")
    with open(f"{folder}/solution.py", "w") as file:
        file.write(f"import helper, worker; print(helper.WORD, {word!r}, worker.ask(1))")
    print(subprocess.run([sys.executable, "solution.py"], cwd=folder, capture_output=True, env=os.environ | {"PYTHONPATH": os.getcwd()}))
shutil.rmtree(folder)
"""


@pytest.mark.usefixtures("namespaces")
def test_a_program_that_the_run_has_made_is_run_again_as_it_was(bench: Bench) -> None:
    run = recorded(bench, MADE)
    assert run.text.count("returncode=0") == 2, run.text
    run.reproduced()


@pytest.mark.usefixtures("namespaces")
def test_a_file_that_it_read_is_found_again_and_what_it_wrote_is_compared(bench: Bench) -> None:
    source = "print(open('notes.txt').read()); open('out.txt', 'a').write('more')"
    (bench.folder / "notes.txt").write_text("as it was", encoding="utf-8")
    run = recorded(bench, "print(subprocess.check_output(tool)); print(open('out.txt').read())", source)
    (bench.folder / "notes.txt").unlink()
    (bench.folder / "out.txt").write_text("other", encoding="utf-8")
    run.reproduced()
    assert (bench.folder / "out.txt").read_text(encoding="utf-8") == "other"
    (bench.folder / "worker.py").write_text(source.replace("'more'", "'less'"), encoding="utf-8")
    verified = run.verify()
    assert [(one["what"], one["lane"]) for one in verified.divergences] == [("file", "0.1")]


def test_a_python_without_reenact_runs_as_it_would_and_is_told(bench: Bench) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bench.folder / "bare")], check=True)
    program = f"""{HEAD}
code = "import os, sys; print(sorted(os.environ), sys.prefix)"
for command in (["bare/bin/python", "-c", code], [sys.executable, "-S", "-c", code]):
    print(subprocess.check_output(command))
print(subprocess.run([sys.executable], input=code.encode(), capture_output=True))
print(subprocess.run([sys.executable, "--version"], capture_output=True))
"""
    plain = bench.plain(program)
    run = bench.record(program)
    assert (plain.stdout, plain.status) == (run.stdout, run.status)
    assert not run.tape.processes
    told = [note.text for note, _ in run.tape.notes if "is not recorded itself" in note.text]
    for text, why in zip(told, ("has no reenact", "with -S", "standard input"), strict=True):
        assert why in text
    assert b"is not recorded itself" in run.stderr
    assert run.verify().passed


def test_reenact_itself_and_what_is_switched_off_do_not_join(bench: Bench) -> None:
    run = bench.record(f"""{HEAD}
open("inner.py", "w").write("print('inner')")
inner = subprocess.run([sys.executable, "-m", "reenact", "record", "-q", "--store", "other", "inner.py"], capture_output=True)
print(inner.stdout, inner.returncode)
print(subprocess.check_output([sys.executable, "inner.py"], env=os.environ | {{"REENACT_ENABLED": "false"}}))
""")
    assert run.text == "b'inner\\n' 0\nb'inner\\n'\n"
    assert not run.tape.processes
    told = [note.text.partition("itself: ")[2] for note, _ in run.tape.notes if "itself" in note.text]
    assert told == ["reenact and pip are never recorded"]
    assert len(Bench(bench.folder).store.ids()) == 1
    assert len(list((bench.folder / "other").glob("*.tape"))) == 1


SERVE = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
link, _ = server.accept()
print(link.recv(10))
"""


def test_one_that_others_connect_to_is_told_and_not_replayed(bench: Bench) -> None:
    body = """
import socket
child = subprocess.Popen(tool, stdout=PIPE)
with socket.create_connection(("127.0.0.1", int(child.stdout.readline()))) as link:
    link.sendall(b"hello")
print(child.communicate(), child.returncode)
"""
    run = recorded(bench, body, SERVE)
    (process,) = run.tape.processes
    assert "visited" in [note.slug for note, _ in process.notes]
    verified = run.verify()
    assert verified.passed, verified.told()
    assert "127.0.0.1" in json.dumps(verified.document["not_replayed"])


def test_one_that_is_given_more_than_the_standard_streams_is_told(bench: Bench) -> None:
    body = """
ours, theirs = os.pipe()
print(subprocess.run([*tool, str(theirs)], pass_fds=[theirs]).returncode, os.read(ours, 9))
"""
    run = recorded(bench, body, "import os, sys; os.write(int(sys.argv[1]), b'past us')")
    (process,) = run.tape.processes
    assert "was given the descriptor" in " ".join(note.text for note, _ in process.notes)
