"""Sources of the program: files by their paths, and what is no file here by a number."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from reenact.debugger.dap import bodies
from reenact.debugger.dap.server import RefusedError
from reenact.debugger.session import Debugger

_GIVEN: Final = "<string>"  # how the interpreter calls the program of `python -c`


class Sources:
    """Those of one session."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._others: list[str] = []

    def of(self, file: str) -> bodies.Source:
        """A source, as the editor is told of it."""
        name = Path(file).name
        if Path(file).is_file():
            return bodies.Source(name=name, path=file)
        if file not in self._others:
            self._others.append(file)
        reference = self._others.index(file) + 1
        return bodies.Source(name=name, source_reference=reference, origin="as the replay has it")

    def text(self, reference: int) -> bodies.Content:
        """The text of what is no file here: of `python -c`, or of a file that is in the replay's world only.

        Raises:
            RefusedError: there is none.
        """
        if not 0 < reference <= len(self._others):
            raise RefusedError(f"there is no source {reference}")
        file, target = self._others[reference - 1], self._debugger.course.manifest.target
        if file == _GIVEN and target[:1] == ["-c"]:
            return bodies.Content(content=target[1])
        text: str = self._debugger.ask("source", file, kind=str)
        if not text:
            raise RefusedError(f"the source of {file} is not to be had")
        return bodies.Content(content=text)
