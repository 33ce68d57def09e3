"""`python closed_off.py PLAN.json`: runs commands one after the other in a mount namespace of their own (Linux).

The plan names a folder, and a file system of so many `bytes` on it that is gone with the commands. Each step has its
`argv` and the files `out` and `err`; before it, a file of some size may be made (`fill`, as far as there is room) or
removed, and the file system be made `readonly`. Prints the exit statuses.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

NEWNS, NEWUSER = 0x00020000, 0x10000000
REMOUNT, RDONLY, REC, PRIVATE = 0x20, 0x1, 0x4000, 0x40000
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, flags: int, options: str = "") -> None:
    if LIBC.mount(source.encode(), target.encode(), source.encode(), ctypes.c_ulong(flags), options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def enter() -> None:
    uid, gid = os.getuid(), os.getgid()
    if LIBC.unshare(NEWNS) != 0:
        if LIBC.unshare(NEWNS | NEWUSER) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    mount("none", "/", REC | PRIVATE)


def fill(path: str, size: int) -> None:
    with contextlib.suppress(OSError), Path(path).open("wb", buffering=0) as file:
        file.writelines(bytes(4096) for _ in range(0, size, 4096))


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    enter()
    folder, size = plan["folder"], f"size={plan['bytes']}"
    mount("tmpfs", folder, 0, size)
    statuses = []
    for step in plan["steps"]:
        if step.get("fill"):
            fill(*step["fill"])
        if step.get("remove"):
            Path(step["remove"]).unlink()
        if "readonly" in step:
            mount("tmpfs", folder, REMOUNT | (RDONLY if step["readonly"] else 0), size)
        with Path(step["out"]).open("wb") as out, Path(step["err"]).open("wb") as err:
            done = subprocess.run(
                step["argv"], stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False, timeout=300
            )
        statuses.append(done.returncode)
    sys.stdout.write(json.dumps(statuses))


if __name__ == "__main__":
    main()
