"""What stands in front of a program in a command line, and what is behind it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from reenact.launch import fronts, shell

PYTHON = "python x.py"
BEHIND = {
    PYTHON: (0, True),
    "env A=1 B=c=d python x.py": (3, True),
    "env -u A -C /tmp python x.py": (5, False),
    "env - python x.py": (2, False),
    "env PATH=/bin python x.py": (2, False),
    "nohup -- python x.py": (2, True),
    "nice -10 python x.py": (2, True),
    "nice -n5 ionice -c 2 -n 7 python x.py": (7, True),
    "timeout --kill-after=3 -s KILL 10 python x.py": (5, True),
    "timeout -k 3 10 env A=1 stdbuf -oL -e 0 python x.py": (10, True),
    "taskset -c 0,1 python x.py": (3, True),
    "poetry -q run python x.py": (3, False),
}


def words(line: str) -> list[shell.Word]:
    return list(map(shell.word, shlex.split(line)))


@pytest.mark.parametrize("line", BEHIND)
def test_what_is_behind_is_found(line: str) -> None:
    at, sure = BEHIND[line]
    seen = fronts.behind(words(line), "/", {})
    assert (seen.own, seen.at, seen.sure, seen.why) == (["python", "x.py"], at, sure, "")


NOT = {
    "env --unheard-of python x.py": "option of `env`",
    "timeout --unheard-of 10 python x.py": "option of `timeout`",
    "xargs -n 1 python x.py": "`xargs`",
    "uvx tool": "`uvx` makes an environment",
    "uv tool run tool": "`uv tool run` makes an environment",
    "uv run --unheard-of python x.py": "option of `uv`",
    "uv run --no-project python x.py": "no environment yet",
    "pdm run test": "with `pdm run python …`",
    "bash -xc 'python x.py'": "option of `bash`",
}


@pytest.mark.parametrize("line", NOT)
def test_what_is_not_known_is_told(line: str, tmp_path: Path) -> None:
    assert NOT[line] in fronts.behind(words(line), str(tmp_path), {}).why


@pytest.mark.parametrize(
    "line", ["uv sync", "env", "nice", "make test", "xargs rm", "bash x.sh", "timeout 10", "git -c a=b log"]
)
def test_what_has_no_python_is_let_be(line: str) -> None:
    seen = fronts.behind(words(line), "/", {})
    assert (seen.why, seen.text) == ("", -1)


def test_what_a_builtin_of_the_shell_starts(tmp_path: Path) -> None:
    for line, at in (("exec python x.py", 1), ("time -p python x.py", 2), ("command python x.py", 1)):
        seen = fronts.behind(words(line), str(tmp_path), {}, line=True)
        assert (seen.own, seen.since) == (["python", "x.py"], at)
    assert fronts.behind(words("command -v python"), str(tmp_path), {}, line=True).own == []


@pytest.mark.parametrize(
    ("line", "text", "sure"),
    [
        ("bash -c 'python x.py'", 2, True),
        ("bash -o pipefail -ec 'python x.py' name", 4, True),
        ("/bin/bash -lc 'python x.py'", 2, False),
        ("zsh -c 'python x.py'", 2, False),
        ("timeout 10 sh -c 'python x.py'", 4, True),
    ],
)
def test_the_command_line_of_a_shell(line: str, text: int, sure: bool) -> None:
    seen = fronts.behind(words(line), "/", {})
    assert (seen.text, seen.sure) == (text, sure)


def test_statuses_are_the_programs_own_as_far_as_they_are() -> None:
    statuses = {
        line: fronts.behind(words(line), "/", {}).statuses
        for line in (PYTHON, f"timeout 9 {PYTHON}", f"setsid {PYTHON}")
    }
    assert [124 in one for one in statuses.values()] == [True, False, False]
    assert [7 in one for one in statuses.values()] == [True, True, False]


def test_uv_run_of_a_script_and_a_module_is_python(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "x.py").touch()
    for line in ("uv run x.py one", "uv --offline run -q x.py one"):
        seen = fronts.behind(words(line), str(tmp_path), {})
        assert (seen.own, seen.why, seen.sure) == (["python", "x.py", "one"], "", False)
    seen = fronts.behind(words("uv run --extra e -m x one"), str(tmp_path), {})
    assert (seen.own, seen.words[seen.at].value) == (["python", "-m", "x", "one"], "-m")


def test_words_that_the_shell_expands_are_not_taken_for_known() -> None:
    (simple,) = shell.commands('env A="$B" C=$D python x.py') or []
    assert [word.sets for word in simple.words[1:3]] == ["A", ""]
    assert fronts.behind(simple.words, os.sep, {}, line=True).why == fronts.EXPANDED
    (simple,) = shell.commands("timeout $T python x.py") or []
    assert fronts.behind(simple.words, os.sep, {}, line=True).why == fronts.EXPANDED
