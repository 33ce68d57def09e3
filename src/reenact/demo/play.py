"""Plays the demo: every command is run as a user would run it, and its output shown as it is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TextIO

from reenact.demo.model import model
from reenact.errors import MissingExtraError, UsageError
from reenact.report.terminal import Paint
from reenact.tape.store import FOLDER as STORE
from reenact.testing import ModelServer

FOLDER = "reenact-demo"
AGENT = "agent.py"
WORD = ("careful", "careless")
_TRIES = 100


class OffScriptError(Exception):
    """A command of the demo did not do what the demo tells."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the demo is played: the folder with the agent, and where it is told."""

    folder: Path
    out: TextIO
    paint: Paint

    def say(self, *lines: str) -> None:
        """Lines of narration."""
        self.out.write("".join(f"{line}\n" for line in lines))
        self.out.flush()

    def head(self, title: str, *lines: str) -> None:
        """Begins a scene."""
        self.say("", self.paint.bold(title), *lines)

    def run(self, *words: str, env: Mapping[str, str] | None = None, status: int = 0) -> None:
        """Runs a command of reenact in the folder and shows it.

        Raises:
            OffScriptError: it does not exit with this status.
        """
        self.say(self.paint.name(f"$ reenact {' '.join(words)}"))
        # -P: the folder of the agent is not for us to import from
        argv = [sys.executable, "-P", "-m", "reenact", *words]
        done = subprocess.run(argv, cwd=self.folder, env=env, check=False)  # noqa: S603
        if done.returncode != status:
            raise OffScriptError(f"its exit status should be {status} and is {done.returncode}")


def play(folder: Path | None, out: TextIO, paint: Paint) -> int:
    """The whole demo, in a folder that is made for it; 0 when all went as it is told.

    Raises:
        MissingExtraError: the SDK that the agent is built on is not installed.
        UsageError: there is no place for the folder.
    """
    if importlib.util.find_spec("openai") is None:
        raise MissingExtraError("openai", "demo")
    stage = Stage(furnish(folder), out, paint)
    try:
        _scenes(stage)
    except OffScriptError as error:
        stage.say("", f"This did not go as it should: {error}. The folder {stage.folder} is left as it is.")
        return 1
    return 0


def _scenes(stage: Stage) -> None:
    shown = os.path.relpath(stage.folder)
    stage.say(
        stage.paint.bold(f"1. Record an agent that knows nothing of reenact: {shown}/{AGENT}"),
        "It asks a model, which is played on this machine: no network, no key, no cost.",
    )
    with ModelServer(model) as server:
        stage.run("record", AGENT, env=_environment(server))
    stage.head("2. The model is gone now. See what happened")
    stage.run("show", "last")
    stage.head("3. Run the agent again, with nobody there to answer it")
    stage.run("replay", "last")
    stage.run("verify", "last")
    stage.head(f"4. Change one word of its prompt, {WORD[0]!r} to {WORD[1]!r}")
    with _one_word_changed(stage.folder / AGENT):
        stage.run("verify", "last", status=1)
    stage.head(
        f"Now you, in {shown}",
        "  reenact verify last            VERIFIED again: the word is back in its place",
        "  reenact record your_agent.py   your own agent, as it is, with its SDK and keys",
    )


def furnish(chosen: Path | None) -> Path:
    """A new folder with the agent and a store in it: the chosen one, else the first free `reenact-demo` here.

    Raises:
        UsageError: the chosen one holds something, or none can be made.
    """
    places = (
        [chosen] if chosen else [Path(FOLDER + (f"-{number}" if number > 1 else "")) for number in range(1, _TRIES)]
    )
    place = next((place for place in places if not place.exists()), None)
    if place is None:
        raise UsageError(f"{places[-1]} is there already; name a new folder for the demo")
    try:
        (place / STORE).mkdir(parents=True)
        (place / ".gitignore").write_text("*\n", "utf-8")
        (place / AGENT).write_text(resources.files(__package__).joinpath(f"{AGENT}.txt").read_text("utf-8"), "utf-8")
    except OSError as error:
        raise UsageError(f"cannot make {place}: {error.strerror}; name another folder for the demo") from error
    return place.absolute()


@contextmanager
def _one_word_changed(path: Path) -> Iterator[None]:
    source = path.read_text("utf-8")
    path.write_text(source.replace(*WORD, 1), "utf-8")
    try:
        yield
    finally:
        path.write_text(source, "utf-8")


def _environment(server: ModelServer) -> dict[str, str]:
    ours = {"OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": "none-is-needed", "NO_PROXY": "127.0.0.1"}
    return {**os.environ, **ours}
