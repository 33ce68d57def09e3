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


def sync_if_possible(path: Path) -> None:
    """As `sync`, where it may be read and its file system can do that: not each can of a folder."""
    with suppress(OSError):
        sync(path)


def sync_all(path: Path) -> None:
    """As `sync_if_possible`, of a file, or a folder with all that is below, and of its name. Links are not followed."""
    below = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
    for each in (*below, path, path.parent):
        if not each.is_symlink():
            sync_if_possible(each)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """A folder, and those above it, where they are not there yet; with their names on the disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    sync_if_possible(path.parent)
