"""A stranger's tape at the command line: nothing of it is obeyed, by the terminal or by us."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reenact.launch.closing import close
from reenact.launch.manifest import Machine, Manifest, encode
from reenact.tape import event as ev
from reenact.tape.reader import read, records
from reenact.tape.writer import TapeWriter
from tests.cli.desk import Desk
from tests.runs import Bench
from tests.trajectory.made import CHAT, STARTED, completion

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\r\n\u2028\u3164\U000e0101."
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def evil(what: str) -> str:
    return f"{what}{EVIL}"


def hostile(path: Path, *, executable: str = "/bin/python", cwd: str | None = None, run: str = "") -> None:
    """A tape on which every text is hostile that can be; but for the name of its `run`, where that has to be right."""
    manifest = Manifest(
        run_id=run or evil("run"),
        name=evil("name"),
        started=STARTED,
        reenact=evil("1"),
        python=evil("3.11"),
        executable=evil(executable) if executable == "/bin/python" else executable,
        platform=evil("linux"),
        cwd=evil("/work") if cwd is None else cwd,
        flags=[evil("-X")],
        target=[evil("agent.py"), EVIL],
        environment={evil("A"): EVIL},
        secrets=[evil("KEY")],
        packages={evil("pack"): EVIL},
        sources={evil("agent.py"): EVIL},
        git_commit=EVIL,
        git_diff=EVIL,
        machine=Machine([EVIL] * 5),
        boundaries=[evil("a:b")],
        tags={evil("tag"): EVIL},
        session=EVIL,
    )
    failed = ev.Failed(evil("mod"), evil("Error"), [EVIL], {"a": EVIL}, ev.Failed(EVIL, EVIL, [EVIL], {}))
    head = {
        "status": 200,
        "headers": [["content-type", "application/json"], [EVIL, EVIL]],
        "reason": EVIL,
        "version": EVIL,
    }
    message: dict[str, Any] = {"role": "assistant", "content": evil("said"), "reasoning": EVIL, "refusal": EVIL}
    message["tool_calls"] = [{"id": EVIL, "function": {"name": evil("tool"), "arguments": json.dumps({EVIL: EVIL})}}]
    asked = {
        "model": evil("model"),
        "messages": [
            {"role": EVIL, "content": EVIL},
            {"role": "user", "content": [{"type": EVIL}, {"type": "text", "text": EVIL}]},
            {"role": "tool", "tool_call_id": EVIL, "name": EVIL, "content": EVIL},
        ],
        "tools": [{"type": "function", "function": {"name": EVIL, "description": EVIL}}],
    }
    answer = msgspec.json.decode(completion(message))
    answer |= {"id": EVIL, "model": EVIL}
    answer["choices"][0]["finish_reason"] = EVIL
    writer = TapeWriter.create(
        path, run or evil("run"), evil("name"), STARTED, {"session": EVIL, "tags": json.dumps({EVIL: EVIL})}
    )
    nothing = ev.Delta(-1, 0, 0, b"")
    for record in (
        ev.Start(encode(manifest)),
        ev.LaneBorn(0, "0", EVIL),
        ev.LaneBorn(1, "0.1", evil("lane")),
        ev.SiteNamed(0, evil("agent:ask"), evil("/work/agent.py"), 7),
        ev.Mark(0, ev.MarkKind.AGENT, 1, 0, -1, 0, EVIL, {EVIL: EVIL, "role": EVIL}),
        ev.Mark(0, ev.MarkKind.INSIDE, 1, 0),
        ev.Mark(0, ev.MarkKind.SESSION, 1, name=EVIL),
        ev.Mark(0, ev.MarkKind.TAGS, 1, attributes={EVIL: EVIL}),
        ev.Began(
            0, 0, 1, CHAT, 0, 2, json.dumps([[EVIL, EVIL]]).encode(), ev.Delta(-1, 0, 0, json.dumps(asked).encode())
        ),
        ev.Part(0, 1, 3, json.dumps(head).encode()),
        ev.Part(0, 2, 4, json.dumps(answer, ensure_ascii=False).encode()),
        ev.Part(0, 3, 5, b""),
        *(
            ev.Began(1 + at, at % 2, kind, evil(f"GET http://h/{kind.name}"), 0, 10 + at, b"[]", nothing)
            for at, kind in enumerate(ev.Kind)
        ),
        *(
            ev.Part(1 + at, 4 if at % 2 else 6, 30 + at, EVIL.encode(), failed if at % 2 else None)
            for at, _ in enumerate(ev.Kind)
        ),
        ev.Note(EVIL, f"{EVIL}\n{EVIL}", 0),
        ev.Note("unseen", EVIL, 0),
        ev.Aside(0, 1, EVIL),
        ev.Mark(0, ev.MarkKind.ENDED, 50, 0, name=EVIL),
        ev.Kin("0.2", EVIL, msgspec.msgpack.encode([ev.Start(encode(manifest)), ev.LaneBorn(0, "0.2", EVIL)])),
        ev.Ended(60, failed),
    ):
        writer.add(record)
    writer.close()
    close(path, 1)


VIEWS = [
    ("show", "last"), ("show", "last@1"), *(("show", "last", "--event", str(at)) for at in range(13)),
    ("show", "last", "--agent", EVIL), ("show", "last", "--agent", evil("none")), ("show", evil("no run")),
    ("runs",), ("runs", "--tag", "a=b"), ("fsck", "--all"), ("fsck", evil("no run")), ("rm", evil("no run")),
]  # fmt: skip


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    (desk.folder / ".reenact").mkdir()
    hostile(desk.folder / ".reenact" / "\x1b]0;owned\x07x-7f3a.tape")
    return desk


@pytest.mark.parametrize("words", VIEWS, ids=lambda words: " ".join(words).encode("unicode_escape").decode()[:40])
def test_nothing_on_a_tape_reaches_the_terminal_as_a_control(tape: Desk, words: tuple[str, ...]) -> None:
    status, screen = tape.at_terminal(*words)
    assert status in (0, 1, 2), screen
    assert "reenact itself failed" not in screen
    assert screen
    assert COLOURS.sub("", screen).replace("\n", "").isprintable()
    assert "\u3164" not in screen


@pytest.mark.parametrize("words", [words for words in VIEWS if words[0] in ("show", "runs", "fsck")][:16], ids=str)
def test_json_escapes_what_a_terminal_would_obey_and_says_the_same(tape: Desk, words: tuple[str, ...]) -> None:
    done = tape.reenact(*words, "--json")
    assert done.stderr.replace("\n", "").isprintable()
    for line in done.stdout.splitlines():
        assert line.isprintable()
        assert "\u3164" not in line
        json.loads(line)
    if words == ("show", "last@1"):
        assert json.loads(done.stdout)["step"]["model"] == evil("model")


def test_a_fault_of_ours_is_told_without_controls(tape: Desk) -> None:
    """Whatever an exception quotes: this one says what it was given."""
    code = (
        "import reenact.tape.store as s, sys\n"
        "def fail(*_): raise ValueError(sys.argv[-1])\n"
        "s.Store.resolve = fail\n"
        "from reenact.cli.main import main\n"
        f"sys.argv[1:] = ['show', {EVIL!r}]\n"
        "main()"
    )
    bench = Bench(tape.folder)
    done = bench.run("-c", code)
    assert done.status == 70
    said = done.stderr.decode()
    assert "error[internal]: reenact itself failed" in said
    assert "ValueError: " in said
    assert said.replace("\n", "").isprintable()


# What is run


def retold(path: Path, change: Any) -> None:
    """Puts other records on a tape: each goes through `change`, which gives what stands in its place."""
    old = list(records(path))
    told = read(path)
    path.unlink()
    writer = TapeWriter.create(
        path, str(told.summary["run_id"]), str(told.summary["name"]), int(told.summary["started"])
    )
    for record in old:
        if not isinstance(record, ev.Exited):
            for one in change(record):
                writer.add(one)
    writer.close()
    close(path, told.status)


def with_manifest(path: Path, **other: Any) -> None:
    def change(record: ev.AnyRecord) -> list[ev.AnyRecord]:
        if not isinstance(record, ev.Start):
            return [record]
        manifest = msgspec.structs.replace(msgspec.json.decode(record.manifest, type=Manifest), **other)
        return [ev.Start(encode(manifest))]

    retold(path, change)


AGENT = "print('hello')\n"


@pytest.mark.parametrize("command", ["replay", "verify"])
def test_what_would_run_without_the_hook_is_not_run(bench: Bench, command: str) -> None:
    """It would not be closed in."""
    run = bench.record(AGENT)
    with_manifest(run.path, executable="/bin/sh", target=["-c", "touch owned"])
    done = bench.run("-m", "reenact", command, run.path.stem)
    assert done.status == 2
    assert b"nothing was run: the tape was recorded with" in done.stderr
    assert not (bench.folder / "owned").exists()


def test_without_site_nothing_is_run(bench: Bench) -> None:
    run = bench.record(AGENT)
    with_manifest(run.path, flags=["-IS"], target=["-c", "open('owned', 'w')"])
    assert bench.run("-m", "reenact", "replay", run.path.stem).status == 2
    assert not (bench.folder / "owned").exists()


@pytest.mark.parametrize("odd", [{"environment": {"A=B": "c"}}, {"environment": {"A": "\0"}}, {"target": ["a\0b"]}])
def test_what_is_no_command_line_is_told(bench: Bench, odd: dict[str, Any]) -> None:
    run = bench.record(AGENT)
    with_manifest(run.path, **odd)
    done = bench.run("-m", "reenact", "replay", run.path.stem)
    assert done.status == 2
    assert b"error[usage]" in done.stderr


def test_a_tape_from_elsewhere_says_first_what_it_runs(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = bench.record(AGENT)
    assert b"recorded elsewhere" not in bench.run("-m", "reenact", "replay", run.path.stem).stderr
    other = Bench(tmp_path_factory.mktemp("elsewhere"))
    shutil.copy(run.path, other.store.root)
    done = other.run("-m", "reenact", "replay", run.path.stem)
    assert done.status == 0
    line = f"reenact: recorded elsewhere: this runs  python agent.py  in {bench.folder}, with {sys.executable}\n"
    assert re.sub(r"runs  python\S*", "runs  python", done.stderr.decode()).startswith(line)


def test_reading_a_tape_runs_imports_and_opens_nothing_of_it(desk: Desk) -> None:
    """The tape names a program, modules and files that are all there."""
    for name in ("agent", "normal", "sitecustomize", "json", "click"):
        desk.write("open('owned', 'w')\nnormalize = None", f"{name}.py")
    settings = (
        "[tool.reenact]\nboundaries = ['normal:f']\n[[tool.reenact.normalizers]]\nname = 'n'\npython = 'normal:f'\n"
    )
    desk.write(settings, "pyproject.toml")
    path = desk.folder / ".reenact" / "x-7f3a.tape"
    hostile(path, executable=sys.executable, cwd=str(desk.folder), run=path.stem)
    for words in (("show", "last"), ("show", "last@1"), ("show", "last", "--event", "0"), ("runs",), ("fsck", "--all")):
        assert desk.reenact(*words).returncode == 0
    assert not (desk.folder / "owned").exists()


# What is put on disk


@pytest.mark.parametrize("leads", ["up", "out", "link", "name", "device", "store", "link-to-store"])
def test_files_of_a_tape_stay_where_a_replay_may_write(
    either: Bench, leads: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    precious = outside / "precious"
    precious.write_text("mine")
    (either.folder / "data").write_text("x")
    run = either.record("print(open('data').read())\n")
    kept = b"#!/bin/sh\nowned\n"
    here = str(either.folder)
    saw = ev.Saw(str(precious), ev.Sight.FILE, 0o700, len(kept), 5, b"k" * 32)
    more: list[ev.AnyRecord] = [ev.Content(b"k" * 32, kept)]
    replace = msgspec.structs.replace
    match leads:
        case "up":
            more.append(replace(saw, path=f"{here}/x/../../{outside.name}/precious"))
        case "out":
            more.append(saw)
        case "link":
            more += [
                ev.Saw(f"{here}/link", ev.Sight.LINK, names=[str(outside)]),
                replace(saw, path=f"{here}/link/precious"),
            ]
        case "name":
            names = [f"../../{outside.name}/new", f"{outside}/new", "..", ""]
            more.append(ev.Saw(f"{here}/folder", ev.Sight.FOLDER, 0o700, names=names))
        case "device":
            os.mkfifo(either.folder / "pipe")
            more += [
                replace(saw, path=path)
                for path in ("/dev/full", f"{here}/pipe", f"{here}/../{either.folder.name}/pipe")
            ]
        case "link-to-store":
            link = ev.Saw(f"{here}/link", ev.Sight.LINK, names=[f"{here}/.reenact"])
            more += [link, replace(saw, path=f"{here}/link/other.tape")]
        case "store":
            more.append(replace(saw, path=f"{here}/.reenact/other.tape"))
    first = True

    def change(record: ev.AnyRecord) -> list[ev.AnyRecord]:
        nonlocal first
        if first and isinstance(record, ev.Saw):
            first = False
            return [*more, record]
        return [record]

    retold(run.path, change)
    assert not first
    done = either.run("-m", "reenact", "verify", run.path.stem, "--json")
    assert done.status in (0, 1), done.stderr.decode()[-2000:]
    assert precious.read_text() == "mine"
    assert sorted(path.name for path in outside.iterdir()) == ["precious"]
    assert not (either.store.root / "other.tape").exists()


def test_only_tapes_are_deleted_with_a_tape(desk: Desk) -> None:
    """`src.tape` beside a folder `src` that is the user's own."""
    hostile(desk.folder / "src.tape")
    (desk.folder / "src").mkdir()
    (desk.folder / "src" / "mine.py").write_text("mine")
    done = desk.reenact("rm", "src.tape", "--yes")
    assert (done.returncode, done.stdout) == (0, "deleted src\n")
    assert (desk.folder / "src" / "mine.py").read_text() == "mine"
    assert not (desk.folder / "src.tape").exists()


def test_no_name_is_no_run(desk: Desk) -> None:
    hostile(desk.folder / ".reenact" / "x-7f3a.tape")
    done = desk.reenact("rm", "", "--yes")
    assert done.returncode == 2
    assert (desk.folder / ".reenact" / "x-7f3a.tape").exists()


# Settings


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("x = " + "[" * 5000, "nested too deep"),
        (
            "[[tool.reenact.normalizers]]\nname='a'\nregex='" + "(" * 5000 + ")" * 5000 + "'\nreplace=''",
            "does not work",
        ),
        ("[[tool.reenact.normalizers]]\nname='a'\nregex='a{99999999999}'\nreplace=''", "does not work"),
    ],
    ids=["nested", "groups", "repeated"],
)
def test_settings_that_cannot_be_read_are_told(desk: Desk, table: str, told: str) -> None:
    hostile(desk.folder / ".reenact" / "x-7f3a.tape", executable=sys.executable, cwd=str(desk.folder), run="x-7f3a")
    desk.write(table, "pyproject.toml")
    done = desk.reenact("verify", "last")
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
