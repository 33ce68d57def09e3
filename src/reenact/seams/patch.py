"""Reversible patches: each replaces one attribute and knows how to put the old one back."""

from __future__ import annotations

import ctypes
import gc
import sys
from types import ModuleType

_ABSENT = object()
_KEEP_BOUND = ("reenact", "asyncio", "threading", "queue", "selectors", "logging", "concurrent", "importlib", "random")


class Patches:
    """What has been replaced, undone in reverse order."""

    def __init__(self) -> None:
        self._undo: list[tuple[object, str, object]] = []

    def set(self, owner: object, name: str, value: object) -> object:
        """Replaces `owner.name` and returns what was there."""
        old = getattr(owner, name)
        own = old if name == "__class__" else vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self._undo.append((owner, name, own))
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
        self._undo.append((members, name, members[name]))
        members[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))

    def undo(self) -> None:
        """Puts everything back."""
        while self._undo:
            owner, name, old = self._undo.pop()
            if isinstance(owner, dict):
                owner[name] = old
                for kind in [ref for ref in gc.get_referrers(owner) if isinstance(ref, type)]:
                    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
            elif old is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
