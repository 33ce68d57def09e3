"""The seam in renaming folders, for replays on the kernel's overlays: those move no folder that lies below them."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from typing import Any

from reenact.engine.lane import muted
from reenact.seams.patch import Patches
from reenact.seams.system.files import absolute_path, replace

_COPY = ".reenact-copy"


def install(patches: Patches) -> None:
    """Has folders renamed all the same."""
    for name in ("rename", "replace"):
        replace(patches, name, _renaming(getattr(os, name)))


def _renaming(real: Callable[..., None]) -> Callable[..., None]:
    def rename(src: Any, dst: Any, *, src_dir_fd: Any = None, dst_dir_fd: Any = None) -> None:
        try:
            real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        except OSError as error:
            folder = absolute_path(src, src_dir_fd)
            if error.errno != errno.EXDEV or folder is None or not os.path.isdir(folder):  # noqa: PTH112  text, and quick
                raise
            with muted():
                _lift(folder, real)
            real(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    return rename


def _lift(folder: str, rename: Callable[..., None]) -> None:
    """Makes the folder one of the overlay itself, with all that is in it."""
    copy = folder.rstrip("/") + _COPY
    shutil.copytree(folder, copy, symlinks=True)
    shutil.rmtree(folder)
    rename(copy, folder)
