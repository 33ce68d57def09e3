"""Lets the Pythons that a recorded run starts record themselves: what they find in their environment, and where.

Whether a command is a Python that has reenact is known from looking at it. Nothing is started to find out, and no other
program sees that it is recorded: in a command line of the shell, the variables are set for the Pythons in it alone.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from reenact import __version__
from reenact.errors import UsageError
from reenact.launch import command, interpreter, shell, world
from reenact.launch.reexec import is_tooling
from reenact.launch.sampling import is_off
from reenact.seams.system.joining import Joined, Start
from reenact.tape.vault import Vault

JOIN = "REENACT_JOIN"
"""The environment variable that holds the invitation of a process that a recorded run starts."""

CHILDREN = "REENACT_CHILDREN"
"""The environment variable that keeps what is started from joining, with a value that turns things off."""

NOWHERE = (0, 0)  # where nobody sees what is written
_SEED = "PYTHONHASHSEED"
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
_MAKE_IT_ANOTHER = frozenset(("source", ".", "eval", "export", "set", "unset", "alias", "command", "conda", "pyenv"))
_NO_SITE = re.compile(r"-[a-zA-VYZ]*S")
_ASKS_ONLY = re.compile(r"-[a-zA-VYZ]*[Vh?]|--(version|help.*)$")

Env = dict[str, str]


class Invitation(msgspec.Struct, frozen=True):
    """What a process gets along. `tape` is that of the process that starts it, `lane` its main lane in there.

    `run` is the id of the run that it is part of, `store` the folder of that run's tape, `began` when it began
    (monotonic, ns). `hash_seed` is PYTHONHASHSEED as the program is to see it. `outputs` are device and number of
    stdout and stderr of the run: by that a process knows whether its own are the same. `coerced`: it is given no
    LC_CTYPE, and may set one itself (PEP 538). `vault` is handed on.
    """

    reenact: str
    tape: str
    store: str
    run: str
    lane: str
    began: int
    hash_seed: str | None
    outputs: list[tuple[int, int]]
    vault: str
    deep: bool = False
    coerced: bool = False


class Inviting:
    """Of one run, whose tape is being written."""

    def __init__(self, tape: Path, store: Path, run: str, began: int, vault: Vault, *, deep: bool) -> None:
        self._tape = tape
        self._store = store
        self._run = run
        self._began = began
        self._vault = vault
        self._deep = deep

    def __call__(self, start: Start, lanes: Iterator[str]) -> Joined:
        """As `seams.system.joining.Join`."""
        given = os.environ if start.env is None else start.env
        env = {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
        if is_off(env) or is_off(env, CHILDREN):
            return Joined(start, [])
        cwd = os.path.abspath(os.fsdecode(start.cwd or "."))  # noqa: PTH100  resolve() follows links
        return (self._in_shell if start.shell else self._alone)(start, env, cwd, lanes)

    def _alone(self, start: Start, env: Env, cwd: str, lanes: Iterator[str]) -> Joined:
        executable = os.fsdecode(start.executable) if start.executable is not None else None
        why = _why_not(start.words, executable, env, cwd)
        if why is None or why:
            return Joined(start, [], why or "")
        lane = next(lanes)
        return Joined(replace(start, env=env | self._along(start, lane, env)), [lane])

    def _in_shell(self, start: Start, env: Env, cwd: str, lanes: Iterator[str]) -> Joined:
        text, *rest = start.words
        plain = start.executable is None or Path(os.fsdecode(start.executable)).name in _SHELLS
        found = shell.commands(text) if plain else None
        if found is None:
            return Joined(start, [], "its command line is not plain enough to find it" if "python" in text else "")
        joined: list[str] = []
        pieces, end, why, another = [], 0, "", False
        for simple in found:
            name = simple.words[0] if simple.words else None
            another = another or not simple.words or name is None or name in _MAKE_IT_ANOTHER
            if name == "cd" and len(simple.words) == 2 and simple.words[1] is not None:
                cwd = os.path.join(cwd, simple.words[1])  # noqa: PTH118  it is text
            reason = None if name is None else _why_not([word or "" for word in simple.words], None, env, cwd)
            if reason is None:
                continue
            if another or _SEED in simple.sets:
                reason = reason or "what stands before it in its command line may make it another Python"
            if reason:
                why = why or reason
                continue
            joined.append(next(lanes))
            sets = self._along(start, joined[-1], env).items()
            pieces += [text[end : simple.at], *(f"{key}={shlex.quote(value)} " for key, value in sets)]
            end = simple.at
        if not joined:
            return Joined(start, [], why)
        altered = "".join([*pieces, text[end:]])
        args = [altered, *rest] if rest else altered
        return Joined(replace(start, args=args), joined, why, whole=len(found) == 1)

    def _along(self, start: Start, lane: str, env: Env) -> Env:
        given = env.get(_SEED)
        outputs = [identity(1), identity(2)]
        invitation = Invitation(
            __version__,
            str(self._tape),
            str(self._store),
            self._run,
            lane,
            self._began,
            given,
            outputs,
            self._vault.hand_on(),
            deep=self._deep,
            coerced="LC_CTYPE" not in env,
        )
        return {JOIN: msgspec.json.encode(invitation).decode(), _SEED: world.hash_seed(given)}


def _why_not(words: list[str], executable: str | None, env: Env, cwd: str) -> str | None:
    """Why a child that is started so does not join; empty if it does, None for another program than a Python."""
    try:
        found = command.started(words, executable, env.get("PATH", os.defpath), cwd)
    except UsageError:
        asks = any(map(_ASKS_ONLY.match, words[1:]))
        return None if asks else "what it runs comes from its standard input"
    if found is None:
        return None
    if is_tooling(list(found.target)):
        return "reenact and pip are never recorded"
    if any(map(_NO_SITE.match, found.flags)):
        return "with -S, Python does not read reenact's start-up hook"
    return interpreter.lacks(found.python)


def identity(descriptor: int) -> tuple[int, int]:
    """What tells whether two processes write to the same."""
    try:
        about, nothing = os.fstat(descriptor), os.stat(os.devnull)  # noqa: PTH116  nobody's path
    except OSError:
        return NOWHERE
    return (about.st_dev, about.st_ino) if about.st_rdev != nothing.st_rdev else NOWHERE
