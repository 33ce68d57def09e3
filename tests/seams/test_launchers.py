"""Pythons behind other programs: a shell, `env`, `timeout`, `uv run`. They join the run as those that are started plainly."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import reenact
from tests.runs import Bench, Run

WORKER = f"""#!{sys.executable}
import os, random, sys
known = [name for name in sorted(os.environ) if name.startswith(("REENACT", "PYTHONHASH"))]
print("worker", sys.argv[1:], random.random(), os.environ.get("A"), known, flush=True)
sys.exit(int(os.environ.get("END", 0)))
"""
HEAD = """
import asyncio, os, shlex, subprocess, sys
tool = [sys.executable, "worker.py"]
typed = shlex.join(tool)
def show(*args, **more):
    done = subprocess.run(*args, capture_output=True, text=True, **more)
    print(done.returncode, done.stdout, done.stderr)
"""
WAYS = {
    "bash -c": "show(['bash', '-c', typed + ' one'])",
    "bash -ec, quoted": "show(['bash', '-e', '-o', 'pipefail', '-c', f'cd deeper && {sys.executable} ../worker.py \"$0\"', 'one'])",
    "bash -lc": "show(['bash', '-lc', typed + ' one'])",
    "sh -c in sh -c": "show(shlex.join(['sh', '-c', typed + ' one']) + ' | cat', shell=True)",
    "env": "show(['env', 'A=1', *tool, 'one'])",
    "env -i": "show(['env', '-i', 'A=b c', *tool, 'one'])",
    "env -C": "show(['env', '-C', 'deeper', sys.executable, '../worker.py', 'one'])",
    "nohup": "show(['nohup', *tool, 'one'])",
    "nice": "show(['nice', '-n', '5', *tool, 'one'])",
    "timeout": "show(['timeout', '-k', '5', '60', *tool, 'one'])",
    "setsid": "show(['setsid', '-w', *tool, 'one'])",
    "stdbuf": "show(['stdbuf', '-oL', *tool, 'one'])",
    "time": "show(['time', '-f', '', *tool, 'one'])",
    "several": "show(['timeout', '60', 'env', 'A=2', 'nice', *tool, 'one'])",
    "in a line": "show(f'A=3 timeout 60 {typed} one | tee log', shell=True)",
    "env in a line": "show(f'env A=\"$HOME\" {typed} one', shell=True)",
    "exec in a line": "show(f'exec {typed} one', shell=True)",
    "time in a line": "show(['bash', '-c', f'time -p {typed} one 2>/dev/null'])",
    "a prompt's shell line": "show(['bash', '-c', f'set -euo pipefail; export A=4; {typed} one'])",
    "a loop's child": "async def main():\n"
    "    child = await asyncio.create_subprocess_exec('bash', '-c', typed + ' one', stdout=subprocess.PIPE)\n"
    "    print(await child.communicate())\n"
    "asyncio.run(main())",
    "an activated environment": "show(['bash', '-c', '. ./activate && python worker.py one'])",
    "another hash seed": "show(['bash', '-c', f'PYTHONHASHSEED=7 {typed} one'])",
    "an exit status": "show(['env', 'END=7', *tool])",
}


def set_up(bench: Bench) -> None:
    path = bench.folder / "worker.py"
    path.write_text(WORKER, encoding="utf-8")
    path.chmod(0o755)
    (bench.folder / "deeper").mkdir(exist_ok=True)
    (bench.folder / "activate").write_text(f"PATH={Path(sys.executable).parent}:$PATH\n", encoding="utf-8")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("way", WAYS)
def test_a_python_joins_from_behind_other_programs(bench: Bench, way: str) -> None:
    set_up(bench)
    plain = bench.plain(HEAD + WAYS[way]).stdout
    run = bench.record(HEAD + WAYS[way])
    assert plain.count(b"worker [") == run.stdout.count(b"worker [") == 1, run.stdout
    assert without_chance(plain) == without_chance(run.stdout)
    assert run.reproduced().document["processes"] == {"recorded": 1, "replayed": 1, "cut": 0}


def without_chance(output: bytes) -> list[bytes]:
    return [word for word in output.split() if not word.startswith(b"0.")]


NOT = {
    "xargs": ("show(['xargs', *tool], input='one')", "what `xargs` starts is not seen through"),
    "sudo's like": ("show(['flock', 'lock', *tool])", "what `flock` starts is not seen through"),
    "an option": ("show(['env', '-S', f'A=1 {typed}'])", ""),
    "traced": ("show(['bash', '-xc', typed])", "an option of `bash` in front of it is not known"),
    "a loop of the shell": ("show(['bash', '-c', f'for i in 1; do {typed} $i; done'])", "is not plain enough"),
    "aliases": ("show(['sh', '-c', f'alias python=false; {typed}'])", "may make it another program"),
    "a prompt that shows": ("show(['bash', '-c', f'set -x; {typed}'])", "or show what we add"),
    "a login shell's": (
        "show(['bash', '-lc', 'cd .; python worker.py'], env=os.environ | {'PATH': '/nowhere:/usr/bin:/bin'})",
        "",
    ),
    "pip": ("show(['bash', '-lc', f'{sys.executable} -m pip --version'])", "reenact and pip are never recorded"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", NOT)
def test_one_that_cannot_join_is_told_and_runs_as_ever(bench: Bench, way: str) -> None:
    set_up(bench)
    body, why = NOT[way]
    plain = bench.plain(HEAD + body)
    run = bench.record(HEAD + body)
    assert without_chance(plain.stdout) == without_chance(run.stdout)
    assert not run.tape.processes
    told = [note.text for note, _ in run.tape.notes if note.slug == "child"]
    assert [text for text in told if why in text] if why else not told, told
    assert run.verify().passed


def test_what_is_no_python_is_left_alone(bench: Bench) -> None:
    run = bench.record(
        HEAD
        + "show(['env', 'A=1', 'timeout', '9', 'sh', '-c', 'echo $A; command -v python; true']); show(['nice', 'grep', '-c', 'python', 'agent.py'])"
    )
    assert not run.tape.notes
    run.reproduced()


def test_what_timeout_ends_is_told_as_it_ended(bench: Bench) -> None:
    set_up(bench)
    run = bench.record(
        HEAD + "show(['timeout', '3', sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])"
    )
    assert run.text.startswith("124 1\n")
    (process,) = run.tape.processes
    assert not process.closed_by_itself
    assert run.verify().passed


UV = shutil.which("uv", path=str(Path(sys.executable).parent))


def environment(folder: Path) -> Path:
    """A virtual environment in which this reenact is installed, as far as anybody can see."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / f"python{version}" / "site-packages"
    here = Path(sysconfig.get_path("purelib"))
    shutil.copy(here / "reenact.pth", packages)
    shutil.copytree(*(each / f"reenact-{reenact.__version__}.dist-info" for each in (here, packages)))
    (packages / "a.pth").write_text(f"{Path(reenact.__file__).parents[1]}\n{here}\n", encoding="utf-8")
    return folder


UV_WAYS = {
    "python": "show([uv, 'run', '--offline', 'python', 'worker.py', 'one'])",
    "a script": "show([uv, 'run', '-q', '--offline', 'worker.py', 'one'])",
    "a module": "show([uv, 'run', '--offline', '-m', 'worker', 'one'])",
    "in a shell": "show(['bash', '-lc', f'cd . && {uv} run --offline python worker.py one'])",
    "with more in front": "show(['timeout', '60', uv, 'run', '--offline', '--', 'env', 'A=5', 'python', 'worker.py', 'one'])",
}


def in_project(bench: Bench) -> dict[str, str]:
    """A folder that uv takes for a project, whose environment is there."""
    set_up(bench)
    (bench.folder / "pyproject.toml").write_text("[project]\nname = 'it'\nversion = '1'\n", encoding="utf-8")
    environment(bench.folder / ".venv")
    return {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1"}


@pytest.mark.sampled(1)
@pytest.mark.skipif(UV is None, reason="no uv beside this Python")
@pytest.mark.parametrize("way", UV_WAYS)
def test_uv_run_starts_what_joins(bench: Bench, way: str) -> None:
    env = in_project(bench)
    program = f"uv = {UV!r}\n{HEAD}{UV_WAYS[way]}"
    plain = bench.plain(program, env=env)
    assert b"worker ['one']" in plain.stdout, plain.stdout
    run = bench.record(program, env=env)
    assert b"worker ['one']" in run.stdout, run.stdout
    assert run.verified().document["processes"] == {"recorded": 1, "replayed": 1, "cut": 0}


@pytest.mark.skipif(UV is None, reason="no uv beside this Python")
def test_uv_run_of_what_needs_an_environment_of_its_own_is_told(bench: Bench) -> None:
    env = in_project(bench)
    (bench.folder / "worker.py").write_text(
        "# /// script\n# dependencies = []\n# ///\nprint('on its own')\n", encoding="utf-8"
    )
    run = bench.record(f"uv = {UV!r}\n{HEAD}show([uv, 'run', '--offline', 'worker.py'])", env=env)
    assert "on its own" in run.text
    assert "makes an environment of its own" in told_of(run)


@pytest.mark.skipif(UV is None, reason="no uv beside this Python")
def test_uv_run_with_a_python_without_reenact_is_told(bench: Bench) -> None:
    env = in_project(bench)
    shutil.rmtree(bench.folder / ".venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bench.folder / ".venv")], check=True)
    run = bench.record(f"uv = {UV!r}\n{HEAD}show([uv, 'run', '--offline', 'python', 'worker.py'])", env=env)
    assert "None []" in run.text, run.text
    assert "has no reenact" in told_of(run)


def told_of(run: Run) -> str:
    assert not run.tape.processes
    return " ".join(note.text for note, _ in run.tape.notes)
