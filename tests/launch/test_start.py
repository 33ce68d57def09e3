"""What is loaded where: a replay takes no longer than it has to, and what is loaded in vain is most of its fixed cost."""

from __future__ import annotations

import pytest

from tests.runs import Bench, Done, Run

PLAIN = "print('said')\n"

# What tells of differences, and what only other commands have a use for.
NOT_IN_THE_COMMAND = (
    "reenact.diff.text",
    "reenact.edits",
    "reenact.engine.cause",
    "reenact.engine.diff",
    "reenact.engine.session",
    "reenact.launch.child",
    "reenact.launch.closing",
    "reenact.launch.recorder",
    "reenact.launch.world",
    "reenact.providers",
    "reenact.report.divergence",
    "reenact.seams",
    "reenact.tape.vault",
    "reenact.trajectory",
    "asyncio",
    "ctypes",
    "importlib.metadata",
    "ssl",
)
# What the command does, what only a difference or another mode needs, and seams of libraries that the program has not.
NOT_IN_THE_PROGRAM = (
    "reenact.cli",
    "reenact.diff.document",
    "reenact.diff.text",
    "reenact.doctor",
    "reenact.edits",
    "reenact.engine.cause",
    "reenact.engine.diff",
    "reenact.engine.locals",
    "reenact.foreign",
    "reenact.launch.launcher",
    "reenact.launch.offspring",
    "reenact.launch.onward",
    "reenact.launch.recorder",
    "reenact.launch.rewinding",
    "reenact.launch.supervise",
    "reenact.launch.world",
    "reenact.providers",
    "reenact.report",
    "reenact.seams.http",
    "reenact.tape.check",
    "reenact.tape.close",
    "reenact.tape.scan",
    "reenact.trajectory",
    "click",
    "difflib",
    "importlib.metadata",
    "multiprocessing",
    "tomllib",
)


def in_vain(told: Done, names: tuple[str, ...]) -> set[str]:
    """Which of these modules and packages a process has loaded, by what `-X importtime` says."""
    lines = told.stderr.decode().splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "reenact.tape.reader" in loaded, "it is the process that is meant"
    return {module for module in loaded for name in names if f"{module}.".startswith(f"{name}.")}


@pytest.mark.parametrize("verb", ["replay", "verify"])
def test_a_command_loads_what_tells_of_differences_only_where_there_are_any(bench: Bench, verb: str) -> None:
    run = bench.record(PLAIN)
    told = bench.run("-X", "importtime", "-m", "reenact", verb, run.path.stem)
    assert told.status == 0
    assert in_vain(told, NOT_IN_THE_COMMAND) == set()
    bench.write("print('said something else')\n")
    told = bench.run("-X", "importtime", "-m", "reenact", verb, run.path.stem)
    assert told.status == 1
    assert "reenact.report.divergence" in in_vain(told, NOT_IN_THE_COMMAND)


def test_the_certificate_is_loaded_while_the_program_replays(bench: Bench) -> None:
    code = """
        import sys
        import reenact.cli.rerun
        reenact.cli.rerun.rerun = lambda *_, **__: sys.exit(int("reenact.report.certificate" in sys.modules))
        from reenact.cli.main import cli
        cli.main(["{verb}", "any"])
    """
    for verb in ("replay", "verify"):
        assert bench.run(bench.write(code.format(verb=verb))).status == 0


@pytest.fixture
def telling(bench: Bench) -> Run:
    """A run whose processes say on stderr what they load, when it is recorded and when it is replayed."""
    return bench.record(PLAIN, env={"PYTHONPROFILEIMPORTTIME": "1"})


def test_a_program_that_replays_has_nothing_loaded_that_replays_without(telling: Run) -> None:
    told = telling.replay()
    assert told.status == 0
    assert in_vain(told, NOT_IN_THE_PROGRAM) == set()


def test_a_recording_loads_no_replay(bench: Bench) -> None:
    bench.write(PLAIN)
    told = bench.run("-X", "importtime", "-m", "reenact", "record", "agent.py")
    assert told.status == 0
    assert in_vain(told, ("reenact.launch.launcher", "reenact.engine.cause", "reenact.diff.text")) == set()


def test_the_program_finds_the_collector_as_it_is_without_us(bench: Bench) -> None:
    program = "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.collect(), gc.garbage)\nkept = [[]]\ngc.freeze()\nprint(gc.get_freeze_count() > 0)\ngc.unfreeze()\nprint(gc.get_freeze_count())\n"
    run = bench.record(program)
    assert run.stdout == bench.plain(program).stdout
    run.reproduced()
