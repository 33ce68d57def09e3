"""The world of a run: what goes on tape, and what of it is told to be different now."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from reenact.errors import UsageError
from reenact.launch import ending, interpreter, restored, world
from reenact.launch.command import Command
from reenact.launch.settings import Settings
from reenact.tape.vault import Vault


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A program in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text("print()", "utf-8")
    return Command(sys.executable, (), ("agent.py",))


def test_nothing_is_different_at_once(command: Command) -> None:
    assert restored.cannot_restore(world.survey(command, "agent-0000", "agent", Vault())) == []


def test_what_is_different_is_told(command: Command, tmp_path: Path) -> None:
    manifest = world.survey(command, "agent-0000", "agent", Vault())
    packages = {**manifest.packages, "click": "1.0", "gone": "2.0"}
    del packages["msgspec"]
    then = msgspec.structs.replace(manifest, python="3.9.0", platform="amiga", packages=packages)
    (tmp_path / "agent.py").write_text("print(1)", "utf-8")
    now = manifest.packages
    assert restored.cannot_restore(then) == [
        f"Python was 3.9.0, now {manifest.python}",
        f"the platform was amiga, now {sys.platform}",
        f"click was 1.0, now {now['click']}",
        "gone was 2.0, now not installed",
        f"msgspec {now['msgspec']} was not installed",
        "agent.py has changed since the recording",
    ]


def test_what_is_gone_is_told(command: Command, tmp_path: Path) -> None:
    manifest = world.survey(command, "agent-0000", "agent", Vault())
    then = msgspec.structs.replace(manifest, executable="/no/python", cwd=str(tmp_path / "gone"))
    assert restored.cannot_restore(then) == [
        f"the interpreter /no/python is gone; replayed with {sys.executable}",
        f"the working directory {tmp_path}/gone is gone; replayed in {tmp_path}",
        "agent.py is gone",
    ]


def test_secrets_are_left_out_and_stood_in_for(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    manifest = world.survey(command, "agent-0000", "agent", Vault())
    assert b"sk-secret" not in msgspec.json.encode(manifest)
    stands = restored.environment_for(manifest)["OPENAI_API_KEY"]
    assert stands != "sk-secret"
    assert len(stands) == len("sk-secret")
    assert manifest.secrets == sorted({"OPENAI_API_KEY", *manifest.secrets})


def test_another_interpreter_is_asked(tmp_path: Path) -> None:
    # a link in another folder may belong to another virtual environment, so it is started and asked
    other = tmp_path / "python"
    other.symlink_to(sys.executable)
    found, ours = interpreter.of(str(other)), interpreter.of(sys.executable)
    assert found.version == ours.version
    assert interpreter.of(str(tmp_path / "nothing")) == interpreter.Interpreter("", {})


def test_packages_are_those_that_are_installed() -> None:
    packages = interpreter.of(sys.executable).packages
    assert {name: metadata.version(name) for name in packages} == packages
    assert "pytest" in packages


def test_the_hook_is_looked_for_in_the_interpreter_that_runs() -> None:
    assert interpreter.has_hook(sys.executable)
    assert not interpreter.has_hook(sys.executable, ("-S",))


def test_settings_are_those_of_the_nearest_project_that_has_some(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.reenact]\nnormalizers = []\n[tool.other]\nx = 1\n", "utf-8")
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")
    assert Settings.near(below) == Settings(tmp_path, {"normalizers": []})
    (below / "pyproject.toml").write_text("[tool", "utf-8")
    with pytest.raises(UsageError, match=r"pyproject\.toml cannot be read"):
        Settings.near(below)


def test_modules_of_the_project_can_be_imported_for_a_while(tmp_path: Path) -> None:
    with Settings(tmp_path, {}).importable():
        assert sys.path[0] == str(tmp_path)
    assert str(tmp_path) not in sys.path


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit status 0"), (3, "exit status 3"), (-9, "killed by SIGKILL"), (-200, "killed by signal 200"),
     (None, "exit status unknown"), (-999, "exit status unknown")],
)  # fmt: skip
def test_an_exit_status_in_words(status: int | None, words: str) -> None:
    assert ending.told(status) == words
