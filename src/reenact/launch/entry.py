"""A recorded function or block: how it is named on tape, and how it is found again."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

import msgspec

from reenact.errors import UsageError
from reenact.launch.manifest import Manifest

_MAIN = "__main__"
_BLOCK = "block:"
_PROCESS = "process:"
_IMPORT = "import:"

IMPORTED = "import"
"""The slug of what a tape says of the file that it was imported from."""

ANSWERED = "answered"
"""The slug of what a tape says of the imported run that its answers are from."""


def name_of(function: Callable[..., Any]) -> str:
    """`module:qualified.name`. Of a callable object, which cannot be found again, that of its class."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def block(name: str, occurrence: int) -> str:
    """The name of the n-th `with reenact.record(name)` of a process."""
    return f"{_BLOCK}{name}#{occurrence}"


def process(name: str) -> str:
    """The name of a process of multiprocessing that a recorded run has started."""
    return f"{_PROCESS}{name}"


def imported(file: str) -> str:
    """The name of what another tool has recorded, in that file."""
    return f"{_IMPORT}{file}"


def is_import(entry: str) -> bool:
    """Whether it is a recording of another tool, which names no program."""
    return entry.startswith(_IMPORT)


def is_process(entry: str) -> bool:
    """Whether it is a process, which is part of the run that started it."""
    return entry.startswith(_PROCESS)


def is_block(entry: str) -> bool:
    """Whether it is a block, which stands somewhere in a program."""
    return entry.startswith(_BLOCK)


def is_program(entry: str) -> bool:
    """Whether it is a whole program."""
    return not entry


def is_function(entry: str) -> bool:
    """Whether the entry is a function, which can be called again by itself."""
    return bool(entry) and not entry.startswith((_BLOCK, _PROCESS, _IMPORT))


def main_module() -> str:
    """The module that this process was started with, as `-m` found it; empty for a script."""
    spec = getattr(sys.modules.get(_MAIN), "__spec__", None)
    return spec.name if spec is not None else ""


def argv(manifest: Manifest) -> list[str]:
    """The `sys.argv` of the recorded program; for a module, the file of it is put first when it is imported."""
    first, *rest = manifest.target or [""]
    if first in ("-m", "-c"):
        return [first, *rest[1:]]
    return [first[:2] if first.startswith(("-m", "-c")) else first, *rest]


def encode_result(value: Any) -> bytes:
    """The result as JSON; its type where it is not to be had as JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except Exception:  # noqa: BLE001  the function has done its work: no fault of its result becomes its error
        return msgspec.json.encode({"type": f"{type(value).__module__}.{type(value).__qualname__}"})


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__qualname__} cannot be kept as JSON")


class Program:
    """The modules of a recorded program, imported as it imported them. Its main module does not run its main part."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._main: ModuleType | None = None
        for folder in reversed(manifest.import_path):
            if folder not in sys.path:
                sys.path.insert(0, folder)

    def function(self) -> Callable[..., Any]:
        """The recorded function.

        Raises:
            UsageError: it is not there any more.
        """
        entry = self._manifest.entry
        module, _, path = entry.partition(":")
        try:
            found: Any = self.module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, OSError) as error:
            raise UsageError(f"the recorded function {entry} is not to be found: {error}") from error
        if not callable(found):
            raise UsageError(f"{entry} is not a function any more")
        # of a class method, the class is among the recorded arguments
        return typing.cast("Callable[..., Any]", found.__func__ if inspect.ismethod(found) else found)

    def module(self, name: str) -> ModuleType:
        """A module by its name. Raises what importing it raises."""
        if name != _MAIN:
            return importlib.import_module(name)
        if self._main is None:
            self._main = _main_again(self._manifest)
        return self._main


class _Again(str):  # noqa: SLOT000  it has a state
    """The name of a main module that is imported: it reads `__main__`, and is not equal to it until that is done."""

    imported = False

    def __hash__(self) -> int:
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (self.imported and str.__eq__(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


def _main_again(manifest: Manifest) -> ModuleType:
    spec = _spec(manifest)
    loader: Any = spec.loader
    module = importlib.util.module_from_spec(spec)
    if manifest.main:
        code = loader.get_code(spec.name)
    else:
        module.__spec__ = module.__package__ = None
        code = loader.source_to_code(loader.get_data(spec.origin), spec.origin)  # a script is not cached
    if spec.origin and manifest.main not in ("", _MAIN):
        sys.argv[:1] = [spec.origin]
    name = _Again(_MAIN)
    module.__name__ = name
    # its classes have this name for their module, everyone else the usual one
    sys.modules[name] = sys.modules[_MAIN] = module
    exec(code, module.__dict__)  # noqa: S102  the recorded program itself
    name.imported = True
    module.__name__ = _MAIN
    return module


def _spec(manifest: Manifest) -> ModuleSpec:
    target = manifest.target[0] if manifest.target else ""
    if manifest.main == _MAIN:  # a folder or an archive with a __main__.py
        spec = PathFinder.find_spec(_MAIN, [target])
    elif manifest.main:
        spec = importlib.util.find_spec(manifest.main)
    elif not target or target.startswith("-"):
        raise ImportError("the program was no file")
    else:
        spec = importlib.util.spec_from_file_location(_MAIN, target, loader=SourceFileLoader(_MAIN, target))
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no module {manifest.main or target} any more")
    return spec
