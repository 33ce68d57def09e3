"""What the Pythons that a run starts are handed of its secrets: on a page that only their user can read.

Everybody on the machine can see the words of a command line, so an invitation says only where the page is. It is memory
of the process that records; where a system has no such memory, it is a private file.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from reenact.launch.slip import memory
from reenact.tape.vault import Vault


class Page:
    """The page, where it is made. When it is closed, nobody is handed anything any more."""

    def __init__(self, vault: Vault) -> None:
        self._path = ""
        with contextlib.suppress(OSError):
            self._descriptor, self._path = memory()
            vault.page = self._path
            os.write(self._descriptor, vault.hand_on().encode())

    def close(self) -> None:
        """What is on it is gone."""
        if self._path:
            os.close(self._descriptor)
            with contextlib.suppress(OSError):  # of memory, that was it
                os.unlink(self._path)  # noqa: PTH108


def read(path: str) -> Vault:
    """What is handed on there.

    Raises:
        OSError: it is gone. Who does not know what is secret must not record.
    """
    return Vault.handed(Path(path).read_text(encoding="utf-8"))
