"""A disk as it may be found after power was lost: all that was synced, and of what was not whatever happened to get there.

What was written to a file gets there by sectors of 512 bytes, in any order, each as it was at some moment since the last
sync; how long the file is, is a matter of its own. A truncation takes effect as one. A folder keeps which changes of its
entries it likes, unless it was synced itself: to sync a file says nothing of its name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.durability.watch import Kind, Op

SECTOR = 512
Pick = Callable[[int], int]
"""Which of so many versions got to the disk; 0 is what was synced, the last is what the program sees."""


class Lossy(Protocol):
    """A file, a folder, or all of them."""

    def found(self, pick: Pick, /) -> object:
        """What is there after power was lost."""


@dataclass(slots=True)
class _Life:
    """A file between two truncations: what each sector has held since the last sync, and how long the file was."""

    sectors: dict[int, list[bytes]]
    sizes: list[int]


class File:
    def __init__(self, data: bytes = b"") -> None:
        self._lives = [_Life({}, [0])]
        if data:
            self.write(0, data)
            self.sync()

    def write(self, at: int, data: bytes) -> None:
        life = self._lives[-1]
        end = at + len(data)
        for number in range(at // SECTOR, -(-end // SECTOR)):
            start = number * SECTOR
            versions = life.sectors.setdefault(number, [bytes(SECTOR)])
            low, high = max(at, start), min(end, start + SECTOR)
            before = versions[-1]
            versions.append(before[: low - start] + data[low - at : high - at] + before[high - start :])
        if end > life.sizes[-1]:
            life.sizes.append(end)

    def truncate(self, size: int) -> None:
        life = self._lives[-1]
        if size >= life.sizes[-1]:
            life.sizes.append(size)
            return
        kept = {number: list(versions) for number, versions in life.sectors.items() if number * SECTOR < size}
        last, inside = divmod(size, SECTOR)
        if last in kept:
            kept[last] = [version[:inside].ljust(SECTOR, b"\0") for version in kept[last]]
        self._lives.append(_Life(kept, [size]))

    def sync(self) -> None:
        life = self._lives[-1]
        self._lives = [_Life({number: versions[-1:] for number, versions in life.sectors.items()}, life.sizes[-1:])]

    def found(self, pick: Pick) -> bytes:
        life = self._lives[pick(len(self._lives))]
        data = bytearray(life.sizes[pick(len(life.sizes))])
        for number, versions in life.sectors.items():
            version, start = versions[pick(len(versions))], number * SECTOR
            if start < len(data):
                data[start : start + SECTOR] = version[: len(data) - start]
        return bytes(data)


@dataclass(slots=True)
class Folder:
    """Entries by name. Each change is one that is whole or not at all: to rename changes two of them."""

    entries: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[dict[str, File | Folder | None]] = field(default_factory=list)

    @property
    def now(self) -> dict[str, File | Folder]:
        return self.found(lambda count: count - 1)

    def change(self, change: dict[str, File | Folder | None]) -> None:
        self.changes.append(change)

    def sync(self) -> None:
        self.entries, self.changes = self.now, []

    def found(self, pick: Pick) -> dict[str, File | Folder]:
        found: dict[str, File | Folder | None] = dict(self.entries)
        for change in self.changes:
            if pick(2):
                found.update(change)
        return {name: node for name, node in found.items() if node is not None}


class Disk:
    """The files below a folder, from now on."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._nodes: dict[int, File | Folder] = {}
        self.top = self._taken(self.root)

    def _taken(self, path: Path) -> Folder:
        folder = self._nodes[path.stat().st_ino] = Folder()
        for entry in path.iterdir():
            if entry.is_dir():
                folder.entries[entry.name] = self._taken(entry)
            else:
                file = self._nodes[entry.stat().st_ino] = File(entry.read_bytes())
                folder.entries[entry.name] = file
        return folder

    def apply(self, op: Op) -> None:
        """An operation that was done."""
        match op.kind:
            case Kind.CREATE | Kind.MAKE_FOLDER:
                made = self._nodes[op.node] = File() if op.kind is Kind.CREATE else Folder()
                self._parent(op.path).change({Path(op.path).name: made})
            case Kind.UNLINK | Kind.REMOVE_FOLDER:
                self._parent(op.path).change({Path(op.path).name: None})
            case Kind.RENAME:
                self._rename(Path(op.path), Path(op.data.decode()))
            case Kind.WRITE:
                self._file(op).write(op.at, op.data)
            case Kind.TRUNCATE:
                self._file(op).truncate(op.at)
            case Kind.SYNC:
                self._nodes[op.node].sync()
            case Kind.SENT | Kind.SAID:
                pass  # it is out in the world
            case Kind.UNKNOWN:
                raise AssertionError(op.path)

    def _rename(self, old: Path, new: Path) -> None:
        folder = self._parent(str(old))
        assert self._parent(str(new)) is folder, "to rename from folder to folder is not modelled"
        folder.change({new.name: folder.now[old.name], old.name: None})

    def _file(self, op: Op) -> File:
        node = self._nodes[op.node]
        assert isinstance(node, File)
        return node

    def _parent(self, path: str) -> Folder:
        folder = self.top
        for name in Path(path).relative_to(self.root).parts[:-1]:
            below = folder.now[name]
            assert isinstance(below, Folder)
            folder = below
        return folder

    def found(self, pick: Pick) -> dict[str, bytes | None]:
        """What is there after power was lost: the content of files by their paths, None for a folder."""
        return dict(_walk("", self.top, pick))


def _walk(before: str, folder: Folder, pick: Pick) -> Iterator[tuple[str, bytes | None]]:
    for name, node in sorted(folder.found(pick).items()):
        path = before + name
        if isinstance(node, Folder):
            yield path, None
            yield from _walk(f"{path}/", node, pick)
        elif name.endswith("-shm"):
            yield path, b"\xff" * len(node.found(pick))  # memory of processes that are gone: it may hold anything
        else:
            yield path, node.found(pick)


def put(found: dict[str, bytes | None], target: Path) -> None:
    """Makes the files in an empty folder."""
    for name, data in found.items():
        path = target / name
        if data is None:
            path.mkdir()
        else:
            path.write_bytes(data)


# What may have got there


def oldest(_count: int) -> int:
    """Only what was synced."""
    return 0


def newest(count: int) -> int:
    """All of it."""
    return count - 1


def but_one(usual: Pick, at: int) -> Pick:
    """As usual, but for one loose thing: the first or the last of its versions."""
    seen = 0

    def pick(count: int) -> int:
        nonlocal seen
        seen += count > 1
        chosen = usual(count)
        return count - 1 - chosen if count > 1 and seen == at + 1 else chosen

    return pick


def loose(thing: Lossy) -> int:
    """How many things there are that may be so or otherwise."""
    counted = 0

    def pick(count: int) -> int:
        nonlocal counted
        counted += count > 1
        return count - 1

    thing.found(pick)
    return counted


def by_chance(seed: str, share: float) -> Pick:
    """Anything; the newest by this share, else any."""
    chance = random.Random(seed)
    return lambda count: count - 1 if count == 1 or chance.random() < share else chance.randrange(count)


def picks(thing: Lossy, seed: str, many: int) -> Iterator[Pick]:
    """Ways in which power may be lost now: the two extremes, some in which one thing is amiss, and chance."""
    yield oldest
    yield newest
    things = loose(thing)
    if not things:
        return
    chance = random.Random(seed)
    for at in chance.sample(range(things), min(things, many // 4)):
        yield but_one(newest, at)
        yield but_one(oldest, at)
    for number in range(many // 2):
        yield by_chance(f"{seed} {number}", (0.0, 0.5, 0.9, 0.1)[number % 4])
