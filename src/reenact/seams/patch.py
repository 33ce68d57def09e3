"""Reversible patches: each replaces one attribute and knows how to put the old one back."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType

_ABSENT = object()
_KEEP_BOUND = ("reenact", "asyncio", "threading", "queue", "selectors", "logging", "concurrent", "importlib", "random")


class Patches:
    """What has been replaced, undone in reverse order."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: object, name: str, value: object) -> object:
        """Replaces `owner.name` and returns what was there."""
        old = getattr(owner, name)
        own = old if name == "__class__" else vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self.on_undo(partial(_put_back, owner, name, own))
        return old

    def function(self, module: ModuleType, name: str, value: object) -> None:
        """Replaces a module's function, also where other modules have bound it by name already."""
        old = self.set(module, name, value)
        for other in list(sys.modules.values()):
            # by its __dict__ alone: asking a lazy module for an attribute would import what it stands for
            names = getattr(other, "__dict__", None)
            if other is module or not isinstance(names, dict):
                continue
            if str(names.get("__name__", "")).partition(".")[0] in _KEEP_BOUND:
                continue
            for alias in [alias for alias, bound in list(names.items()) if bound is old]:
                self.set(other, alias, value)

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
