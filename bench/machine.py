"""Where and when a table was made."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
from importlib.metadata import version
from pathlib import Path

from reenact import _real

_PACKAGES = ("reenact", "httpx", "httpx2", "openai", "vcrpy", "zstandard")


def commit() -> str:
    """Which reenact this is: a commit of its repository, and whether its source differs from that."""
    changed = ", with changes" if _git("status", "--porcelain", "--", "src") else ""
    return _git("rev-parse", "--short", "HEAD") + changed


def _git(*words: str) -> str:
    root = Path(__file__).resolve().parent.parent
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)  # noqa: S603, S607
    except OSError:
        return ""
    return done.stdout.strip()


def load() -> str:
    """How many processes wanted a processor in the last 1, 5 and 15 minutes."""
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())


def lines(folder: Path, before: tuple[str, str]) -> list[str]:
    """The date, the machine, and what was measured; `before` is commit and load when that began."""
    today = _real.strftime("%Y-%m-%d", _real.localtime())
    machine = f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} processors"
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [
        f"{today}, {machine}, {_file_system(folder)}; load {before[1]} at the start, {load()} at the end",
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions}",
        f"reenact at commit {before[0] or 'unknown'}"
        + ("" if before[0] == commit() else f", at the end {commit()}: it changed meanwhile"),
    ]


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown processor"
    named = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return named[0] if named else "unknown processor"


def _file_system(folder: Path) -> str:
    """The sort of file system that tapes were written to: on tmpfs a commit costs nothing."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown file system"
    found = [(point, kind) for _device, point, kind, *_ in map(str.split, mounts) if folder.is_relative_to(point)]
    return max(found, key=lambda each: len(each[0]), default=("", "unknown file system"))[1]
