"""What there is to try, each by the harness that also its own command runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzz.__main__ import tallies as fuzzed
from fuzz.targets import TARGETS
from tests.durability.__main__ import tallies as durability
from tests.integrity import forge
from tests.planted import trial as planted
from tests.scale.__main__ import tallies as scale
from tests.scale.cases import CASES
from trust.tally import Tally


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it: little when `quick`; and for so many `seconds` what can go on for ever."""

    quick: bool
    seconds: int


@dataclass(frozen=True, slots=True)
class Part:
    """One sort of trial. `command` runs it alone, and `tried` here, in an empty folder."""

    what: str
    command: str
    tried: Callable[[Path, Size], Iterable[Tally]]


def _durability(part: str) -> Callable[[Path, Size], Iterable[Tally]]:
    return lambda folder, size: durability(part, folder, quick=size.quick)


def _scale(names: Iterable[str]) -> Callable[[Path, Size], Iterable[Tally]]:
    return lambda folder, size: scale(names, folder, quick=size.quick)


_EXCHANGES: Final = (*(name for name in CASES if name.startswith("answer-")), "held", "request")
_STRAIN: Final = tuple(name for name in CASES if name not in _EXCHANGES)
_STEP: Final = 97  # of the bits that fsck is asked of, in a quick trial

PARTS: Final[dict[str, Part]] = {
    "crash": Part("crash points of a recording", "./task durability crash", _durability("crash")),
    "resume": Part("crash points of resume", "./task durability resume", _durability("resume")),
    "power": Part("power-loss states", "./task durability power", _durability("power")),
    "kill": Part("kills at random moments", "./task durability kill", _durability("kill")),
    "flips": Part(
        "bit flips and cuts",
        "./task forge flips",
        lambda folder, size: forge.flips(folder, _STEP if size.quick else 1),
    ),
    "forgeries": Part("forgeries", "./task forge forgeries", lambda folder, _size: forge.forged(folder)),
    "fuzz": Part("fuzz executions", "./task fuzz", lambda _folder, size: fuzzed(list(TARGETS), size.seconds)),
    "secrets": Part("planted secrets", "./task secrets", lambda _folder, _size: planted.tallies()),
    "memory": Part("memory of long exchanges", f"./task scale {' '.join(_EXCHANGES)}", _scale(_EXCHANGES)),
    "strain": Part("strain", "./task scale", _scale(_STRAIN)),
}
