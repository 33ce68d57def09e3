"""`REENACT_RECORD=1 python …`: the start-up hook of an ordinary process hands it over to `reenact record`.

The process keeps its number and becomes the recorder, which starts the same command line again under the session.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from reenact.errors import UsageError
from reenact.launch import sampling

_RECORD = "REENACT_RECORD"
_NAMES = ("reenact", "reenact.exe", "pip", "pip3")


def record() -> None:
    """Replaces this process by `reenact record -- <its own command line>`, if that can be and should be recorded."""
    words = sys.orig_argv[1:]
    if sampling.is_off() or not _is_program(words) or is_tooling(words):
        return
    try:
        if not sampling.is_sampled(sampling.rate_around(), os.environ.get("REENACT_SESSION", "")):
            return
        _check()
    except UsageError as error:  # the program itself is never kept from running
        sys.stderr.write(f"reenact: nothing is recorded: {error}\n")
        return
    env = {name: value for name, value in os.environ.items() if name != _RECORD}
    os.execve(sys.executable, [sys.executable, "-m", "reenact", "record", "--", sys.executable, *words], env)  # noqa: S606


def _check() -> None:
    """Sees that `reenact record` will take what the environment and the project say."""
    from reenact.launch.labels import Labels  # noqa: PLC0415  only where something is recorded
    from reenact.launch.settings import Settings  # noqa: PLC0415

    Labels.around(Settings.near(Path.cwd()))


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
