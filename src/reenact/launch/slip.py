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

_SIZE = mmap.PAGESIZE
_LENGTH = struct.Struct("=I")
_BETWEEN = "\0"


class Slip:
    """The page, in either process; `path` is where the recorded one finds it. Without it, what is added is lost."""

    def __init__(self, path: str, page: mmap.mmap | None, descriptor: int = -1) -> None:
        self.path = path
        self._page = page
        self._descriptor = descriptor

    @classmethod
    def made(cls) -> Self:
        """A new one, which is empty."""
        with contextlib.suppress(OSError):
            descriptor, path = memory()
            os.truncate(descriptor, _SIZE)
            return cls(path, mmap.mmap(descriptor, _SIZE), descriptor)
        return cls("", None)

    @classmethod
    def given(cls, path: str) -> Self:
        """That of the process that started this one."""
        with contextlib.suppress(OSError, ValueError), Path(path).open("r+b") as file:
            return cls(path, mmap.mmap(file.fileno(), _SIZE))
        return cls("", None)

    @property
    def is_there(self) -> bool:
        """Whether what is added is told."""
        return self._page is not None

    def add(self, text: object) -> None:
        """Adds a text, as far as there is room."""
        if self._page is not None:
            data = _BETWEEN.join([*self.texts, str(text)]).encode("utf-8", "replace")[: _SIZE - _LENGTH.size]
            self._page[_LENGTH.size : _LENGTH.size + len(data)] = data
            self._page[: _LENGTH.size] = _LENGTH.pack(len(data))

    @property
    def texts(self) -> list[str]:
        """All that has been added."""
        if self._page is None:
            return []
        (length,) = _LENGTH.unpack_from(self._page)
        data = self._page[_LENGTH.size : _LENGTH.size + length]
        return data.decode("utf-8", "replace").split(_BETWEEN) if data else []

    def close(self) -> None:
        """What is on it is known."""
        if self._page is not None:
            self._page.close()
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
