"""How long it takes until reenact is there: as a library, as a command, and as a hook that is off."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from statistics import median

from bench.figure import AtMost, Figure, Quantity, compared
from bench.launch import environment, in_turns
from bench.scale import Scale

_MS = 1_000_000
# -S: site is not run, so that what it does for one .pth file can be timed
_HOOK = """
import site, sys, time
began = time.perf_counter_ns()
site.addpackage(sys.argv[1], "reenact.pth", set())
print(time.perf_counter_ns() - began)
"""


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """The figures."""
    took = in_turns(
        {
            "empty": ([sys.executable, "-c", "pass"], dict),
            "library": ([sys.executable, "-c", "import reenact"], dict),
            "command": ([sys.executable, "-m", "reenact", "--help"], dict),
        },
        folder,
        scale.starts,
    )
    wall = {name: Quantity(median(each.wall for each in ran)) for name, ran in took.items()}
    base = "python -c pass"
    library = compared("Start-up", "python -c 'import reenact'", wall["library"], wall["empty"], base)
    command = compared("Start-up", "reenact --help", wall["command"], wall["empty"], base)
    hook = compared("Start-up", "the start-up hook, when off", _hook(scale), wall["empty"], base)
    return [_with(library, 60 * _MS), _with(command, 200 * _MS), _with(hook, _MS)]


def _with(figure: Figure, limit: int) -> Figure:
    return Figure(figure.group, figure.what, figure.measured, figure.reference, figure.ratio, AtMost(Quantity(limit)))


def _hook(scale: Scale) -> Quantity:
    command = [sys.executable, "-S", "-c", _HOOK, sysconfig.get_path("purelib")]
    took = []
    for _ in range(scale.starts):
        done = subprocess.run(command, env=environment(), capture_output=True, check=True, text=True)  # noqa: S603
        took.append(int(done.stdout))
    return Quantity(median(took))
