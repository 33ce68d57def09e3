"""The seam in listings: folders are listed in the order of the recording. A file system promises none."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from reenact import _real
from reenact.engine.lane import get_lane
from reenact.seams.patch import Patches
from reenact.seams.system import states
from reenact.seams.system.files import absolute_path, replace
from reenact.tape.event import DrawKind


def install(patches: Patches) -> None:
    """Meets what lists folders."""
    outside = states.installed()

    def in_order(path: Any, names: list[Any], frame: FrameType) -> list[Any]:
        lane = get_lane()
        if lane is None or lane.session is None:
            return names
        absolute = absolute_path("." if path is None else path)
        if absolute is None or absolute.startswith(outside):
            return names
        names = states.without_ours(absolute, names)
        here = b"\0".join(map(os.fsencode, names))
        drawn = lane.session.draw(lane, DrawKind.LISTING, lambda: here, frame)
        assert isinstance(drawn, bytes)  # noqa: S101  a LISTING draw is bytes
        known = {name: place for place, name in enumerate(drawn.split(b"\0"))}
        return sorted(names, key=lambda name: known.get(os.fsencode(name), len(known)))

    replace(patches, "listdir", _listdir(os.listdir, in_order))
    replace(patches, "scandir", _scandir(os.scandir, in_order))


def _listdir(real: Callable[..., list[Any]], in_order: Callable[..., list[Any]]) -> Callable[..., Any]:
    def listdir(path: Any = None) -> list[Any]:
        return in_order(path, real(path), _real.getframe(1))

    return listdir


def _scandir(real: Callable[..., Any], in_order: Callable[..., list[Any]]) -> Callable[..., Any]:
    def scandir(path: Any = None) -> Any:
        with real(path) as found:
            entries = {entry.name: entry for entry in found}
        return Scan([entries[name] for name in in_order(path, list(entries), _real.getframe(1))])

    return scandir


class Scan:
    """What `os.scandir` returns."""

    def __init__(self, entries: list[Any]) -> None:
        self._left = iter(entries)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._left)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open any more."""
        self._left = iter(())
