"""Command lines: every shape in which a Python program is started, and what cannot be recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reenact.errors import UsageError
from reenact.launch.command import Command, parse

PYTHON = sys.executable


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a script, a package, and an environment of its own in ./venv and on the PATH."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("import sys; print(sys.argv)")
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").symlink_to(PYTHON)
    for name in ("python", "python3", "python3.12", "python3.13t", "pypy3"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).symlink_to(PYTHON)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


# Scripts


def test_a_script_is_run_by_the_python_that_runs_us(folder: Path) -> None:
    assert parse(("agent.py", "--city", "Oslo")) == Command(PYTHON, (), ("agent.py", "--city", "Oslo"))


def test_a_script_may_lie_anywhere(folder: Path) -> None:
    whole = str(script(folder / "deep" / "er" / "my agent.py", ""))
    for path in (whole, "deep/er/my agent.py", "./deep/er/my agent.py"):
        command = parse((path,))
        assert command == Command(PYTHON, (), (path,))
        assert command.name == "my agent"


@pytest.mark.parametrize("name", ["agent.pyz", "agent.pyw"])
def test_other_suffixes_of_python_are_scripts(folder: Path, name: str) -> None:
    script(folder / name, "")
    assert parse((name,)).target == (name,)


def test_a_folder_with_a_main_module_is_a_program(folder: Path) -> None:
    script(folder / "app" / "__main__.py", "")
    assert parse(("app", "x")) == Command(PYTHON, (), ("app", "x"))
    assert parse(("app",)).name == "app"


def test_a_script_without_suffix_is_known_by_its_first_line(folder: Path) -> None:
    for first in ("#!/usr/bin/env python3", "#!/usr/bin/python", "#! /usr/bin/env -S python3 -u"):
        script(folder / "tool", f"{first}\nprint()\n")
        assert parse(("./tool", "x")) == Command(PYTHON, (), ("./tool", "x"))


def test_arguments_of_the_script_are_its_own(folder: Path) -> None:
    words = ("agent.py", "-m", "x", "-c", "y", "--", "-", "", "-X", "a b")
    assert parse(words).argv == [PYTHON, *words]


# Python command lines


@pytest.mark.parametrize(
    ("words", "flags", "target"),
    [
        ("agent.py", "", "agent.py"),
        ("-u agent.py -v", "-u", "agent.py -v"),
        ("-X dev agent.py", "-X dev", "agent.py"),
        ("-Xdev -Wignore agent.py", "-Xdev -Wignore", "agent.py"),
        ("-W error::UserWarning -X utf8=1 agent.py", "-W error::UserWarning -X utf8=1", "agent.py"),
        ("--check-hash-based-pycs never agent.py", "--check-hash-based-pycs never", "agent.py"),
        ("-m pkg.mod --flag", "", "-m pkg.mod --flag"),
        ("-mpkg.mod --flag", "", "-mpkg.mod --flag"),
        ("-X dev -m pytest -q -x", "-X dev", "-m pytest -q -x"),
        ("-c print(1) -m x", "", "-c print(1) -m x"),
        ("-I -O -B -c pass", "-I -O -B", "-c pass"),
        ("-OO agent.py", "-OO", "agent.py"),
        ("-X m agent.py", "-X m", "agent.py"),
        ("-W c agent.py", "-W c", "agent.py"),
    ],
)
def test_a_python_command_line_is_taken_apart(folder: Path, words: str, flags: str, target: str) -> None:
    command = parse(("python", *words.split()))
    assert command.flags == tuple(flags.split())
    assert command.target == tuple(target.split())
    assert command.argv == [str(folder / "bin" / "python"), *words.split()]


@pytest.mark.parametrize("words", ["-um json.tool", "-Ic print(1)", "-uX dev agent.py", "-- agent.py"])
def test_a_command_line_in_another_form_is_still_the_same(folder: Path, words: str) -> None:
    """Whatever is taken for what: the command that is run is the one that was given."""
    assert parse(("python", *words.split())).argv[1:] == words.split()


@pytest.mark.parametrize("name", ["python", "python3", "python3.12", "python3.13t", "pypy3"])
def test_every_name_of_python_is_known(folder: Path, name: str) -> None:
    assert parse((name, "agent.py")) == Command(str(folder / "bin" / name), (), ("agent.py",))


def test_the_python_of_an_environment_stays_that_environments(folder: Path) -> None:
    """Its path is made absolute, since a replay may start elsewhere; links are not followed, they say which it is."""
    expected = str(folder / "venv" / "bin" / "python")
    for path in ("./venv/bin/python", "venv/bin/python", expected):
        assert parse((path, "agent.py")).python == expected


def test_where_no_python_is_on_the_path_ours_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder / "nothing"))
    with pytest.raises(UsageError, match="python: no such script"):
        parse(("python", "agent.py"))
    assert parse(("agent.py",)).python == PYTHON


# Modules


def test_a_module_is_run_by_the_python_that_runs_us() -> None:
    assert parse(("-q", "-x"), module="pytest") == Command(PYTHON, (), ("-m", "pytest", "-q", "-x"))
    assert parse((), module="pkg.mod").argv == [PYTHON, "-m", "pkg.mod"]


# Installed commands


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("#!{python}\n", id="direct"),
        pytest.param("#! {python} -E\n", id="with-option"),
        pytest.param("#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n", id="long-path"),
        pytest.param("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n", id="long-path-quoted"),
    ],
)
def test_an_installed_command_is_run_by_its_own_environment(folder: Path, first: str) -> None:
    python = folder / "venv" / "bin" / "python"
    script(folder / "bin" / "tool", first.format(python=python) + "import sys\n")
    assert parse(("tool", "-x")) == Command(str(python), (), (str(folder / "bin" / "tool"), "-x"))
    assert parse(("tool",)).name == "tool"


def test_an_installed_command_of_whatever_python_is_run_by_ours(folder: Path) -> None:
    for first in ("#!/usr/bin/env python3\n", "#!/gone/venv/bin/python\n"):
        script(folder / "bin" / "tool", first)
        assert parse(("tool",)).python == PYTHON


# What cannot be recorded


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "nothing to run"),
        ("python", "an interactive interpreter cannot be recorded"),
        ("python -i", "an interactive interpreter cannot be recorded"),
        ("python -X dev", "an interactive interpreter cannot be recorded"),
        ("python -X", "an interactive interpreter cannot be recorded"),
        ("python -V", "an interactive interpreter cannot be recorded"),
        ("python -", "read from standard input cannot be recorded"),
        ("python -u - x", "read from standard input cannot be recorded"),
        ("gone.py", r"gone\.py: no such script"),
        ("nowhere/agent.py", "no such script"),
        ("-x", "-x: no such script"),
        ("notes.txt", r"notes\.txt: is no Python script"),
        ("folder", "folder: no such script"),
        ("tool", "is not a Python program"),
        ("binary", "is not a Python program"),
    ],
)
def test_what_is_no_python_program_is_refused_with_a_reason(folder: Path, words: str, message: str) -> None:
    (folder / "notes.txt").write_text("text")
    (folder / "folder").mkdir()
    script(folder / "bin" / "tool", "#!/bin/sh\necho python\n")
    script(folder / "bin" / "binary", "\x7fELF python")
    with pytest.raises(UsageError, match=message):
        parse(tuple(words.split()))


# What a run is called


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("agent.py", "agent"), ("/srv/my.agent.py", "my.agent"), ("-m pytest", "pytest"), ("-m pkg.sub.mod", "mod"),
        ("-mpkg.mod", "mod"), ("-c print(1)", "command"), ("-cprint(1)", "command"), ("app", "app"), ("", "python"),
        ("-m", "module"), ("./tool", "tool"),
    ],
)  # fmt: skip
def test_a_run_is_called_after_what_it_runs(target: str, name: str) -> None:
    assert Command(PYTHON, (), tuple(target.split())).name == name


# And it runs


@pytest.mark.parametrize("words", ["agent.py a -x", "python -u agent.py a -x", "python -X utf8 agent.py a -x"])
def test_what_is_parsed_runs_as_it_was_meant(folder: Path, words: str) -> None:
    done = subprocess.run(parse(tuple(words.split())).argv, capture_output=True, text=True, check=True)
    assert done.stdout == "['agent.py', 'a', '-x']\n"
