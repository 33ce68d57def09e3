"""Where the kernel gives a replay no namespaces: its files are copies all the same, to which Python is led."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reenact.seams.patch import Patches
from reenact.seams.system.shadow.leading import Leading
from reenact.seams.system.shadow.past import Past
from reenact.seams.system.shadow.tree import Tree
from reenact.seams.system.states import beginning, look_through

_MACHINE = ("/proc/", "/sys/", "/dev/")
_HERE: list[Redirected] = []


class Redirected:
    """The files of this process, which are led to copies from now on. `missed` is what was not."""

    def __init__(self, scratch: Path, kept: Iterable[Path]) -> None:
        self._tree = tree = Tree(scratch)
        self._exempt = (*_MACHINE, *(beginning(str(folder)) for folder in kept))
        self._past = Past(tree, self._exempt)
        self._patches = Patches()
        Leading(tree, self._past, self._exempt).install(self._patches)
        look_through(tree)
        self._past.install()

    def begin(self, scratch: Path) -> None:
        """This is a fork, with copies of its own from now on: none yet."""
        self._tree.begin(scratch)
        self._past.told.clear()

    def has(self, path: str) -> bool:
        """Whether the path may be changed without harm."""
        return not path.startswith(self._exempt)

    @property
    def missed(self) -> list[str]:
        """What went past, a line each."""
        return self._past.told


def redirect(scratch: Path, kept: Iterable[Path]) -> Redirected:
    """Leads to copies in `scratch`, an empty folder of ours; the folders `kept` are as they are."""
    if _HERE:
        _HERE[0].begin(scratch)
    else:
        _HERE.append(Redirected(scratch, kept))
    return _HERE[0]
