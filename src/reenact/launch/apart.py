"""Sets a fork apart from the process that it came from: what they share is its own from then on (replay).

Memory and files that both have open: what the one writes there must not reach the other but by the tape. Linux only;
elsewhere, and where the kernel does not tell, they stay shared.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_MAP_FIXED = 0x10
_DEVICES = "/dev/"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  no temporary file


def apart(ours: Path) -> None:
    """Gives this process, which has one thread, copies of what it shares. Files in the folder `ours` stay."""
    if not Path("/proc/self/maps").is_file():
        return
    for start, end in list(_shared_memory()):
        with contextlib.suppress(OSError):
            _own_memory(start, end - start)
    for descriptor in list(_shared_files(str(ours.resolve()))):
        with contextlib.suppress(OSError):
            _own_file(descriptor)


def _shared_memory() -> Iterator[tuple[int, int]]:
    """Where memory begins and ends that can be written to, and that others see."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        span, access, _, _, _, *path = line.split(maxsplit=5)
        device = path and path[0].startswith(_DEVICES) and not path[0].startswith((_SHARED_MEMORY, "/dev/zero"))
        if access.startswith("rw") and access.endswith("s") and not device:
            start, end = (int(number, 16) for number in span.split("-"))
            yield start, end


def _own_memory(start: int, size: int) -> None:
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        held = os.pread(memory, size, start)  # where there is nothing behind it, this fails, and a read would be fatal
    finally:
        os.close(memory)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
    if libc.mmap(start, size, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0) == start:
        ctypes.memmove(start, held, len(held))


def _shared_files(ours: str) -> Iterator[int]:
    """Files that are open to be written to, but for the output."""
    output = {(about.st_dev, about.st_ino) for about in _known(range(3))}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  names are wanted, not paths
        descriptor = int(name)
        for about in _known([descriptor]):
            writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
            is_ours = os.readlink(f"/proc/self/fd/{name}").startswith(ours)  # noqa: PTH115  as above
            if stat.S_ISREG(about.st_mode) and writes and not is_ours and (about.st_dev, about.st_ino) not in output:
                yield descriptor


def _known(descriptors: list[int] | range) -> Iterator[os.stat_result]:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            yield os.fstat(descriptor)


def _own_file(descriptor: int) -> None:
    own = os.memfd_create(f"reenact {descriptor}")
    try:
        with Path(f"/proc/self/fd/{descriptor}").open("rb") as held:
            while data := held.read(1 << 20):
                os.write(own, data)
        os.lseek(own, os.lseek(descriptor, 0, os.SEEK_CUR), os.SEEK_SET)
        fcntl.fcntl(own, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL))
        os.dup2(own, descriptor, os.get_inheritable(descriptor))
    finally:
        os.close(own)
