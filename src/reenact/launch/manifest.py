"""What a run was: everything that is needed to run it again, as it stands on tape."""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Any

import msgspec

from reenact.errors import TapeCorruptError
from reenact.tape.event import Failed


class Machine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a run was: what `os.uname` says, how many processors there are, and the numbers of those it may use."""

    uname: list[str] = []
    processors: int | None = None
    usable: list[int] = []


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run's program and world.

    `flags` are the interpreter's own options and `target` is what follows them: `["agent.py", "--city", "Oslo"]` or
    `["-m", "pkg.mod"]`. For a decorated function or a `with` block, `entry` says which, `arguments` is JSON as in
    `engine.values`, `main` is the module that was run by `-m`, and `import_path` is where it imports from.
    `secrets` are names of environment variables whose values were left out, `boundaries` functions that are tools,
    `side_traffic` the patterns of requests that are no part of the run. The run began with this `session` and these
    `tags`.
    """

    run_id: str
    name: str
    started: int
    reenact: str
    python: str
    executable: str
    platform: str
    cwd: str
    flags: list[str] = []
    target: list[str] = []
    entry: str = ""
    arguments: str = ""
    main: str = ""
    import_path: list[str] = []
    hash_seed: str = ""
    hash_seed_set: bool = False
    environment: dict[str, str] = {}
    secrets: list[str] = []
    packages: dict[str, str] = {}
    sources: dict[str, str] = {}
    git_commit: str = ""
    git_diff: str = ""
    terminal: tuple[bool, bool, bool] = (False, False, False)
    machine: Machine | None = None
    boundaries: list[str] = []
    side_traffic: list[str] = []
    tags: dict[str, str] = {}
    session: str = ""

    @property
    def command(self) -> str:
        """The program as one would type it."""
        return shlex.join([PurePath(self.executable).name or "python", *self.flags, *self.target])


def encode(manifest: Manifest) -> bytes:
    """The manifest as it stands on tape. Text that is not UTF-8 is kept with escapes in it."""
    try:
        return msgspec.json.encode(manifest)
    except UnicodeEncodeError:
        return msgspec.json.encode(_escaped(msgspec.to_builtins(manifest)))


def _escaped(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case list() | tuple():
            return [_escaped(item) for item in value]
        case dict():
            return {_escaped(key): _escaped(item) for key, item in value.items()}
        case _:
            return value


def decode(data: bytes) -> Manifest:
    """The manifest of a tape.

    Raises:
        TapeCorruptError: it is not one.
    """
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (ValueError, RecursionError) as error:
        raise TapeCorruptError(f"the tape does not say what was run: {error}") from error


def describe(error: Failed) -> str:
    """An exception in a line: its type and message."""
    message = ", ".join(str(value) for value in error.args)
    return f"{error.module}.{error.name}: {message}" if error.module != "builtins" else f"{error.name}: {message}"
