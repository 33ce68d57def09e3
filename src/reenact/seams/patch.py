"""Reversible patches: each replaces one attribute and knows how to put the old one back."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType

_ABSENT = object()
_KEEP_BOUND = (
    "reenact",
    "posix",
    "nt",
    "asyncio",
    "threading",
    "queue",
    "selectors",
    "logging",
    "concurrent",
    "importlib",
    "random",
)


class Patches:
    """What has been replaced, undone in reverse order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._modules = 0
        self._index: dict[int, list[tuple[str, str]]] = {}

    def set(self, owner: object, name: str, value: object) -> object:
        """Replaces `owner.name` and returns what was there."""
        old = getattr(owner, name)
        own = old if name == "__class__" else vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self.on_undo(partial(_put_back, owner, name, own))
        return old

    def function(self, module: ModuleType, name: str, value: object) -> None:
        """Replaces a module's function, also where other modules have bound it by name already."""
        if isinstance(value, FunctionType):
            value.__module__, value.__qualname__ = module.__name__, name  # by which it is pickled
        old = self.set(module, name, value)
        bound = self._bound(old)
        self._index[id(value)] = bound  # another patch may come on top
        for name_of_other, alias in bound:
            other = sys.modules.get(name_of_other)
            if other is not None and other is not module and other.__dict__.get(alias) is old:
                self.set(other, alias, value)

    def _bound(self, value: object) -> list[tuple[str, str]]:
        """Where modules have bound that value. They are looked through once, until there are more of them.

        By name: a reference to the program's main module would have it outlive others when the interpreter goes down.
        """
        if self._modules != len(sys.modules):
            self._modules, self._index = len(sys.modules), defaultdict(list)
            for key, module in list(sys.modules.items()):
                # by its __dict__ alone: asking a lazy module for an attribute would import what it stands for
                names = getattr(module, "__dict__", None)
                if isinstance(names, dict) and str(names.get("__name__", "")).partition(".")[0] not in _KEEP_BOUND:
                    for alias, bound in list(names.items()):
                        self._index[id(bound)].append((key, alias))
        return self._index.get(id(value), [])

    def method_of_builtin(self, kind: type, name: str, value: object) -> None:
        """Replaces a method of a type written in C, for all who hold the type already."""
        members = gc.get_referents(kind.__dict__)[0]
        self.on_undo(partial(_put_member_back, members, name, members[name]))
        members[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Something that is no attribute has been changed; `undo` puts it back."""
        self._undo.append(undo)

    def undo(self) -> None:
        """Puts everything back."""
        while self._undo:
            self._undo.pop()()


def _put_back(owner: object, name: str, old: object) -> None:
    if old is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, old)


def _put_member_back(members: dict[str, object], name: str, old: object) -> None:
    members[name] = old
    for kind in [ref for ref in gc.get_referrers(members) if isinstance(ref, type)]:
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
