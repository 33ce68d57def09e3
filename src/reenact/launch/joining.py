"""Lets the Pythons that a recorded run starts record themselves: what they find in their environment, and where.

Whether a command is a Python that has reenact is known from looking at it, or is left to a doorkeeper of ours, who
looks when it is started. No other program sees that it is recorded, but for those that do no more than start one.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from reenact import __version__
from reenact.launch import command, fronts, shell
from reenact.launch.fronts import Seen
from reenact.launch.invitation import Env, Invitation, turned_off, why_not
from reenact.launch.shell import Simple, Word
from reenact.seams.system.joining import Joined, Start
from reenact.tape.vault import Vault

NOWHERE = (0, 0)  # where nobody sees what is written
_DOORKEEPER = ("-E", "-P", "-m", "reenact.launch.doorkeeper")
_MAKE_IT_ANOTHER = frozenset(("source", ".", "unset", "conda", "mamba", "pyenv"))
_MAKE_IT_ANYTHING = frozenset(("eval", "alias"))
_HARMLESS_SET = re.compile(r"[-+][befhmu]*o?|pipefail|errexit|nounset|noglob")

MADE_ANYTHING = "what stands before it in its command line may make it another program, or show what we add"


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
        if turned_off(env):
            return Joined(start, [])
        cwd = os.path.abspath(os.fsdecode(start.cwd or "."))  # noqa: PTH100  resolve() follows links
        party = _Party(self, lanes, env)
        return party.in_shell(start, cwd) if start.shell else party.alone(start, cwd)

    def to(self, lane: str) -> Invitation:
        """An invitation to that lane."""
        outputs = [identity(1), identity(2)]
        tape, store = str(self._tape), str(self._store)
        vault = self._vault.page
        return Invitation(__version__, tape, store, self._run, lane, self._began, outputs, deep=self._deep, vault=vault)


class _Edit(NamedTuple):
    """Before the word of that number come these; or that one is another."""

    word: int
    before: Sequence[str] = ()
    instead: str | None = None


class _Party:
    """The Pythons that one child is, or starts: those that join, on which lanes, and why others do not."""

    def __init__(self, inviting: Inviting, lanes: Iterator[str], env: Env) -> None:
        self._inviting = inviting
        self._free = lanes
        self._env = env
        self._why = ""
        self._lanes: list[str] = []

    def alone(self, start: Start, cwd: str) -> Joined:
        """A child that is started by its words."""
        words = start.words
        executable = os.fsdecode(start.executable) if start.executable is not None else None
        edits, statuses = self._command(list(map(shell.word, words)), cwd, executable)
        for edit in edits:
            if edit.instead is not None:
                words[edit.word] = edit.instead
            elif edit.word == 0:
                start = replace(start, env=self._env | dict(_pair(word) for word in edit.before))
            else:
                words[edit.word : edit.word] = edit.before
        if words != start.words:
            start = replace(start, args=words)
        return Joined(start, self._lanes, self._why, statuses)

    def in_shell(self, start: Start, cwd: str) -> Joined:
        """A child that is a command line of the shell."""
        text, *rest = start.words
        name = Path(os.fsdecode(start.executable or "sh")).name
        if name not in fronts.SHELLS:
            self._missed(fronts.NOT_PLAIN, text)
            return Joined(start, [], self._why)
        shown = [os.fsdecode(start.executable or "/bin/sh"), *rest[:1]]
        altered, statuses = self._line(text, cwd, shown, sure=not fronts.reads_first(name, self._env))
        if self._lanes:
            start = replace(start, args=[altered, *rest] if rest else altered)
        return Joined(start, self._lanes, self._why, statuses)

    def _missed(self, why: str, text: str) -> None:
        """A Python may be missed, if the text has to do with one."""
        if fronts.mentions_python(text):
            self._why = self._why or why

    def _line(self, text: str, cwd: str, shown: list[str], *, sure: bool = True) -> tuple[str, range]:
        """A command line as it has to be; and the exit statuses that are a Python's.

        `shown` is the shell, and what it calls itself where that is another name.
        """
        found = shell.commands(text)
        if found is None:
            self._missed(fronts.NOT_PLAIN, text)
            return text, fronts.NONE
        pieces, end, statuses = [], 0, fronts.NONE
        for simple in found:
            words = simple.words
            name = words[0].value if words else None
            if name in _MAKE_IT_ANYTHING or (name == "set" and not _is_harmless(words[1:])):
                self._missed(MADE_ANYTHING, text[end:])
                break
            if name == "cd" and len(words) == 2 and words[1].value is not None:
                cwd = os.path.join(cwd, words[1].value)  # noqa: PTH118  it is text
            if name is not None:
                missing = [shown[0], "-c", "\n" * text.count("\n", 0, words[0].at) + shlex.quote(name), *shown[1:]]
                edits, statuses = self._command(words, cwd, sure=sure and not _decides(simple), missing=missing)
                for edit in edits:
                    word = words[edit.word]
                    pieces += [text[end : word.at], _typed(edit)]
                    end = word.at if edit.instead is None else word.end
            sure = sure and not _changes(simple, name)
        if len(found) != 1 or found[0].operator == "&":
            statuses = fronts.NONE
        return "".join([*pieces, text[end:]]), fronts.both(statuses, fronts.OF_SHELL)

    def _command(
        self,
        words: list[Word],
        cwd: str,
        executable: str | None = None,
        *,
        sure: bool = True,
        missing: Sequence[str] = (),
    ) -> tuple[list[_Edit], range]:
        """What is to be changed of a command, so that the Python in it joins; and the exit statuses that are its.

        One of a shell says by `missing` that it is not there.
        """
        seen = fronts.behind(words if executable is None else (), cwd, self._env, line=bool(missing))
        if executable is not None:
            seen.words = words  # which need not be those of a program of that name
        sure = sure and seen.sure
        if seen.why:
            self._why = self._why or seen.why
            return [], fronts.NONE
        if seen.text >= 0:
            text = words[seen.text].value or ""
            altered, statuses = self._line(text, seen.cwd, seen.shown, sure=sure)
            edits = [_Edit(seen.text, instead=altered)] if altered != text else []
            return edits, fronts.both(statuses, seen.statuses)
        if not seen.own or not seen.own[0]:
            return [], fronts.NONE
        if sure:
            at, before = seen.since, self._invited(seen, executable if seen.at == 0 else None)
        else:
            at, before = seen.at, self._asked(seen, missing if seen.at == 0 else ())
        return [_Edit(at, before)] if before else [], seen.statuses

    def _invited(self, seen: Seen, executable: str | None) -> list[str]:
        """What stands before a program that is known: variables for it; nothing where it does not join."""
        why = why_not(seen.own, executable, seen.search, seen.cwd)
        if why != "":
            self._why = self._why or why or ""
            return []
        variables = [f"{name}={value}" for name, value in self._next().variables(self._env).items()]
        return variables if seen.since == 0 or seen.within_env else ["env", *variables]

    def _asked(self, seen: Seen, missing: Sequence[str]) -> list[str]:
        """As `_invited`, of one that is known only when it is started: the doorkeeper, who decides it then."""
        named = command.names_interpreter(seen.own[0]) or seen.runner
        if not named and why_not(seen.own, None, seen.search, seen.cwd) is None:
            return []
        invitation = msgspec.structs.replace(self._next(), missing=list(missing))
        return [sys.executable, *_DOORKEEPER, invitation.word(), *(["python"] if seen.python else [])]

    def _next(self) -> Invitation:
        self._lanes.append(next(self._free))
        return self._inviting.to(self._lanes[-1])


def _decides(simple: Simple) -> bool:
    """Whether variables are set for a command by which it may be started otherwise."""
    return any(name.startswith(fronts.DECIDE) for name in simple.sets)


def _changes(simple: Simple, name: str | None) -> bool:
    """Whether `python` may be another Python after that command."""
    if not simple.words:
        return _decides(simple)
    if name == "export":
        return any(not word.sets or word.sets.startswith(fronts.DECIDE) for word in simple.words[1:])
    return name is None or name in _MAKE_IT_ANOTHER


def _is_harmless(words: Iterable[Word]) -> bool:
    """Whether `set` with these words changes neither what is started nor what is shown of it."""
    return all(_HARMLESS_SET.fullmatch(word.value or "") for word in words)


def _typed(edit: _Edit) -> str:
    """As one types it. What sets a variable has to begin with the plain name of it."""
    if edit.instead is not None:
        return shlex.quote(edit.instead)
    return "".join(f"{_quoted(word)} " for word in edit.before)


def _quoted(word: str) -> str:
    name, equals, value = word.partition("=")
    return f"{name}={shlex.quote(value)}" if equals and name.isidentifier() else shlex.quote(word)


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def identity(descriptor: int) -> tuple[int, int]:
    """What tells whether two processes write to the same."""
    try:
        about, nothing = os.fstat(descriptor), os.stat(os.devnull)  # noqa: PTH116  nobody's path
    except OSError:
        return NOWHERE
    return (about.st_dev, about.st_ino) if about.st_rdev != nothing.st_rdev else NOWHERE
