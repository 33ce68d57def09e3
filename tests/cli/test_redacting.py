"""`record --redact`, `scan` and `scrub`, as a user calls them."""

from __future__ import annotations

import json
import os
import signal

import pytest

from reenact.tape.reader import read, records
from reenact.testing import ModelServer, Say
from tests.runs import Bench, Done, Run, settings

KEY = "sk-ant-" + "api03-aaaaBBBBccccDDDD1234567890"
CASES = """
    import json, os, urllib.request
    import httpx
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json={
        "model": "any", "messages": [{"role": "user", "content": "who writes about CASE-4711?"}]})
    print(answer.json()["choices"][0]["message"]["content"])
"""
PRINTS = f"""
    print("the key is {KEY}")
    print("write to bob.miller@example.org")
"""


def recorded(bench: Bench, answer: str, *options: str) -> Run:
    with ModelServer(lambda _turn: Say(answer)) as server:
        return bench.record(CASES, env=settings(server), options=options)


def disk(bench: Bench) -> bytes:
    unpacked = [repr(part) for path in bench.store.ids() for part in journal(bench, path)]
    return b"".join(path.read_bytes() for path in bench.store.root.iterdir()) + "".join(unpacked).encode()


def journal(bench: Bench, run: str) -> list[object]:
    return list(records(bench.store.path(run)))


def test_what_a_pattern_matches_in_requests_alone_is_redacted_and_replays(bench: Bench) -> None:
    run = recorded(bench, "Nobody.", "--redact", "CASE-[0-9]+")
    assert b"CASE-4711" not in disk(bench)
    run.reproduced()


def test_in_answers_it_makes_the_tape_forensic_only_and_says_what_that_costs(bench: Bench) -> None:
    run = recorded(bench, "Bob, in CASE-9922.", "--redact", "CASE-[0-9]+")
    assert run.text == "Bob, in CASE-9922.\n", "the agent sees what it sees without us"
    assert b"CASE-9922" not in disk(bench)
    verified = run.verify()
    assert verified.status == 1
    assert verified.document["verdict"] == "forensic-only"
    assert verified.document["redacted_contents"] > 0
    assert verified.boundaries == (1, 1, 1)
    told = bench.run("-m", "reenact", "verify", "last").stdout.decode()
    assert told.startswith("FORENSIC ONLY")
    assert "nobody can say that it is bit-exact" in " ".join(told.split())
    replayed = run.replay()
    assert replayed.status == 0
    assert b"forensic-only" in replayed.stderr


def test_a_project_says_in_its_settings_what_to_redact(bench: Bench) -> None:
    (bench.folder / "pyproject.toml").write_text('[tool.reenact]\nredact = ["CASE-[0-9]+"]\nredact-pii = true\n')
    recorded(bench, "bob.miller@example.org, CASE-9922.")
    data = disk(bench)
    assert b"CASE-4711" not in data
    assert b"bob.miller@example.org" not in data


@pytest.mark.parametrize("setting", ["redact = 'x'", "redact = ['(']", "redact-pii = 'yes'"])
def test_a_setting_that_says_nothing_is_misuse(bench: Bench, setting: str) -> None:
    (bench.folder / "pyproject.toml").write_text(f"[tool.reenact]\n{setting}\n")
    done = bench.run("-m", "reenact", "record", bench.write("print(1)"))
    assert done.status == 2
    assert b"redact" in done.stderr or b"regular expression" in done.stderr
    assert not bench.store.ids()


def scan(bench: Bench, *options: str) -> Done:
    return bench.run("-m", "reenact", "scan", *options)


def test_scan_finds_what_looks_like_a_secret_and_does_not_print_it(bench: Bench) -> None:
    bench.record(PRINTS)
    done = scan(bench)
    assert done.status == 1
    assert b"Anthropic key in stdout: sk-a" in done.stdout
    assert KEY.encode() not in done.stdout
    assert b"bob.miller" not in done.stdout
    document = json.loads(scan(bench, "last", "--json", "--pii").stdout)
    assert {one["what"] for one in document["found"]} == {"Anthropic key", "as asked for"}
    assert KEY not in json.dumps(document)


def test_scan_of_a_clean_store_ends_well(bench: Bench) -> None:
    bench.record("print('nothing here')")
    done = scan(bench)
    assert (done.status, done.stdout) == (0, b"looked through 1 tape: nothing looks like a secret\n")


def test_scrub_says_when_there_was_nothing_to_take_out(bench: Bench) -> None:
    run = bench.record("print('nothing here')").path.stem
    done = bench.run("-m", "reenact", "scrub", "last", "--name", "copy")
    assert done.stdout.decode().endswith(f" is {run} as it was: nothing was found that had to be taken out\n")


def test_scrub_makes_a_clean_copy_that_replays_and_leaves_the_run(bench: Bench) -> None:
    run = bench.record(PRINTS)
    before = run.path.read_bytes()
    done = bench.run("-m", "reenact", "scrub", "last", "--pii", "--name", "to share")
    assert done.status == 0, done.stderr
    assert run.path.read_bytes() == before
    (copy,) = [path for path in bench.store.ids() if path.startswith("to-share-")]
    path = bench.store.path(copy)
    data = path.read_bytes() + repr(journal(bench, copy)).encode()
    assert KEY.encode() not in data
    assert b"bob.miller@example.org" not in data
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read(path).wrote[1]) == len(run.stdout), "what stands for something is as long"
    assert scan(bench, copy, "--pii").status == 0
    verified = bench.run("-m", "reenact", "verify", copy, "--json")
    assert json.loads(verified.stdout)["verdict"] == "verified", verified.stdout
    assert bench.run("-m", "reenact", "fsck", copy).status == 0


# What becomes known late, when somebody is killed

LATE = "Late-Key-0a1b2c3d4e"
KILLED = f"""
    import os, signal, httpx
    print("it is {LATE}", flush=True)
    httpx.get(os.environ["BASE"] + "/openai/v1/models", headers={{"X-Api-Key": "{LATE}"}})
    open("there", "w").close()
    if os.environ.get("STAYS"):
        signal.pause()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_became_known_late_is_gone_though_the_program_was_killed(bench: Bench) -> None:
    with ModelServer(lambda _turn: Say("")) as server:
        run = bench.record(KILLED, env=settings(server))
    assert run.status == -9
    assert LATE in run.text
    assert LATE.encode() not in disk(bench)
    assert not [path for path in bench.store.root.iterdir() if path.suffix != ".tape"]
    run.reproduced()


def test_a_note_says_so_where_the_recorder_was_killed_with_it(bench: Bench) -> None:
    with ModelServer(lambda _turn: Say("")) as server:
        env = {**settings(server), "STAYS": "1"}
        with bench.start("-m", "reenact", "record", bench.write(KILLED), env=env) as process:
            while not (bench.folder / "there").exists():
                assert process.poll() is None
            os.killpg(process.pid, signal.SIGKILL)
    (run,) = bench.store.ids()
    book = next(path for path in bench.store.root.iterdir() if path.name.endswith("-secrets"))
    assert LATE.encode() not in book.read_bytes()
    assert bench.run("-m", "reenact", "fsck", "last").status == 0
    assert [note.slug for note, _ in read(bench.store.path(run)).notes] == ["secrets"]
    assert not book.exists()
