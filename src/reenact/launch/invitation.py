"""What a Python that a recorded run starts finds in its environment, if it is to join the run.

Light: a Python that stands in the doorway (`doorkeeper`) loads it, too.
"""

from __future__ import annotations

import base64
import binascii
import os
import re

import msgspec

from reenact import __version__
from reenact.errors import UsageError
from reenact.launch import command, interpreter, seed
from reenact.launch.reexec import is_tooling
from reenact.launch.sampling import is_off

JOIN = "REENACT_JOIN"
"""The environment variable that holds the invitation of a process that a recorded run starts."""

CHILDREN = "REENACT_CHILDREN"
"""The environment variable that keeps what is started from joining, with a value that turns things off."""

_ASKS_ONLY = re.compile(r"-[a-zA-VYZ]*[Vh?]|--(version|help.*)$")

Env = dict[str, str]


class Invitation(msgspec.Struct, frozen=True):
    """What a process gets along. `tape` is that of the process that starts it, `lane` its main lane in there.

    `run` is the id of the run that it is part of, `store` the folder of that run's tape, `began` when it began
    (monotonic, ns). `hash_seed` is PYTHONHASHSEED as the program is to see it. `outputs` are device and number of
    stdout and stderr of the run: by that a process knows whether its own are the same. `coerced`: it is given no
    LC_CTYPE, and may set one itself (PEP 538). `missing` is a command that says that there is no such program, as who
    would have started it says that; empty for none. `vault` is the page from which it is
    handed on.
    """

    reenact: str
    tape: str
    store: str
    run: str
    lane: str
    began: int
    outputs: list[tuple[int, int]]
    hash_seed: str | None = None
    deep: bool = False
    coerced: bool = False
    missing: list[str] = []
    vault: str = ""

    def variables(self, env: Env) -> Env:
        """What is added to that environment."""
        given = env.get(seed.NAME)
        own = msgspec.structs.replace(self, hash_seed=given, coerced="LC_CTYPE" not in env)
        return {JOIN: msgspec.json.encode(own).decode(), seed.NAME: seed.chosen(given)}

    def word(self) -> str:
        """As one word of a command line, which no shell changes anything of."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode()

    @classmethod
    def read(cls, word: str) -> Invitation:
        """What `word` made a word of.

        Raises:
            ValueError: it is none, or that of another version of reenact.
        """
        try:
            found = msgspec.json.decode(base64.urlsafe_b64decode(word), type=cls)
        except (binascii.Error, msgspec.MsgspecError) as error:
            raise ValueError(f"no invitation: {error}") from error
        if found.reenact != __version__:
            raise ValueError(f"an invitation of reenact {found.reenact}")
        return found


def turned_off(env: Env) -> bool:
    """Whether what is started in that environment is to be left alone."""
    return is_off(env) or is_off(env, CHILDREN)


def why_not(words: list[str], executable: str | None, search: str, cwd: str) -> str | None:
    """Why a child that is started so does not join; empty if it does, None for another program than a Python.

    It is looked for on the PATH `search`.
    """
    try:
        found = command.started(words, executable, search, cwd)
    except UsageError:
        asks = any(map(_ASKS_ONLY.match, words[1:]))
        return None if asks else "what it runs comes from its standard input"
    if found is None:
        return None
    if is_tooling(list(found.target)):
        return "reenact and pip are never recorded"
    if any(map(interpreter.NO_SITE.match, found.flags)):
        return "with -S, Python does not read reenact's start-up hook"
    return interpreter.lacks(found.python)


def search_in(env: Env) -> str:
    """Where programs are looked for."""
    return env.get("PATH", os.defpath)
