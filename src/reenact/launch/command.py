"""A Python command line, taken apart: the interpreter's options, and what it runs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reenact.errors import UsageError

_INTERPRETER = re.compile(r"^(python|pypy)(\d+(\.\d+)*)?t?(\.exe)?$")
# what pip writes when the path is too long for a #! line
_LONG_SHEBANG = re.compile(rb"#!/bin/sh\n'''exec' \"?(?P<python>[^\"\n]*python[\d.]*t?)\"?\s")
_OPTIONS_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_ENDS_OPTIONS = ("-c", "-m")


class Command(msgspec.Struct, frozen=True):
    """`python *flags *target`."""

    python: str
    flags: tuple[str, ...]
    target: tuple[str, ...]

    @property
    def argv(self) -> list[str]:
        """The command line."""
        return [self.python, *self.flags, *self.target]

    @property
    def name(self) -> str:
        """What a run of it is called: the script or module without folders and suffix."""
        head = self.target[0] if self.target else "python"
        if head.startswith("-m"):
            module = head[2:] or (self.target[1] if len(self.target) > 1 else "module")
            return module.rpartition(".")[2]
        if head.startswith("-c"):
            return "command"
        return Path(head).stem


def parse(words: tuple[str, ...], *, module: str | None = None) -> Command:
    """The command that `reenact record …` was asked to run.

    `words` is a script with arguments, or any Python command line (`python -X dev -m pytest`), or an installed
    console script (`pytest -q`). With `module`, `words` are its arguments.

    Raises:
        UsageError: there is nothing there that Python can run.
    """
    if module is not None:
        return Command(sys.executable, (), ("-m", module, *words))
    if not words:
        raise UsageError("nothing to run: give a script, -m MODULE, or -- and a Python command line")
    first = words[0]
    if _INTERPRETER.match(Path(first).name) and (shutil.which(first) or Path(first).is_file()):
        flags, target = split(words[1:])
        return Command(_interpreter(first), flags, target)
    if Path(first).is_file() and (first.endswith((".py", ".pyz", ".pyw")) or _shebang(Path(first))):
        return Command(sys.executable, (), words)
    if Path(first).is_dir() and (Path(first) / "__main__.py").is_file():
        return Command(sys.executable, (), words)
    found = shutil.which(first)
    if found is None:
        reason = "is no Python script (no .py, no #! line with python)" if Path(first).is_file() else "no such script"
        raise UsageError(f"{first}: {reason}. Give a Python script, -m MODULE, or -- and a Python command line.")
    python = _shebang(Path(found))
    if not python:
        raise UsageError(f"{first} ({found}) is not a Python program; reenact records Python programs.")
    # an installed command belongs to the environment that its first line names
    return Command(python[0] if Path(python[0]).is_file() else sys.executable, (), (found, *words[1:]))


def started(words: Sequence[str], executable: str | None, search: str, cwd: str) -> Command | None:
    """What a program in `cwd` starts by these words; None where that is no Python. `search` is the PATH to look on.

    Raises:
        UsageError: it is a program that cannot be run again.
    """
    found = _found(executable or words[0], search, cwd)
    if found is None:
        return None
    if _is_interpreter(found):
        return Command(str(found), *split(tuple(words[1:])))
    shebang = _shebang(found)
    python = _found(shebang[0], search, cwd) if shebang else None
    return Command(str(python), *split((*shebang[1:], str(found), *words[1:]))) if python is not None else None


def names_interpreter(name: str) -> bool:
    """Whether a program of this name is a Python."""
    return _INTERPRETER.match(Path(name).name) is not None


def is_script(path: Path) -> bool:
    """Whether the first line of a file says that it is run by a Python."""
    return bool(_shebang(path))


def _found(name: str, search: str, cwd: str) -> Path | None:
    if os.sep in name:
        path = Path(cwd, name)
        return path if path.is_file() else None
    found = shutil.which(name, path=search)
    return Path(cwd, found) if found is not None else None


def _is_interpreter(path: Path) -> bool:
    """Whether it is a Python by its name, or by that of what it is a link to; and no script of that name."""
    if not (_INTERPRETER.match(path.name) or _INTERPRETER.match(path.resolve().name)):
        return False
    return not _begin(path).startswith(b"#!")


def _interpreter(first: str) -> str:
    found = shutil.which(first)
    return str(Path(found).absolute()) if found is not None else sys.executable


def split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What follows `python`: the interpreter's own options, and what it runs.

    Raises:
        UsageError: it is a program that cannot be run again.
    """
    at = 0
    while at < len(words) and _is_option(words[at]):
        at += 2 if words[at] in _OPTIONS_WITH_VALUE else 1
    if at >= len(words):
        raise UsageError("an interactive interpreter cannot be recorded: give a script, -m MODULE, or -c CODE")
    if words[at] == "-":
        raise UsageError("a program that is read from standard input cannot be recorded: save it to a file")
    return words[:at], words[at:]


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not word.startswith(_ENDS_OPTIONS)


def _shebang(path: Path) -> list[str]:
    """The Python that a script's first line starts, by its path or, where `env` looks for it, by its name; its options.

    Empty when it starts none.
    """
    begin = _begin(path)
    long_path = _LONG_SHEBANG.match(begin)
    if long_path is not None:
        return [long_path["python"].decode("utf-8", "surrogateescape")]
    if not begin.startswith(b"#!"):
        return []
    words = begin[2:].split(b"\n", 1)[0].decode("utf-8", "surrogateescape").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S"]
    return words if words and _INTERPRETER.match(Path(words[0]).name) else []


def _begin(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(512)
    except OSError:
        return b""
