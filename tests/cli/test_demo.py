"""`reenact demo`: all of it on a small agent, and what is left for the reader to try."""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
from pathlib import Path

import pytest

from reenact.demo import play
from reenact.errors import MissingExtraError, UsageError
from reenact.report.terminal import Paint
from tests.cli.desk import Desk

LINES = 60  # what a newcomer reads without losing the thread, in 80 columns


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, str]:
    """A desk where the demo has been played, and what it told."""
    pytest.importorskip("openai")
    desk = Desk(tmp_path_factory.mktemp("demo"))
    done = desk.reenact("demo", env={"OPENAI_API_KEY": "sk-of-the-user", "HTTP_PROXY": "http://192.0.2.1:9"})
    assert done.returncode == 0, done.stdout + done.stderr
    return desk, done.stdout


def test_it_tells_its_story_in_order(played: tuple[Desk, str]) -> None:
    _, told = played
    assert len(told.splitlines()) < LINES
    assert told.index("$ reenact record agent.py") < told.index("$ reenact show last")
    assert told.index("$ reenact replay last") < told.index("VERIFIED  agent-") < told.index("DIVERGED  agent-")
    assert told.index("DIVERGED  agent-") < told.index("Now you")
    assert max(map(len, told.splitlines())) <= 100


@pytest.mark.slow
def test_it_fits_a_narrow_terminal(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    status, screen = Desk(tmp_path).at_terminal("demo", "d", env={"COLUMNS": "80"})
    lines = re.sub(r"\x1b\[[\d;]*m|\r[^\n]*\x1b\[K", "", screen).splitlines()
    assert status == 0
    assert len(lines) < LINES
    assert [line for line in lines if len(line) > 80] == []


def test_the_answer_of_the_replay_is_that_of_the_recording(played: tuple[Desk, str]) -> None:
    answers = [line for line in played[1].splitlines() if line.startswith("There is a table")]
    assert len(answers) == 2
    assert answers[0] == answers[1]


def test_the_change_is_named_by_step_line_and_word(played: tuple[Desk, str]) -> None:
    desk, told = played
    report = told[told.index("DIVERGED") :]
    source = (desk.folder / "reenact-demo" / "agent.py").read_text("utf-8").splitlines()
    line = next(number for number, text in enumerate(source, 1) if "completions.create(" in text)
    assert re.match(r"DIVERGED  agent-\w+ at step 1: ", report)
    assert f"agent.py:{line} in answer" in report
    assert 'The system prompt changed: "careful" became "careless".' in report


def test_what_it_says_to_try_next_works(played: tuple[Desk, str]) -> None:
    folder = Desk(played[0].folder / "reenact-demo")
    done = folder.reenact("verify", "last")
    assert done.returncode == 0
    assert done.stdout.startswith("VERIFIED")
    assert "not restored" not in done.stdout


def test_the_folder_is_kept_out_of_git(played: tuple[Desk, str]) -> None:
    assert (played[0].folder / "reenact-demo" / ".gitignore").read_text("utf-8") == "*\n"


def test_it_never_touches_a_folder_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [play.furnish(None).name for _ in range(3)] == ["reenact-demo", "reenact-demo-2", "reenact-demo-3"]
    assert play.furnish(Path("mine")) == tmp_path / "mine"
    with pytest.raises(UsageError, match="mine is there already"):
        play.furnish(Path("mine"))


def test_it_stops_where_something_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("openai")
    monkeypatch.setattr(subprocess, "run", lambda argv, **_: subprocess.CompletedProcess(argv, 3))
    out = io.StringIO()
    assert play.play(None, out, Paint()) == 1
    assert out.getvalue().count("$ reenact") == 1
    assert "its exit status should be 0 and is 3" in out.getvalue()


def test_without_the_sdk_it_tells_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtraError, match=r"openai is not installed.*pip install 'reenact\[demo\]'"):
        play.play(None, io.StringIO(), Paint())
    assert list(tmp_path.iterdir()) == []
