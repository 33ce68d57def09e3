"""Stands before a program of which it is not known beforehand whether it is a Python that can join: looks, becomes it.

`python -m reenact.launch.doorkeeper INVITATION WORDS…`, started by a login shell, `uv run` and the like, finds the
program as they would. Whatever comes, that is what this process then is.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from reenact.launch.invitation import Env, Invitation, search_in, turned_off, why_not

_NOT_FOUND, _NOT_RUNNABLE = 127, 126  # exit statuses of a shell (POSIX, 2.8.2)
_OURS_TO_IGNORE = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")  # what Python ignores from its start, and hands on


def main() -> NoReturn:
    """Becomes the program that the command line names."""
    text, *words = sys.argv[1:]
    env = dict(os.environ)
    missing: list[str] = []
    try:
        invitation = Invitation.read(text)
    except ValueError as error:
        sys.stderr.write(f"reenact: {error}\n")
    else:
        missing = invitation.missing
        try:
            env |= _welcomed(invitation, words, env)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            _fault(invitation, words[0], error)
    _become(words, env, missing)


def _welcomed(invitation: Invitation, words: list[str], env: Env) -> Env:
    """The variables with which it joins; none where it does not, and the run is told why."""
    if turned_off(env):
        return _declined(invitation, "")
    why = why_not(words, None, search_in(env), str(Path.cwd()))
    return invitation.variables(env) if why == "" else _declined(invitation, why or "")


def _declined(invitation: Invitation, why: str) -> Env:
    from reenact.launch.gathering import decline  # noqa: PLC0415  what joins need not wait for it

    decline(Path(invitation.tape), invitation.lane, why)
    return {}


def _fault(invitation: Invitation, name: str, error: Exception) -> None:
    from reenact.launch.parent import faults_told  # noqa: PLC0415  as above

    with faults_told(Path(invitation.tape), name):
        raise error


def _become(words: list[str], env: Env, missing: list[str]) -> NoReturn:
    for name in _OURS_TO_IGNORE:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvpe(words[0], words, env)  # noqa: S606  what would have been started
    except FileNotFoundError:
        if missing:
            _become(missing, env, [])
        sys.stderr.write(f"{words[0]}: command not found\n")
        sys.exit(_NOT_FOUND)
    except OSError as error:
        sys.stderr.write(f"{words[0]}: {error.strerror}\n")
        sys.exit(_NOT_RUNNABLE)


if __name__ == "__main__":
    main()
