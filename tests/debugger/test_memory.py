"""How much memory is left: of the machine, and of the groups that a container is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reenact.debugger.memory import available

LIMIT = 256 << 20
TELLS = """
import sys
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text("0")
from reenact.debugger.memory import available
print(available())
held = bytearray(int(sys.argv[2]))
held[::4096] = bytes(len(held[::4096]))
print(available())
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A group that may take so much memory; skips where none can be made."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    own = {kinds or "unified": path.strip("/") for _, kinds, path in lines}
    v1 = "memory" in own
    within = Path("/sys/fs/cgroup", "memory", own["memory"]) if v1 else Path("/sys/fs/cgroup", own.get("unified", ""))
    made = within / f"reenact-test-{os.getpid()}"
    try:
        made.mkdir()
        (made / ("memory.limit_in_bytes" if v1 else "memory.max")).write_text(str(LIMIT))
    except OSError as error:
        with contextlib.suppress(OSError):
            made.rmdir()
        pytest.skip(f"no group can be made here: {error}")
    yield made
    made.rmdir()


def test_what_a_group_has_left_counts(group: Path) -> None:
    command = [sys.executable, "-c", TELLS, str(group), str(LIMIT // 4 * 3)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())  # the first may be what a group around this one has left
    assert 0.15 < after < 0.25 < before


def made(folder: Path, most: str, held: int, idle: int = 0) -> None:
    """A group of the second version, which few machines with the first have, too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{held}\n")
    (folder / "memory.stat").write_text(f"anon {held - idle}\ninactive_file {idle}\nactive_file 0\n")


@pytest.mark.parametrize("path", ["/user/agent", "/a/path/of/the/machine's"])
def test_the_group_with_the_least_left_counts(tmp_path: Path, path: str) -> None:
    of_process = tmp_path / "cgroup"
    of_process.write_text(f"0::{path}\n")
    made(tmp_path, "1000000", 950_000, 50_000)
    made(tmp_path / "user", "1000000", 990_000, 40_000)
    made(tmp_path / "user" / "agent", "max", 5_000_000)
    assert available(tmp_path, of_process) == pytest.approx(0.05 if path == "/user/agent" else 0.1)


def test_where_nothing_is_known_of_groups_the_machine_counts(tmp_path: Path) -> None:
    assert 0 < available(tmp_path, tmp_path / "none") <= 1
    (tmp_path / "cgroup").write_text("0::/\n")
    made(tmp_path, "0", 0)
    assert available(tmp_path, tmp_path / "cgroup") == pytest.approx(available(tmp_path, tmp_path / "none"), abs=0.05)
