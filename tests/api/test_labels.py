"""Sessions, tags and samples of runs, from code, from the environment and on the command line."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from reenact.tape import listing as listing_module
from reenact.tape.listing import Wanted, listing
from reenact.tape.store import Store
from tests.runs import Bench, Run

NAP = "import time\ntime.sleep(0.001)\nprint('done')\n"


def listed(bench: Bench, *options: str) -> dict[str, dict[str, Any]]:
    done = bench.run("-m", "reenact", "runs", "--json", *options)
    assert done.status == 0, done.stderr.decode()
    return {row["id"]: row for row in json.loads(done.stdout)}


def labels(rows: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, str]]]:
    return sorted((row["session"], row["tags"]) for row in rows.values())


def test_a_recorded_program_has_them_from_the_command_line_the_environment_and_the_project(bench: Bench) -> None:
    (bench.folder / "pyproject.toml").write_text('[tool.reenact.tags]\nteam = "desk"\nenv = "dev"\nlevel = 3\n')
    env = {"REENACT_SESSION": "from-env", "REENACT_TAGS": "env=test, beta"}
    run = bench.record(NAP, env=env, options=["--session", "s-1", "--tag", "env=prod", "--tag", "canary"])
    bench.record(NAP, env=env)
    tags = {"team": "desk", "level": "3", "beta": ""}
    assert labels(listed(bench)) == [
        ("from-env", {**tags, "env": "test"}),
        ("s-1", {**tags, "env": "prod", "canary": ""}),
    ]
    run.reproduced()
    shown = bench.run("-m", "reenact", "show", run.path.stem).stdout.decode()
    assert "\n  session   s-1\n  tags      team=desk env=prod level=3 beta canary\n" in shown
    document = json.loads(bench.run("-m", "reenact", "show", run.path.stem, "--json").stdout)["run"]
    assert (document["session"], document["tags"]["env"]) == ("s-1", "prod")
    assert bench.run("-m", "reenact", "fsck", "--all").status == 0


def test_runs_are_found_by_them(bench: Bench) -> None:
    first = bench.record(NAP, options=["--session", "a", "--tag", "env=prod"]).path.stem
    second = bench.record(NAP, options=["--session", "a", "--tag", "env=dev", "--tag", "beta"]).path.stem
    third = bench.record(NAP).path.stem
    for options, found in (
        ([], {first, second, third}),
        (["--session", "a"], {first, second}),
        (["--session", "b"], set()),
        (["--tag", "env"], {first, second}),
        (["--tag", "env=prod"], {first}),
        (["--session", "a", "--tag", "beta", "--tag", "env=dev"], {second}),
        (["--tag", "beta", "--tag", "env=prod"], set()),
    ):
        assert set(listed(bench, *options)) == found, options
    text = bench.run("-m", "reenact", "runs", "--session", "a").stdout.decode().splitlines()
    assert text[0].split()[-3:] == ["SESSION", "TAGS", "PROGRAM"]
    told = [re.split(r" {2,}", line)[-3:] for line in text[1:]]
    assert told == [["a", "beta env=dev", "agent.py"], ["a", "env=prod", "agent.py"]]
    assert "SESSION" not in bench.run("-m", "reenact", "runs", "--session", "b").stdout.decode()
    assert bench.run("-m", "reenact", "runs", "--session", "b").stdout.startswith(b"No such runs in ")


def test_what_a_process_of_the_run_calls_it_the_run_is_called(bench: Bench) -> None:
    run = bench.record("""
        import multiprocessing as mp, subprocess, sys
        import reenact

        def work():
            reenact.session("s-1")
            reenact.tag("worker", who="worker")

        if __name__ == "__main__":
            worker = mp.get_context("fork").Process(target=work)
            worker.start()
            worker.join()
            subprocess.run([sys.executable, "-c", "import reenact; reenact.tag('joined')"], check=True)
            reenact.tag(who="main")
    """)
    tags = {"who": "main", "worker": "", "joined": ""}
    assert labels(listed(bench, "--session", "s-1", "--tag", "joined")) == [("s-1", tags)]
    document = json.loads(bench.run("-m", "reenact", "show", run.path.stem, "--json").stdout)["run"]
    assert (document["session"], document["tags"]) == ("s-1", tags)
    run.reproduced()


def test_a_filter_reads_no_journal_and_no_events(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.record(NAP, options=["--session", "a"]).path
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE piece SET data = x''")
    monkeypatch.setattr(listing_module, "_ASKED", "SELECT nothing FROM nowhere WHERE ?")
    assert listing(Store(path.parent), Wanted(session="b")) == ()
    assert listing(Store(path.parent), Wanted(session="a"))[0].outcome == "unreadable"


def test_a_run_that_goes_on_is_found_by_what_it_began_with(bench: Bench) -> None:
    program = bench.write("import sys\nprint('ready', flush=True)\nsys.stdin.read()\nimport time; time.sleep(60)")
    with bench.start("-m", "reenact", "record", "--session", "live", program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        (row,) = listed(bench, "--session", "live").values()
        process.kill()
    assert row["outcome"] == "recording"


@pytest.mark.parametrize(
    ("options", "env", "told"),
    [
        (["--tag", "a b=c"], {}, "a tag's key is 1 to 64 letters, digits and _ . : / -, and not 'a b'"),
        (["--tag", "a=\n"], {}, "the value of tag a is a number"),
        (["--session", ""], {}, "a session is a text of 1 to 200 printable letters, and not ''"),
        (["--sample", "nan"], {}, "--sample is the share of runs to record, a number from 0 to 1, and not 'nan'"),
        ([], {"REENACT_TAGS": "é"}, "REENACT_SESSION and REENACT_TAGS: a tag's key"),
        ([], {"REENACT_SESSION": " "}, "REENACT_SESSION and REENACT_TAGS: a session is"),
    ],
)
def test_what_cannot_be_one_is_told_at_once(bench: Bench, options: list[str], env: dict[str, str], told: str) -> None:
    done = bench.run("-m", "reenact", "record", *options, bench.write(NAP), env=env)
    assert (done.status, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"error[usage]: {told}"), done.stderr.decode()
    assert bench.store.ids() == []


@pytest.mark.parametrize("settings", ["tags = 5", 'tags = {"a b" = 1}', "sample = 7"])
def test_settings_that_cannot_be_are_told_with_their_name(bench: Bench, settings: str) -> None:
    (bench.folder / "pyproject.toml").write_text(f"[tool.reenact]\n{settings}\n")
    name = settings.partition(" ")[0]
    env = {"REENACT_RECORD": "1"}
    done = bench.run(bench.write(NAP), env=env)
    assert (done.status, done.stdout) == (0, b"done\n")  # a program is never kept from running
    assert done.stderr.decode().startswith(f"reenact: nothing is recorded: [tool.reenact] {name}"), done.stderr.decode()
    done = bench.plain("import reenact\n@reenact.record\ndef work(): print('done')\nwork()\nwork()\n")
    assert (done.status, done.stdout) == (0, b"done\n" * 2)
    assert done.stderr.decode().count(f"work is not recorded: [tool.reenact] {name}") == 1
    assert bench.store.ids() == []


@pytest.mark.parametrize(
    "given", ["session=''", "tags={'a b': 1}", "tags='x'", "sample=2", "sample=float('nan')", "sample='x'"]
)
def test_a_decorator_with_what_cannot_be_is_refused_where_it_stands(bench: Bench, given: str) -> None:
    done = bench.plain(f"import reenact\n@reenact.record({given})\ndef work(): pass\n")
    assert done.status == 1
    assert b"reenact.errors.UsageError: " in done.stderr


SERVICE = """
    import reenact

    @reenact.record(session=lambda chat, text: chat or None, tags={"env": "prod"}, sample=0.5)
    def answer(chat, text):
        reenact.tag(customer=f"customer of {chat}", turn=len(text))
        if text == "move":
            reenact.session("moved")
        return reenact.current_run()

    @reenact.record(sample=lambda name: name == "vip")
    def serve(name):
        return reenact.current_run()

    @reenact.record(session=lambda: 1 / 0)
    def broken(): return "served"

    if __name__ == "__main__":
        for chat in range(30):
            print("answer", chat, *(answer(f"chat-{chat}", text) for text in ("a", "bb", "move")))
        print("serve", *(serve(name) for name in ("vip", "other", "vip")))
        print(broken(), broken())
        with reenact.record("block", session="s-9", tags=["beta"], sample=1) as run:
            reenact.tag("late")
        with reenact.record("block", sample=0) as none:
            pass
        print(run.id, repr(none.id))
"""


def test_runs_in_code_are_sampled_by_session_and_labelled(bench: Bench) -> None:
    done = bench.plain(SERVICE, env={"REENACT_SAMPLE": "1"})
    assert done.status == 0, done.stderr.decode()
    said = [line.split() for line in done.stdout.decode().splitlines()]
    chats = {words[1]: words[2:] for words in said if words[0] == "answer"}
    whole = {chat for chat, ids in chats.items() if "None" not in ids}
    assert all(set(ids) == {"None"} for chat, ids in chats.items() if chat not in whole)
    assert 3 < len(whole) < 27
    assert [word == "None" for word in said[30][1:]] == [False, True, False]
    assert said[31] == ["served", "served"]
    assert said[32][1] == "''"
    assert done.stderr.decode() == "reenact: broken is not recorded: division by zero\n"
    rows = listed(bench)
    assert len(rows) == 3 * len(whole) + 3
    for chat in whole:
        asked, told, moved = (rows[run_id] for run_id in chats[chat])
        tags = {"env": "prod", "customer": f"customer of chat-{chat}"}
        assert [one["session"] for one in (asked, told, moved)] == [f"chat-{chat}", f"chat-{chat}", "moved"]
        assert [one["tags"] for one in (asked, told, moved)] == [{**tags, "turn": turn} for turn in ("1", "2", "4")]
    assert (rows[said[32][0]]["session"], rows[said[32][0]]["tags"]) == ("s-9", {"beta": "", "late": ""})
    for run_id in (chats[min(whole)][2], said[30][1], said[32][0]):
        Run(bench, bench.store.path(run_id), done).verified()
    assert bench.run("-m", "reenact", "fsck", "--all").status == 0


KEEPING = """
    import asyncio, reenact

    @reenact.record(sample=0, keep_failed=True)
    def work(number):
        with reenact.step("work"):
            return 1 / number

    @reenact.record("stream", sample=0, keep_failed=True)
    async def stream(number):
        yield number
        yield 1 / number

    async def main():
        for number in (1, 0):
            try:
                print([each async for each in stream(number)])
            except ZeroDivisionError as error:
                print(error)

    if __name__ == "__main__":
        for number in (1, 0, 2):
            try:
                print(work(number))
            except ZeroDivisionError as error:
                print(error)
        asyncio.run(main())
        with reenact.record("block", sample=0, keep_failed=True) as run:
            print(run.id != "")
        print(repr(run.id))
"""


def test_outside_of_the_sample_what_fails_is_kept(bench: Bench) -> None:
    done = bench.plain(KEEPING)
    assert done.status == 0, done.stderr.decode()
    assert done.stdout.splitlines()[-2:] == [b"True", b"''"]
    assert sorted(run_id.rpartition("-")[0] for run_id in bench.store.ids()) == ["stream", "work"]
    assert {path.suffix for path in bench.store.root.iterdir()} == {".tape"}
    for run_id in bench.store.ids():
        Run(bench, bench.store.path(run_id), done).verified()
    for status in (3, 0):
        command = (
            "-m",
            "reenact",
            "record",
            "--sample",
            "0",
            "--keep-failed",
            bench.write(f"raise SystemExit({status})"),
        )
        assert bench.run(*command).status == status
    assert len(bench.store.ids()) == 3


@pytest.mark.parametrize(("env", "recorded"), [({}, 1), ({"REENACT_SAMPLE": "0"}, 0), ({"REENACT_SAMPLE": "1"}, 1)])
def test_the_environment_and_the_project_say_how_many_are_recorded(
    bench: Bench, env: dict[str, str], recorded: int
) -> None:
    (bench.folder / "pyproject.toml").write_text("[tool.reenact]\nsample = 1.0\n")
    bench.plain("import reenact\nwith reenact.record(): pass\n", env=env)
    assert len(bench.store.ids()) == recorded
    done = bench.run(bench.write(NAP), env={**env, "REENACT_RECORD": "1"})
    assert done.stdout == b"done\n"
    assert len(bench.store.ids()) == 2 * recorded


def test_an_explicit_recording_records_always_unless_it_says_otherwise(bench: Bench) -> None:
    (bench.folder / "pyproject.toml").write_text("[tool.reenact]\nsample = 0\n")
    env = {"REENACT_SAMPLE": "0"}
    assert bench.record(NAP, env=env).text == "done\n"
    done = bench.run("-m", "reenact", "record", "--sample", "0", bench.write("raise SystemExit(7)"), "x")
    assert (done.status, done.stderr) == (7, b"reenact: nothing is recorded: this run is not in the sample\n")
    assert len(bench.store.ids()) == 1


def test_turned_off_reenact_record_runs_the_program_as_it_is(bench: Bench) -> None:
    program = "import sys\nprint(sys.argv[1:], 'reenact.engine.session' in sys.modules)\nsys.exit(3)\n"
    env = {"REENACT_ENABLED": "false", "REENACT_TAGS": "not a tag"}
    done = bench.run("-m", "reenact", "record", bench.write(program), "--city", "Oslo", env=env)
    assert (done.status, done.stdout) == (3, b"['--city', 'Oslo'] False\n")
    assert done.stderr == b"reenact: nothing is recorded: REENACT_ENABLED turns reenact off\n"
    done = bench.run("-m", "reenact", "record", "-q", "agent.py", env={"REENACT_ENABLED": "0"})
    assert (done.status, done.stderr) == (3, b"")
    done = bench.run("agent.py", env={"REENACT_RECORD": "1", "REENACT_ENABLED": "off"})
    assert (done.status, done.stdout) == (3, b"[] False\n")
    assert bench.store.ids() == []
