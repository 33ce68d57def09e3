"""How long a replay takes, next to the same agent whose model answers from the memory of its own process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench import conversation
from bench.agents.pace import UNLED
from bench.figure import AtMostTimes, Figure, Quantity
from bench.launch import Ran, agent, in_turns, recorded, replayed, run
from bench.scale import Scale
from reenact.launch import manifest as manifests
from reenact.tape.reader import read

LIMIT = AtMostTimes(1.2)
Commands = Mapping[str, tuple[Sequence[str], Callable[[], Mapping[str, str]]]]


def measure(scale: Scale, url: str, folder: Path) -> list[Figure]:
    """The figures."""
    answers = folder / "answers"
    answers.write_bytes(b"\n".join(map(conversation.answer, range(max(scale.replays)))))
    figures: list[Figure] = []
    for steps in scale.replays:
        # what the command costs is the same for every length
        commands = _sdk(url, folder / f"sdk{steps}", steps, str(answers), part_by_part=steps == min(scale.replays))
        took = in_turns(commands, folder, scale.replay_times)
        figures += _figures("openai SDK", steps, took, LIMIT)
    for steps in scale.replays:
        took = in_turns(_httpx(url, folder / f"httpx{steps}", steps, str(answers)), folder, scale.replay_times)
        figures += _figures("plain httpx", steps, took, None)
    return figures


def _figures(name: str, steps: int, took: dict[str, list[Ran]], limit: AtMostTimes | None) -> list[Figure]:
    """The ratio of a round is between neighbours in time."""
    mock = took.pop("mock")
    found = []
    for who, ran in took.items():
        for clock, target in (("wall", limit if who == "reenact" else None), ("processor", None)):
            measured, base = ([_on(clock, each) for each in runs] for runs in (ran, mock))
            ratios = tuple(one / other for one, other in zip(measured, base, strict=True))
            what = f"{name}, {steps} steps, {who}, {clock}"
            reference = f"mock transport {Quantity(median(base))}"
            runs = ratios if target is not None else tuple(map(float, measured))
            found.append(Figure("A replay", what, Quantity(median(measured)), reference, median(ratios), target, runs))
    return found


def _on(clock: str, ran: Ran) -> int:
    return ran.wall if clock == "wall" else ran.cpu


def _sdk(url: str, folder: Path, steps: int, answers: str, *, part_by_part: bool) -> Commands:
    folder.mkdir()
    words = (f"{url}/json-sdk{steps}/v1", str(steps))
    run(recorded(folder / "store", "sdk", *words), folder)
    commands: dict[str, tuple[Sequence[str], Callable[[], Mapping[str, str]]]] = {
        "mock": (agent("sdk", answers, str(steps)), dict),
        "reenact": (replayed(folder / "store"), dict),
    }
    if part_by_part:
        commands["reenact without its command"] = (agent("sdk", *words), partial(_replaying, folder))
    return commands


def _httpx(url: str, folder: Path, steps: int, answers: str) -> Commands:
    folder.mkdir()
    cassette = str(folder / "cassette.yaml")
    words = (UNLED, f"{url}/json-httpx{steps}/v1", str(steps), "json")
    run(recorded(folder / "store", "growing", *words), folder)
    words_of_vcr = (cassette, UNLED, f"{url}/json-vcr{steps}/v1", str(steps), "json")
    run(agent("under_vcr", *words_of_vcr), folder)
    return {
        "mock": (agent("growing", UNLED, answers, str(steps), "json"), dict),
        "reenact": (replayed(folder / "store"), dict),
        "vcrpy (bodies not compared)": (agent("under_vcr", *words_of_vcr), dict),
    }


def _replaying(folder: Path) -> dict[str, str]:
    """What `reenact replay` puts into the environment of the process that it starts."""
    (tape,) = (folder / "store").glob("*.tape")
    seed = manifests.decode(read(tape).manifest).hash_seed
    report = Path(tempfile.mkdtemp(dir=folder.parent)) / "report.json"
    spec = {"mode": "replay", "tape": str(tape), "report": str(report), "hash_seed": seed}
    return {"REENACT_SPEC": json.dumps(spec), "PYTHONHASHSEED": seed}
