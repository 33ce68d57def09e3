"""How much memory is left to this process and those that it starts: of the machine, and of the groups that it is in.

A container is such a group (cgroups(7)): it may have far less than the machine, and what takes more is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

_GROUPS: Final = Path("/sys/fs/cgroup")
_OF_PROCESS: Final = Path("/proc/self/cgroup")
_OF_MACHINE: Final = Path("/proc/meminfo")
# by version: what a group may take, what it takes, and which part of that are files that can be read again
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2: Final = ("memory.max", "memory.current", "inactive_file")


def available(groups: Path = _GROUPS, of_process: Path = _OF_PROCESS) -> float:
    """Which part of it can be had, of whatever has the least left; 1 where that is not known."""
    return min((_of_machine(), *_of_groups(groups, of_process)))


def _of_machine() -> float:
    try:
        told = _told(_OF_MACHINE)
        return told["MemAvailable:"] / told["MemTotal:"]
    except (OSError, LookupError, ValueError):
        return 1.0


def _of_groups(root: Path, of_process: Path) -> Iterator[float]:
    """Of each group that has a limit, from the process's own upward."""
    try:
        lines = of_process.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for number, kinds, path in (line.split(":", 2) for line in lines):
        if "memory" in kinds.split(","):
            top, names = root / "memory", _V1
        elif number == "0":
            top, names = root, _V2
        else:
            continue
        own = top / path.strip("/")  # in a container that may be a path of the machine's, and the top its own group
        for group in (own, *own.parents):
            if group.is_relative_to(top):
                yield _of_group(group, *names)


def _of_group(group: Path, limit: str, taken: str, idle: str) -> float:
    try:
        most = int((group / limit).read_text(encoding="ascii"))
        held = int((group / taken).read_text(encoding="ascii")) - _told(group / "memory.stat")[idle]
        return max(most - held, 0) / most
    except (OSError, LookupError, ValueError, ZeroDivisionError):  # "max": it has no limit of its own
        return 1.0


def _told(table: Path) -> dict[str, int]:
    lines = (line.split() for line in table.read_text(encoding="ascii").splitlines())
    return {name: int(value) for name, value, *_ in lines}
