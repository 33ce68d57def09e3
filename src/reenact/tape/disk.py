"""What has to be on the disk before anybody goes on. To sync a file says nothing of its name: that is its folder's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def sync(path: Path) -> None:
    """Returns when the content of a file, or the names in a folder, would outlive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path) -> None:
    """As `sync`, where the folder may be read and its file system can do that."""
    with suppress(OSError):
        sync(folder)


def make_folder(path: Path) -> None:
    """A folder, and those above it, where they are not there yet; with their names on the disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_names(path.parent)
