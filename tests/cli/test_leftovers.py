"""What a crash leaves beside tapes: `fsck` names it and sweeps what nobody needs; `rm` takes along what belongs to a run."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from reenact.launch import rewinding
from reenact.launch.leftovers import GRACE
from reenact.tape.event import Start
from reenact.tape.writer import TapeWriter
from tests.cli.desk import Desk
from tests.trajectory.made import Made


@pytest.fixture
def store(desk: Desk) -> Path:
    """The store of the desk, with a run that is over."""
    folder = desk.folder / ".reenact"
    Made(folder / "a-1111.tape").done()
    return folder


def left(store: Path) -> list[str]:
    return sorted(str(path.relative_to(store)) for path in store.rglob("*") if path.is_file())


def old(path: Path, data: bytes = b"half of a tape") -> Path:
    """A file that nobody has changed for a while."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (time.time() - 2 * GRACE,) * 2)
    return path


def test_a_tape_in_the_making_is_swept_when_nobody_can_be_making_it(desk: Desk, store: Path) -> None:
    old(store / "b-2222.tape-new")
    old(store / "b-2222.tape-new-wal")
    old(store / "a-1111" / "worker-0001.tape-new")
    young = store / "c-3333.tape-new"
    young.write_bytes(b"")
    done = desk.reenact("fsck", "--all")
    assert done.returncode == 0, done.stderr
    assert left(store) == ["a-1111.tape", "c-3333.tape-new"]
    assert not (store / "a-1111").exists()
    assert "swept    b-2222.tape-new: a tape in the making" in done.stdout
    assert (
        "kept     c-3333.tape-new: a tape in the making, of a program that was never started (it may be" in done.stdout
    )


def test_the_copy_of_a_closing_is_left_to_who_has_the_tape_open(desk: Desk, store: Path) -> None:
    begin = Start(b'{"run_id":"b-2222","name":"b","started":1}')
    writer = TapeWriter.create(store / "b-2222.tape", "b-2222", "b", 1, first=[begin])
    old(store / "b-2222.tape-new")
    assert "kept     b-2222.tape-new" in desk.reenact("fsck", "--all").stdout
    writer.close()
    assert desk.reenact("fsck", "--all").returncode == 0
    assert left(store) == ["a-1111.tape", "b-2222.tape"]


def test_what_belongs_to_a_tape_that_is_gone_is_swept_and_what_belongs_to_a_run_under_way_is_not(
    desk: Desk, store: Path
) -> None:
    for name in ("b-2222.tape-wal", "b-2222.tape-secrets", "c-3333.tape-secrets", "a-1111.tape-secrets", "notes.txt"):
        old(store / name)
    with closing(TapeWriter.create(store / "c-3333.tape", "c-3333", "c", 1)):
        told = desk.reenact("fsck", "--all").stdout
        assert (store / "c-3333.tape-secrets").exists()
    assert "swept    b-2222.tape-wal: it belongs to a tape that is gone" in told
    assert "swept    a-1111.tape-secrets: what processes told each other of secrets" in told
    assert not (store / "b-2222.tape-secrets").exists()
    assert (store / "notes.txt").exists()


def test_only_what_is_of_a_run_is_swept_with_it(desk: Desk, store: Path) -> None:
    old(store / "b-2222.tape-new")
    old(store / "a-1111.tape-new")
    told = [json.loads(line) for line in desk.reenact("fsck", "a-1111", "--json").stdout.splitlines()]
    assert [one["state"] for one in told] == ["sound", "swept"]
    assert left(store) == ["a-1111.tape", "b-2222.tape-new"]


def test_tapes_of_processes_are_swept_when_their_run_holds_them(desk: Desk, store: Path) -> None:
    desk.write("""
        import multiprocessing, time
        def work():
            print(time.time())
        if __name__ == "__main__":
            process = multiprocessing.get_context("fork").Process(target=work)
            process.start()
            process.join()
    """)
    (desk.folder / "sitecustomize.py").write_text(
        "from reenact.launch.gathering import Gathered\nGathered.remove = print"
    )
    assert desk.reenact("record", "agent.py", env={"PYTHONPATH": str(desk.folder)}).returncode == 0
    (desk.folder / "sitecustomize.py").unlink()
    (process,) = store.glob("agent-*/*.tape")
    run = process.parent.name
    told = desk.reenact("fsck", run)
    assert told.returncode == 0
    assert f"swept    {process.name}: the tape of a process, which is on the tape of its run as well" in told.stdout
    assert not process.parent.exists()
    assert desk.reenact("verify", run).returncode == 0


def test_a_process_that_is_not_on_the_tape_of_its_run_is_kept(desk: Desk, store: Path) -> None:
    (store / "a-1111").mkdir()
    Made(store / "a-1111" / "worker-0001.tape").done()
    told = desk.reenact("fsck", "--all").stdout
    assert "kept     worker-0001.tape: the tape of a process that went on" in told
    assert left(store) == ["a-1111.tape", "a-1111/worker-0001.tape"]


def put_aside(desk: Desk, store: Path) -> rewinding.Rewound:
    (desk.folder / "work.txt").write_text("words of the user")
    rewound = rewinding.Rewound(rewinding.folder(store / "a-1111.tape"))
    rewound.keep(desk.folder / "work.txt")
    (desk.folder / "work.txt").write_text("of the run")
    return rewound


def test_copies_that_were_not_put_back_are_named_and_never_deleted(desk: Desk, store: Path) -> None:
    put_aside(desk, store)
    told = desk.reenact("fsck", "--all").stdout
    assert "kept     a-1111.before: copies of files that a resumption which was killed has not put back" in told
    done = desk.reenact("rm", "a-1111", "--yes")
    assert done.returncode == 2
    assert "Nothing was deleted" in done.stderr
    assert left(store) == ["a-1111.before/0", "a-1111.before/list.json", "a-1111.tape"]


def test_copies_that_are_the_users_are_named_and_go_with_the_run(desk: Desk, store: Path) -> None:
    rewound = put_aside(desk, store)
    rewound.settle(rewound.put_back({str(desk.folder / "work.txt")}))
    told = desk.reenact("fsck", "--all").stdout
    assert "kept     a-1111.before: copies of files that looked otherwise" in told
    assert desk.reenact("rm", "a-1111", "--yes").returncode == 0
    assert left(store) == []


def test_all_that_belongs_to_a_run_is_deleted_with_it_and_nothing_else(desk: Desk, store: Path) -> None:
    (store / "a-1111").mkdir()
    Made(store / "a-1111" / "worker-0001.tape").done()
    for name in ("worker-0002.tape-new", "0.1.declined", "mine.declined", "mine.txt"):
        old(store / "a-1111" / name)
    for name in ("a-1111.tape-new", "a-1111.tape-secrets"):
        old(store / name)
    (store / "a-1111.before").mkdir()
    (store / "a-1111.before" / "mine.txt").touch()
    assert desk.reenact("rm", "a-1111", "--yes").returncode == 0
    assert left(store) == ["a-1111.before/mine.txt", "a-1111/mine.declined", "a-1111/mine.txt"]
