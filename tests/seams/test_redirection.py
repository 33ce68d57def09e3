"""Programs as agents are: they see the same files in a replay, and change none of the user's, however it is closed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reenact.testing import ModelServer, Say
from tests.runs import Bench, Done, Run, settings
from tests.seams.test_files import contents

PROGRAMS = {
    "state written atomically": """
        import json, os, tempfile
        def load():
            try:
                with open("state.json") as file:
                    return json.load(file)
            except FileNotFoundError as error:
                print(error, error.filename, error.filename2)
                return {"turn": 0}
        for _ in range(3):
            state = load()
            state["turn"] += 1
            descriptor, name = tempfile.mkstemp(dir=".", prefix="state-")
            with os.fdopen(descriptor, "w") as file:
                json.dump(state, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, "state.json")
        print(load(), sorted(os.listdir()))
    """,
    "logs that are appended": """
        import logging, logging.handlers, os
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[
            logging.FileHandler("agent.log"), logging.handlers.WatchedFileHandler("watched.log"),
            logging.handlers.RotatingFileHandler("rotated.log", maxBytes=40, backupCount=2)])
        for number in range(6):
            logging.info("line number %d", number)
            if number == 3:
                os.rename("watched.log", "watched.old")
        logging.shutdown()
        for name in sorted(os.listdir()):
            if "log" in name or "old" in name:
                print(name, open(name).read().splitlines())
    """,
    "a database with a log of its own": """
        import os, sqlite3
        for turn in range(2):
            db = sqlite3.connect("memory.db")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE IF NOT EXISTS fact (text TEXT)")
            with db:
                db.execute("INSERT INTO fact VALUES (?)", (f"fact {turn}",))
            print(db.execute("SELECT text FROM fact").fetchall(), os.path.exists("memory.db-wal"))
            if turn:
                db.close()
        other = sqlite3.connect("file:memory.db?mode=ro", uri=True)
        print(other.execute("SELECT count(*) FROM fact").fetchone())
        try:
            sqlite3.connect("file:none.db?mode=ro", uri=True).execute("SELECT 1")
        except sqlite3.OperationalError as error:
            print(error)
    """,
    "a workspace copied and deleted": """
        import os, shutil, stat
        shutil.copytree("given", "copy", symlinks=True)
        shutil.rmtree("given")
        print(sorted(os.walk("copy")), os.path.exists("given"), os.readlink("copy/link"))
        os.chmod("copy/a.txt", 0o600)
        shutil.move("copy", "moved")
        os.makedirs("given/deep")
        shutil.copy2("moved/a.txt", "given/deep/b.txt")
        print(sorted(os.walk(".")), stat.filemode(os.stat("given/deep/b.txt").st_mode), open("given/deep/b.txt").read())
        print(shutil.disk_usage(".").total > 0, shutil.make_archive("packed", "zip", "moved"))
    """,
    "paths": """
        import os, pathlib
        here = pathlib.Path()
        print(here.resolve() == pathlib.Path.cwd(), sorted(here.glob("**/*.txt")), sorted(here.rglob("*")))
        new = here / "new" / "deeper"
        new.mkdir(parents=True)
        (new / "x.txt").write_text("x")
        (new / "y.txt").touch()
        (new / "x.txt").rename(new / "z.txt")
        (new / "z.txt").replace(new / "y.txt")
        (here / "given" / "a.txt").unlink()
        (here / "to-new").symlink_to("new")
        print([str(path) for path in sorted(here.rglob("*"))], (here / "to-new" / "deeper" / "y.txt").read_text())
        print((here / "to-new").resolve(), os.path.realpath("to-new/deeper"), pathlib.Path("given/link").resolve().name)
        for wrong in (lambda: new.rmdir(), lambda: new.mkdir(), lambda: (here / "given" / "a.txt").read_text(),
                      lambda: open("given"), lambda: os.remove("given"), lambda: os.listdir("given/b.bin"),
                      lambda: os.rename("nothing", "other"), lambda: os.link("given/b.bin", "given/b.bin"),
                      lambda: open("given/b.bin", "x"), lambda: open("new/none/x", "w"), lambda: os.chdir("nowhere"),
                      lambda: os.rename("given", "new"), lambda: os.stat(b"bytes"), lambda: os.scandir("none"),
                      lambda: open("new/deeper/y.txt/more"), lambda: os.truncate("none", 1), lambda: os.readlink("new")):
            try:
                print("no error", wrong())
            except OSError as error:
                print(type(error).__name__, error, error.filename, error.filename2)
    """,
    "descriptors": """
        import fcntl, mmap, os, tempfile
        folder = os.open("given", os.O_RDONLY)
        print(sorted(os.listdir(folder)), sorted(entry.name for entry in os.scandir(folder)))
        with os.fdopen(os.open("made", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            print("through a descriptor", file=file)
        os.mkdir("sub", dir_fd=folder)
        os.rename("made", "sub/moved", src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink("a.txt", dir_fd=folder)
        print(os.stat("sub/moved", dir_fd=folder).st_size, sorted(os.listdir(folder)), sorted(os.fwalk("given"))[0][:3])
        with open("given/b.bin", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:3] = b"new"
        print(open("given/b.bin", "rb").read()[:8])
        with tempfile.TemporaryFile() as one, tempfile.NamedTemporaryFile(dir=".") as two, tempfile.SpooledTemporaryFile(3) as three:
            for file in (one, two, three):
                file.write(b"some bytes"); file.seek(0); print(file.read())
            print(os.path.exists(two.name), os.path.dirname(two.name) == os.getcwd())
        with tempfile.TemporaryDirectory() as name:
            open(os.path.join(name, "in"), "w").close()
            print(os.listdir(name))
        print(os.path.exists(name), sorted(os.listdir(".")))
    """,
    "another working directory": """
        import os
        os.makedirs("work/inner")
        os.chdir("work")
        open("here.txt", "w").write("here")
        os.chdir("inner")
        print(os.getcwd(), os.getcwdb(), os.listdir(".."), open("../here.txt").read(), open("../../given/a.txt").read())
        print(os.path.abspath("."), os.path.relpath("../../given"), os.path.samefile("..", "../../work"), os.access("..", os.W_OK))
        os.chdir("../..")
        print(sorted(os.listdir()))
    """,
    "code that it writes and imports": """
        import importlib, os, sys
        os.makedirs("plugins")
        open("plugins/__init__.py", "w").close()
        open("plugins/one.py", "w").write("def run(): return 'one'")
        importlib.invalidate_caches()
        from plugins import one
        print(one.run(), one.__file__)
        exec(compile(open("plugins/one.py").read(), "plugins/one.py", "exec"))
    """,
    "a tool tree like git's": """
        import hashlib, os, pathlib, zlib
        objects = pathlib.Path(".store/objects")
        def put(data):
            name = hashlib.sha1(data).hexdigest()
            path = objects / name[:2] / name[2:]
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_suffix(".lock")
            with open(new, "xb") as file:
                file.write(zlib.compress(data))
            os.chmod(new, 0o444)
            os.link(new, path) if not path.exists() else None
            os.unlink(new)
            return name
        for root, folders, names in os.walk("given"):
            for name in sorted(names):
                if not os.path.islink(os.path.join(root, name)):
                    print(name, put(open(os.path.join(root, name), "rb").read()))
        pathlib.Path(".store/HEAD.lock").write_text(put(b"tree"))
        os.rename(".store/HEAD.lock", ".store/HEAD")
        os.utime(".store/HEAD", (1_000_000_000, 1_000_000_000))
        print(os.path.getmtime(".store/HEAD"), sorted(str(path) for path in objects.rglob("*") if path.is_file()))
    """,
    "folders that are renamed": """
        import os
        os.rename("kept", "kept again")
        print(open("kept again/c.txt").read())
        os.rename("kept again", "kept")
        os.rename("given", "taken")
        print(sorted(os.listdir("taken")), open("taken/a.txt").read())
        os.makedirs("fresh")
        open("fresh/new.txt", "w").write("new")
        os.rename("fresh", "given")
        print(open("given/new.txt").read(), sorted(os.listdir(".")), sorted(os.listdir("given")))
        os.remove("taken/b.bin")
    """,
}


@pytest.fixture
def bench(either: Bench) -> Bench:
    """Where files are closed by the kernel, and where they are not."""
    return either


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_sees_its_files_as_they_were_and_changes_none(bench: Bench, name: str) -> None:
    prepare(bench.folder)
    plain = bench.plain(PROGRAMS[name])
    assert plain.status == 0, plain.stderr.decode()
    for path in [path for path in bench.folder.iterdir() if path.name not in (".reenact", "agent.py")]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    prepare(bench.folder)
    run = bench.record(PROGRAMS[name])
    assert run.status == 0, run.stderr.decode()
    after = contents(bench.folder)
    run.reproduced()
    assert contents(bench.folder) == after
    for path in ("given/a.txt", "state.json", "agent.log", "memory.db", "taken/a.txt", ".store/HEAD"):
        if (bench.folder / path).exists():
            (bench.folder / path).write_bytes(b"another by now")
    (bench.folder / "new.file").touch()
    before = contents(bench.folder)
    run.reproduced()
    assert contents(bench.folder) == before


def prepare(folder: Path) -> None:
    (folder / "given").mkdir()
    (folder / "given" / "a.txt").write_text("given", encoding="utf-8")
    (folder / "given" / "b.bin").write_bytes(bytes(range(200)))
    (folder / "given" / "link").symlink_to("a.txt")
    (folder / "kept").mkdir()
    (folder / "kept" / "c.txt").write_text("kept", encoding="utf-8")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "write",
    [
        "io.FileIO('mine.txt', 'w').write(b'changed')",
        "posix.unlink('mine.txt')",
        "posix.rename('mine.txt', 'other.txt')",
        "posix.open('mine.txt', posix.O_WRONLY | posix.O_TRUNC)",
        "posix.mkdir('mine')",
        "sqlite3.Connection('mine.db').execute('CREATE TABLE t (a)')",
    ],
)
def test_what_would_change_a_file_past_the_redirection_is_refused(either: Bench, write: str) -> None:
    (either.folder / "mine.txt").write_text("mine", encoding="utf-8")
    program = f"""
        import io, os, posix, sqlite3, sys
        if os.environ.get("NOW") == "now":
            {write}
        print("done")
    """
    run = either.record(program)
    either.write(program.replace('"now"', "None"))
    before = contents(either.folder)
    verified = run.verify()
    assert contents(either.folder) == before
    assert not (either.folder / "mine").exists()
    if either.sealed:
        assert not verified.passed
        assert "mine" in json.dumps(verified.divergences)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_each_process_of_a_run_has_copies_of_its_own(either: Bench, method: str) -> None:
    program = f"""
        import multiprocessing, os
        def work(queue, number):
            before = open("state.txt").read()
            open(f"out{{number}}.txt", "w").write(before)
            open("state.txt", "a").write(f"{{number}} ")
            queue.put((before, sorted(name for name in os.listdir() if name.startswith("out"))))
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            open("state.txt", "w").write("begun ")
            queue = context.Queue()
            for number in range(2):
                process = context.Process(target=work, args=(queue, number))
                process.start()
                print(queue.get())
                process.join()
            print(open("state.txt").read())
    """
    run = either.record(program)
    assert run.text.endswith("begun 0 1 \n")
    (either.folder / "out0.txt").unlink()
    (either.folder / "state.txt").unlink()
    (either.folder / "out1.txt").write_text("the user's", encoding="utf-8")
    before = contents(either.folder)
    verified = run.verify()
    assert verified.passed, verified.told()
    assert verified.document["processes"] == {"recorded": 2, "replayed": 2, "cut": 0}
    assert contents(either.folder) == before


def test_the_certificate_says_that_files_were_redirected_and_what_was_not(sealed: Bench) -> None:
    (sealed.folder / "read.txt").write_text("old", encoding="utf-8")
    run = sealed.record("""
        import io, sqlite3
        print(open("read.txt").read(), len(io.FileIO("read.txt").read()))
        try:
            sqlite3.connect(":memory:").execute("ATTACH DATABASE 'other.db' AS other")
        except sqlite3.DatabaseError as error:
            print(error)
    """)
    verified = run.verify()
    assert verified.document["files"].startswith("redirected in Python")
    assert "audit hook" in verified.document["network"]
    told = " ".join(verified.document["not_restored"])
    assert "other.db was not attached" in told
    (sealed.folder / "read.txt").write_text("new", encoding="utf-8")
    verified = run.verify()
    assert f"{sealed.folder / 'read.txt'} was read past the redirection" in " ".join(verified.document["not_restored"])
    shown = sealed.run("-m", "reenact", "verify", run.path.stem)
    assert b"files by redirection in Python" in shown.stdout


@pytest.mark.parametrize("variable", ["REENACT_SPEC", "REENACT_CALL"])
def test_a_replay_that_cannot_begin_does_not_run_the_program(tmp_path: Path, variable: str) -> None:
    bench = Bench(tmp_path)
    program = bench.write("open('made.txt', 'w').close()")
    spec = {"mode": "replay", "tape": str(tmp_path / "gone.tape"), "report": str(tmp_path / "report.json")}
    done = bench.run(program, env={variable: json.dumps(spec)})
    assert (done.status, (tmp_path / "made.txt").exists()) == (70, False), done.stderr.decode()


def test_an_explored_run_changes_no_file_either(bench: Bench) -> None:
    with ModelServer(lambda _: Say("yes")) as server:
        run = bench.record(
            """
            import asyncio, os
            import httpx
            async def put(client, name):
                body = {"model": "m", "messages": [{"role": "user", "content": name}]}
                await client.post(os.environ["BASE"] + "/v1/chat/completions", json=body)
                with open("order.txt", "a") as file:
                    file.write(name)
                if os.path.exists("given.txt"):
                    os.replace("given.txt", "taken.txt")
            async def main():
                open("given.txt", "w").close()
                async with httpx.AsyncClient() as client:
                    await asyncio.gather(put(client, "a"), put(client, "b"))
            asyncio.run(main())
            print(len(open("order.txt").read()))
            """,
            env=settings(server),
        )
    assert run.status == 0, run.stderr.decode()
    before = contents(bench.folder)
    done = bench.run("-m", "reenact", "explore", run.path.stem, "--runs", "3", "--json")
    assert contents(bench.folder) == before
    assert set(json.loads(done.stdout)["changed"]) == {"files"}, done.stderr.decode()


def test_a_run_does_not_see_what_is_kept_of_it(bench: Bench) -> None:
    run = bench.record("""
        import os, pathlib
        print(os.listdir(), sorted(os.walk(".")), sorted(pathlib.Path().rglob("*")), os.path.isdir(".reenact"))
    """)
    assert run.text == "['agent.py'] [('.', [], ['agent.py'])] [PosixPath('agent.py')] True\n"
    run.reproduced()


def test_a_file_that_another_program_changes_meanwhile_is_found_as_it_was(bench: Bench) -> None:
    """Somebody outside puts an answer there while the run waits for it."""
    bench.write("""
        import os, time
        turns = 0
        print("waiting", flush=True)
        while not os.path.exists("answer"):
            time.sleep(0.05)
        print(open("answer").read(), os.listdir("inbox"))
        open("asked", "w").close()
        while open("answer").read() != "second":
            time.sleep(0.05)
        print("got it")
    """)
    (bench.folder / "inbox").mkdir()
    with bench.start("-m", "reenact", "record", "--quiet", "agent.py") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        (bench.folder / "inbox" / "letter").touch()
        for text in ("first", "second"):
            (bench.folder / "new").write_text(text, encoding="utf-8")
            (bench.folder / "new").rename(bench.folder / "answer")
            while text == "first" and not (bench.folder / "asked").exists():
                pass
        assert process.stdout.read() == b"first ['letter']\ngot it\n"
    run = Run(bench, bench.store.path(*bench.store.ids()), Done(0, b"waiting\nfirst ['letter']\ngot it\n", b""))
    run.reproduced()
    (bench.folder / "answer").unlink()
    run.reproduced()
