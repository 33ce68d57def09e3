"""A page of memory that the recorded process shares with the one that started it: what its tape could not take.

A disk may be full, and a store be gone; this is there, also when the process was killed, or has closed all descriptors.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Self

from reenact.engine.lane import muted

_SIZE = mmap.PAGESIZE
_LENGTH = struct.Struct("=I")
_BETWEEN = "\0"


class Slip:
    """The page, in either process; `path` is where the recorded one finds it. Without it, what is added is lost.

    That one has no descriptor of it: its program would come upon it.
    """

    def __init__(self, path: str, descriptor: int = -1) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def made(cls) -> Self:
        """A new one, which is empty."""
        with contextlib.suppress(OSError):
            descriptor, path = memory()
            os.truncate(descriptor, _SIZE)
            return cls(path, descriptor)
        return cls("")

    @classmethod
    def given(cls, path: str) -> Self:
        """That of the process that started this one."""
        with muted(), contextlib.suppress(OSError, ValueError):
            return cls(path if Path(path).is_file() and Path(path).stat().st_size == _SIZE else "")
        return cls("")

    @property
    def is_there(self) -> bool:
        """Whether what is added is told."""
        return bool(self.path)

    def add(self, text: object) -> None:
        """Adds a text, as far as there is room."""
        data = _BETWEEN.join([*self.texts, str(text)]).encode("utf-8", "replace")[: _SIZE - _LENGTH.size]
        with muted(), contextlib.suppress(OSError), Path(self.path or os.devnull).open("r+b", buffering=0) as file:
            file.write(_LENGTH.pack(len(data)) + data)

    @property
    def texts(self) -> list[str]:
        """All that has been added."""
        page = b""
        with muted(), contextlib.suppress(OSError), Path(self.path or os.devnull).open("rb", buffering=0) as file:
            page = file.read(_SIZE) or b""
        if len(page) < _LENGTH.size:
            return []
        (length,) = _LENGTH.unpack_from(page)
        data = page[_LENGTH.size : _LENGTH.size + length]
        return data.decode("utf-8", "replace").split(_BETWEEN) if data else []

    def close(self) -> None:
        """What is on it is known."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            with contextlib.suppress(OSError):  # of memory, that was it
                os.unlink(self.path)  # noqa: PTH108


def memory() -> tuple[int, str]:
    """A file of memory, or what is nearest to one, and where this user finds it while it is open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("reenact")
        return descriptor, f"/proc/{os.getpid()}/fd/{descriptor}"
    return tempfile.mkstemp(prefix="reenact-")
