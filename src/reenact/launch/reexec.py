"""`REENACT_RECORD=1 python …`: the start-up hook of an ordinary process hands it over to `reenact record`.

The process keeps its number and becomes the recorder, which starts the same command line again under the session.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_RECORD = "REENACT_RECORD"
_NAMES = ("reenact", "reenact.exe", "pip", "pip3")


def record() -> None:
    """Replaces this process by `reenact record -- <its own command line>`, if that can be recorded."""
    words = sys.orig_argv[1:]
    if not _is_program(words) or is_tooling(words):
        return
    env = {name: value for name, value in os.environ.items() if name != _RECORD}
    os.execve(sys.executable, [sys.executable, "-m", "reenact", "record", "--", sys.executable, *words], env)  # noqa: S606


def _is_program(words: list[str]) -> bool:
    """Whether there is a script, a module or code: an interactive interpreter is left alone."""
    after_value = False
    for word in words:
        if after_value:
            after_value = False
        elif word in ("-X", "-W", "--check-hash-based-pycs"):
            after_value = True
        elif word.startswith(("-c", "-m")) or not word.startswith("-"):
            return True
    return False


def is_tooling(words: list[str]) -> bool:
    """Whether the command is reenact itself, or Python's own tooling that starts it."""
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    script = next((Path(word).name for word in words if not word.startswith("-")), "")
    return module.partition(".")[0] in ("reenact", "pip", "venv", "ensurepip") or script in _NAMES
