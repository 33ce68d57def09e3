"""`reenact doctor`: what would not replay, and why, each finding with how it was seen."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from reenact.doctor.installation import TESTED
from reenact.doctor.tape import NEWS, NOTED
from reenact.report.note import MEANING
from tests.cli.desk import Desk
from tests.cli.test_deep import NATIVE_CLOCK

LEAKS = {
    "address": """
        import time
        class Tool: pass
        tool = Tool()
        def ask():
            print("use", tool)
        ask()
    """,
    "unordered": """
        import time
        class Word:
            def __init__(self, text): self.text = text
        words = {Word(text) for text in "some words in a set of objects".split()}
        def ask():
            print(" ".join(word.text for word in words))
        ask()
    """,
    "clock": f"""
        {NATIVE_CLOCK.replace(chr(10), chr(10) + "    ").replace("_gettime(1", "_gettime(0")}
        def ask():
            print(native_clock())
        ask()
    """,
}
STEADY = """
    import random, time
    def main():
        text = f"{time.time()} {random.random()}"
        time.sleep(0.001)
        print(text)
    main()
"""


def doctor(desk: Desk, *words: str, env: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """Status and answer of `doctor --json`."""
    done = desk.reenact("doctor", "--json", *words, env=env)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def slugs(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["severity"], finding["slug"]) for finding in document["findings"]]


@pytest.mark.parametrize("slug", LEAKS)
def test_a_leak_is_named_with_its_line(desk: Desk, slug: str) -> None:
    desk.write(LEAKS[slug])
    status, document = doctor(desk, "agent.py")
    assert status == 1
    (finding,) = document["findings"]
    assert (finding["severity"], finding["slug"]) == ("breaks", slug)
    assert finding["where"]["function"] == "ask"
    assert finding["where"]["source"].startswith("print(")
    # objects may come to lie in another order, or in the same one twice
    assert finding["seen"].startswith("in each of 2 replays, ")


def test_a_leak_that_nothing_shows_yet_is_named_by_its_variable(desk: Desk) -> None:
    source = NATIVE_CLOCK + "    def main():\n        now = native_clock()\n        time.sleep(0.001)\n    main()\n"
    desk.write(source)
    status, document = doctor(desk, "agent.py")
    assert status == 0
    (finding,) = document["findings"]
    assert finding["severity"] == "may"
    assert finding["what"].startswith("The variable now holds something else than when recorded.")
    assert finding["seen"].endswith(": now = native_clock()")
    assert finding["why"].endswith("Nothing that the program asked or wrote shows it, in this run.")


def test_a_program_without_a_leak_is_sound(desk: Desk) -> None:
    desk.write(STEADY)
    done = desk.reenact("doctor", "agent.py")
    assert done.returncode == 0
    assert done.stdout.startswith("SOUND  agent-")
    assert "nothing found that would break a replay\n" in done.stdout
    assert "\n                  2 replays, compared with the tape and with each other\n" in done.stdout
    assert "not looked at   what C code does by itself" in done.stdout


def test_a_program_is_run_once_for_real_and_its_tape_is_gone(desk: Desk) -> None:
    desk.write("""
        import pathlib, sys
        print("out of the program", *sys.argv[1:])
        with open("runs", "a") as runs:
            runs.write("once\\n")
        sys.exit(3)
    """)
    done = desk.reenact("doctor", "agent.py", "--city", "Oslo")
    assert done.returncode == 0
    assert done.stderr == "out of the program --city Oslo\n"
    assert (desk.folder / "runs").read_text() == "once\n"
    assert list((desk.folder / ".reenact").iterdir()) == []


def test_a_module_and_a_python_command_line_are_programs_too(desk: Desk) -> None:
    desk.write("print('module')")
    assert desk.reenact("doctor", "-m", "agent").stderr == "module\n"
    done = desk.reenact("doctor", "--", "python", "-c", "print('command')")
    assert (done.returncode, done.stderr) == (0, "command\n")


def test_a_run_is_read_and_replayed(desk: Desk) -> None:
    desk.write(STEADY)
    assert desk.reenact("record", "--quiet", "agent.py").returncode == 0
    status, document = doctor(desk, "last")
    assert (status, document["findings"]) == (0, [])
    assert document["not_looked_at"][0] == "variables: the run was recorded without --deep"
    assert json.loads(desk.reenact("doctor", "last", "--json").stdout) == document


def test_a_changed_program_is_told_apart_from_a_leak(desk: Desk) -> None:
    desk.write(STEADY)
    assert desk.reenact("record", "--quiet", "agent.py").returncode == 0
    desk.write(STEADY.replace("print(text)", 'print("so", text)'))
    status, document = doctor(desk, "last")
    assert status == 1
    assert slugs(document) == [("breaks", "output"), ("may", "world")]
    assert document["findings"][0]["seen"] == "in each of 2 replays, the same in each"
    assert document["findings"][1]["what"] == "Agent.py has changed since the recording."


def test_what_only_looks_like_an_address_is_said_to_be_a_guess(desk: Desk) -> None:
    desk.write("""
        print("<Tool at 0x7f1204dbba90>")
    """)
    status, document = doctor(desk, "agent.py")
    assert (status, slugs(document)) == (0, [("may", "address")])
    assert document["findings"][0]["seen"].startswith("a guess, ")


def test_an_address_that_came_in_is_none_of_ours(desk: Desk) -> None:
    desk.write("""
        print(open("given").read())
    """)
    (desk.folder / "given").write_text("<Tool at 0x7f1204dbba90>")
    assert doctor(desk, "agent.py")[1]["findings"] == []


def test_what_is_neither_a_run_nor_a_program_is_misuse(desk: Desk) -> None:
    done = desk.reenact("doctor", "nonsense")
    assert done.returncode == 2
    assert "nonsense is no run in " in done.stderr


def test_every_sort_of_note_is_a_finding_or_none() -> None:
    assert set(NOTED) | set(NEWS) == set(MEANING)


def test_a_program_may_have_the_name_of_a_run(desk: Desk) -> None:
    desk.write(STEADY)
    desk.write("#!/usr/bin/env python3\nprint('a file')", "last")
    assert desk.reenact("record", "--quiet", "agent.py").returncode == 0
    assert desk.reenact("doctor", "last").stderr == ""
    assert desk.reenact("doctor", "./last").stderr == "a file\n"


# The installation


def test_an_installation_in_order_is_sound(desk: Desk) -> None:
    status, document = doctor(desk, env={"PYTHONHASHSEED": "0"})
    assert status == 0
    assert {slug for _, slug in slugs(document)} <= {"namespaces"}
    assert document["subject"] == "this installation"


def test_settings_that_cannot_be_read_are_told(desk: Desk) -> None:
    (desk.folder / "pyproject.toml").write_text('[tool.reenact]\nboundaries = "no list"\n')
    status, document = doctor(desk)
    assert status == 1
    assert document["findings"][0]["slug"] == "settings"
    assert "boundaries must be a list" in document["findings"][0]["seen"]


def test_settings_of_the_environment_are_told(desk: Desk) -> None:
    status, document = doctor(desk, env={"REENACT_ENABLED": "false", "REENACT_RECORDS": "1"})
    assert status == 1
    assert slugs(document)[:2] == [("breaks", "disabled"), ("may", "variable")]
    assert document["findings"][1]["place"] == "REENACT_RECORDS"


@pytest.mark.parametrize("settings", ["sample = 2", "tags = 5", 'side-traffic = ""'])
def test_each_setting_is_looked_at(desk: Desk, settings: str) -> None:
    (desk.folder / "pyproject.toml").write_text(f"[tool.reenact]\n{settings}\n")
    status, document = doctor(desk)
    assert (status, document["findings"][0]["slug"]) == (1, "settings")
    assert document["findings"][0]["seen"].startswith(f"[tool.reenact] {settings.partition(' ')[0]}")


def test_the_labels_and_the_sample_of_the_environment_are_settings(desk: Desk) -> None:
    fine = {"REENACT_SAMPLE": "0.5", "REENACT_SESSION": "s", "REENACT_TAGS": "a=b"}
    assert not [finding for finding in doctor(desk, env=fine)[1]["findings"] if finding["slug"] == "variable"]
    status, document = doctor(desk, env={"REENACT_SAMPLE": "5%"})
    assert (status, slugs(document)[0]) == (1, ("breaks", "variable"))
    assert "and not '5%'" in document["findings"][0]["seen"]


def test_marks_that_are_never_the_same_are_told(desk: Desk) -> None:
    desk.write("""
        import ctypes, reenact
        with reenact.step(f"of process {ctypes.CDLL(None).getpid()}"):
            print("done")
    """)
    desk.reenact("record", "agent.py")
    status, document = doctor(desk, "last")
    (finding,) = [finding for finding in document["findings"] if finding["slug"] == "mark"]
    assert (status, finding["severity"], finding["place"]) == (0, "note", "__main__:<module>")
    assert finding["what"].startswith("Marked step 'of process ")


def test_a_store_that_cannot_be_made_is_told(desk: Desk) -> None:
    (desk.folder / "file").write_text("")
    status, document = doctor(desk, "--store", "file/store")
    assert (status, slugs(document)[0]) == (1, ("breaks", "store"))


def test_a_library_of_another_series_is_told(desk: Desk) -> None:
    for name, version in (("httpx", "0.99.0"), ("urllib3", "2.8.7")):
        (desk.folder / f"{name}-{version}.dist-info").mkdir()
    status, document = doctor(desk, env={"PYTHONPATH": str(desk.folder)})
    found = [finding["what"] for finding in document["findings"] if finding["slug"] == "untested"]
    assert (status, found) == (0, ["httpx 0.99.0 is not a version that its seam is tested with."])


def test_the_versions_said_to_be_tested_are_those_of_the_tests() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    pins = dict(line.split("==") for line in project["dependency-groups"]["test"])
    assert {name: pins[name] for name in TESTED} == {name: versions[0] for name, versions in TESTED.items()}
