"""Closes the world around this process with the kernel's namespaces (Linux): no network, and files that are copies.

Folders get an overlay each: what is written lands in memory and is gone with the process, and the rest of the file
system is read-only. An ordinary user may do that in a user namespace of their own (user_namespaces(7)); the process
keeps the user and group numbers that it has.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Self

import msgspec

_NEWNS, _NEWUSER, _NEWNET = 0x00020000, 0x10000000, 0x40000000
_BIND, _REC, _PRIVATE = 0x1000, 0x4000, 0x40000
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY = 0x1
SHARED_MEMORY = "/dev/shm"  # noqa: S108  what POSIX semaphores are made of: no temporary file
_SINCE = "since"
_SYS_MOUNT_SETATTR = 442  # the same on every architecture
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40


class Enclosed(msgspec.Struct, frozen=True):
    """What has been closed. `folders` are those in which anything may be changed, each with where it is as it was.

    It was `privileged` if that took no user namespace. A path outside of them is read-only, and told among those that
    are `missed` where it is not as it was.
    """

    folders: dict[str, str]
    privileged: bool
    missed: list[str] = []

    def has(self, path: str) -> bool:
        """Whether the path may be changed without harm."""
        return any(f"{path}/".startswith(folder.rstrip("/") + "/") for folder in self.folders)


def enclose(folders: Iterable[str], scratch: Path, kept: Iterable[Path], *, network: bool = False) -> Enclosed:
    """Closes the world, but for the `network` if that is to stay.

    `scratch` is an empty folder of ours; what is written to the folders `kept` stays.

    To be called while the process has one thread.

    Raises:
        OSError: the kernel does not allow it. No file has another place or content then.
    """
    if sys.platform != "linux":
        raise OSError("namespaces are Linux's")
    where = Path.cwd()
    privileged = _unshare(_NEWNS if network else _NEWNS | _NEWNET)
    if not network:
        _raise_loopback()
    _mount(None, "/", None, _REC | _PRIVATE)
    with _Held(kept) as held:
        _mount("tmpfs", str(scratch), "tmpfs", 0)
        _read_only("/", recursive=True)
        _read_only(str(scratch), on=False)
        enclosed = _overlaid(dict.fromkeys(folders, ""), scratch, held, privileged=privileged)
    if Path(SHARED_MEMORY).is_dir():
        _mount("tmpfs", SHARED_MEMORY, "tmpfs", 0)
    os.chdir(where)  # the folder that we were in lies below an overlay now
    return enclosed


def cut_off() -> bool:
    """Takes the network from this process and all that it starts; whether the kernel does that.

    To be called while the process has one thread.
    """
    if sys.platform != "linux":
        return False
    try:
        _unshare(_NEWNET)
        _raise_loopback()
    except OSError:
        return False
    return True


def enclose_again(enclosed: Enclosed, scratch: Path, kept: Iterable[Path], *, goes_on: bool = False) -> Enclosed:
    """Gives this process, which was started in a closed world, the same folders as they were, to change by itself.

    What the others change there it does not see, nor they what it does. Where it `goes_on`, as a copy of one that
    changes nothing any more, it finds what that has changed. For the rest, as `enclose`.
    """
    where = Path.cwd()
    privileged = _unshare(_NEWNS) and enclosed.privileged
    _mount(None, "/", None, _REC | _PRIVATE)
    with _Held(kept) as held:
        _mount("tmpfs", str(scratch), "tmpfs", 0)
        again = _overlaid(enclosed.folders, scratch, held, privileged=privileged, goes_on=goes_on)
    if goes_on and Path(SHARED_MEMORY).is_dir():
        _mount("tmpfs", SHARED_MEMORY, "tmpfs", 0)
    os.chdir(where)
    if missing := enclosed.folders.keys() - again.folders.keys():
        raise OSError(f"there can be no second overlay on {min(missing)}")
    return again


def _overlaid(
    folders: dict[str, str], scratch: Path, held: _Held, *, privileged: bool, goes_on: bool = False
) -> Enclosed:
    """Puts overlays on `folders`; what each held before is where it says, or in place. `scratch` is for them alone.

    Where it `goes_on`, what has been changed since is over that.
    """
    own = held.hold(scratch)
    originals = {folder: own / str(at) / "original" for at, folder in enumerate(folders)}
    for folder, place in originals.items():  # all of them before the first overlay: it may lie over the way there
        place.mkdir(parents=True)
        _mount(folders[folder] or folder, str(place), None, _BIND)
        if goes_on:
            place.with_name(_SINCE).mkdir()
            _mount(str(Path(folders[folder]).with_name("upper")), str(place.with_name(_SINCE)), None, _BIND)
    done = [folder for folder, place in originals.items() if _overlay(folder, place, privileged=privileged)]
    return Enclosed({folder: str(scratch / originals[folder].relative_to(own)) for folder in done}, privileged)


class _Held:
    """Folders that can be reached while something is mounted over them, and are in their places again afterwards."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = list(folders)
        self._held: dict[Path, int] = {}

    def __enter__(self) -> Self:
        for folder in self._folders:
            self.hold(folder)
        return self

    def hold(self, folder: Path) -> Path:
        """The folder as it is now, by a path that stays."""
        self._held[folder] = os.open(folder, os.O_PATH)
        return Path(f"/proc/self/fd/{self._held[folder]}")

    def __exit__(self, failed: type[BaseException] | None, *_exc: object) -> None:
        for folder, descriptor in self._held.items():
            if failed is None:
                _mount(f"/proc/self/fd/{descriptor}", str(folder), None, _BIND | _REC)
                _read_only(str(folder), on=False)
            os.close(descriptor)


def _unshare(what: int) -> bool:
    """New namespaces; whether that took no user namespace."""
    if _libc().unshare(what) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    _check(_libc().unshare(_NEWUSER | what), "unshare")
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    return False


def _overlay(folder: str, original: Path, *, privileged: bool) -> bool:
    """Puts an overlay on a folder; false when the kernel does not let us, and it stays read-only."""
    upper, work = original.with_name("upper"), original.with_name("work")
    upper.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    since = original.with_name(_SINCE)
    lower = f"{since}:{original}" if since.is_dir() else original
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    try:
        _mount("overlay", folder, "overlay", 0, options if privileged else f"{options},userxattr")
    except OSError:
        return False
    return True


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _read_only(path: str, *, on: bool = True, recursive: bool = False) -> None:
    attributes = _MountAttr(_RDONLY if on else 0, 0 if on else _RDONLY, 0, 0)
    arguments = (_AT_FDCWD, path.encode(), _AT_RECURSIVE if recursive else 0, ctypes.byref(attributes))
    _check(_libc().syscall(_SYS_MOUNT_SETATTR, *arguments, ctypes.sizeof(attributes)), f"mount_setattr {path}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    done = _libc().mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _check(done, f"mount {kind or source} {target}")


def _raise_loopback() -> None:
    """Servers inside of the program still work."""
    import fcntl  # noqa: PLC0415  not on every system
    import socket  # noqa: PLC0415

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP | _IFF_RUNNING))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
