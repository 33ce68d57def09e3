"""Puts a file in the place of another at once, when it is whole and on disk, or never."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reenact.tape import disk

SUFFIX = "-new"
"""What the name of a file in the making ends with."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to make the file that takes the place of `path` at the end; it is there, empty and private.

    What has been done to its folder before that is on disk before it, too.
    """
    new = path.with_name(path.name + SUFFIX)
    new.unlink(missing_ok=True)  # left by one who was killed over it
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield new
        disk.sync(new)
        disk.sync_if_possible(path.parent)
        new.replace(path)
        disk.sync_if_possible(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
