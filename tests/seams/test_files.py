"""Files: what a run found on the disk it finds in replay, whatever is there by then, and its own writes stay its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runs import Bench


@pytest.fixture
def bench(either: Bench) -> Bench:
    """Where files are closed by the kernel, and where they are not."""
    return either


READS = """
    import os, pathlib
    print(pathlib.Path("prompt.txt").read_text(), open("data.bin", "rb").read())
    print(os.path.exists("later.txt"), os.path.getsize("looked-at"), os.path.getmtime("prompt.txt"))
    print(os.listdir("notes"), sorted(p.name for p in pathlib.Path("notes").iterdir()), [e.name for e in os.scandir("notes")])
    print([names for _, _, names in os.walk("notes")], [p.name for p in pathlib.Path(".").glob("*.txt")])
    with os.fdopen(os.open("data.bin", os.O_RDONLY), "rb") as file:
        print(file.read(3))
    try:
        open("gone.txt")
    except FileNotFoundError as error:
        print(error)
"""


@pytest.fixture
def folder(bench: Bench) -> Path:
    """What a program reads."""
    (bench.folder / "prompt.txt").write_text("You are a clerk: Tromsø", encoding="utf-8")
    (bench.folder / "data.bin").write_bytes(bytes(range(256)))
    (bench.folder / "looked-at").write_bytes(b"x" * 1234)
    (bench.folder / "notes").mkdir()
    for name in ("b", "a", "c d", "e\n"):
        (bench.folder / "notes" / name).write_text(name, encoding="utf-8")
    return bench.folder


def change_all(folder: Path) -> None:
    """Nothing is as it was."""
    (folder / "prompt.txt").write_text("You are a pirate", encoding="utf-8")
    (folder / "data.bin").unlink()
    (folder / "looked-at").write_bytes(b"")
    (folder / "notes" / "a").unlink()
    (folder / "notes" / "z").touch()
    (folder / "later.txt").touch()
    (folder / "gone.txt").write_text("here now", encoding="utf-8")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, with when it was changed; not the tapes."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file() and ".reenact" not in path.parts
    }


def test_what_was_read_is_read_again_though_everything_has_changed(bench: Bench, folder: Path) -> None:
    run = bench.record(READS)
    assert "Tromsø" in run.text
    run.reproduced()
    change_all(folder)
    before = contents(folder)
    run.reproduced()
    assert contents(folder) == before


def test_a_replay_writes_to_a_copy(bench: Bench, folder: Path) -> None:
    run = bench.record("""
        import os, shutil, tempfile
        with open("log.txt", "a") as log, open("prompt.txt", "r+") as prompt:
            log.write("one\\n")
            prompt.write("It")
        print(open("log.txt").read(), open("prompt.txt").read())
        os.makedirs("made/deep")
        os.rename("log.txt", "made/deep/log.txt")
        os.remove("data.bin")
        shutil.rmtree("notes")
        with tempfile.NamedTemporaryFile("w", delete=False, dir=".", suffix=".tmp") as file:
            file.write("kept")
        os.symlink("prompt.txt", "link")
        print(sorted(os.listdir(".")), os.path.exists("notes"), open("link").read())
    """)
    after = contents(folder)
    run.reproduced()
    assert contents(folder) == after
    for name in ("prompt.txt", "made/deep/log.txt"):
        (folder / name).unlink()
    before = contents(folder)
    run.reproduced()
    assert contents(folder) == before


def test_a_file_that_the_replay_writes_otherwise_is_a_difference(bench: Bench) -> None:
    run = bench.record("""
        open("report.txt", "w").write("the sum is 4")
    """)
    bench.write("""
        open("report.txt", "w").write("the sum is 5")
    """)
    verified = run.verify()
    assert not verified.passed
    (found,) = verified.divergences
    assert found["what"] == "file"
    assert found["expected"]["name"] == str(bench.folder / "report.txt")


def test_what_c_code_reads_is_what_it_was(bench: Bench) -> None:
    """The file is put in place before the program begins, so it does not matter who reads it."""
    (bench.folder / "numbers").write_bytes(bytes(range(64)))
    run = bench.record(
        """
        import os, numpy
        size = os.path.getsize("numbers")
        print(open("numbers", "rb").read(1), numpy.fromfile("numbers", dtype="u1").sum(), numpy.load("saved.npy").sum())
    """
        if (bench.folder / "saved.npy").exists()
        else """
        import numpy
        print(open("numbers", "rb").read(1), numpy.fromfile("numbers", dtype="u1").sum())
    """
    )
    (bench.folder / "numbers").write_bytes(b"")
    run.reproduced()


def test_files_outside_of_the_working_directory_come_back(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "config").write_text("old", encoding="utf-8")
    run = bench.record(f"print(open({str(other / 'config')!r}).read(), file=open({str(other / 'out')!r}, 'w'))")
    (other / "config").write_text("new", encoding="utf-8")
    (other / "out").unlink()
    run.reproduced()
    assert not (other / "out").exists()


def test_the_program_sees_its_own_user_and_rights(bench: Bench) -> None:
    run = bench.record("""
        import os, stat
        open("mine", "w").close()
        os.chmod("mine", 0o640)
        about = os.stat("mine")
        print(os.getuid(), os.getgid(), about.st_uid, about.st_gid, stat.filemode(about.st_mode))
    """)
    run.reproduced()


def test_the_same_content_is_on_tape_once(bench: Bench) -> None:
    data = os.urandom(200_000)
    for name in ("one", "two"):
        (bench.folder / name).write_bytes(data)
    run = bench.record("print(*(len(open(name, 'rb').read()) for name in ('one', 'two', 'one')))")
    assert run.path.stat().st_size < 300_000
    run.reproduced()


def test_credentials_in_files_are_not_on_tape(bench: Bench) -> None:
    held, token = "hunter2-correct-horse", "battery-staple-0451"
    (bench.folder / ".env").write_text(f"API_KEY={held}\nMODEL=small\n", encoding="utf-8")
    (bench.folder / "notes.txt").write_text(f"my token is {token}", encoding="utf-8")
    run = bench.record(
        """
        import os
        settings = dict(line.strip().split("=") for line in open(".env"))
        notes = open("notes.txt").read()
        open("copy.txt", "w").write(notes)
        print(settings["MODEL"], len(settings), len(notes.split()), len(os.environ["A_TOKEN"]) > 3)
    """,
        env={"A_TOKEN": token},
    )
    disk = b"".join(path.read_bytes() for path in bench.store.root.iterdir())
    assert [secret for secret in (held, token) if secret.encode() in disk + b"".join(run.tape.contents.values())] == []
    run.reproduced()
    (bench.folder / ".env").unlink()
    (bench.folder / "notes.txt").write_text("changed", encoding="utf-8")
    run.reproduced()
