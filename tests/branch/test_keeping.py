"""What a branch writes to files: told, and kept where the user wants it, and nowhere else."""

from __future__ import annotations

import hashlib
import json

from reenact.testing import ModelServer
from tests.branch.test_fork import CHAT, Counting, fork, made, verified
from tests.runs import Bench, settings

WRITING = (
    CHAT.format(steps=2)
    + """
    import pathlib, sqlite3
    pathlib.Path("deep/below").mkdir(parents=True, exist_ok=True)
    pathlib.Path("deep/below/said.txt").write_text(said)
    pathlib.Path("old.txt").write_text(pathlib.Path("old.txt").read_text() + said)
    pathlib.Path("gone.txt").unlink(missing_ok=True)
    db = sqlite3.connect("facts.db")
    db.execute("create table if not exists fact (said text)")
    db.execute("insert into fact values (?)", (said,))
    db.commit()
"""
)


def test_what_a_branch_writes_is_kept_where_it_is_wanted(either: Bench) -> None:
    bench = either
    (bench.folder / "old.txt").write_text("old ")
    (bench.folder / "gone.txt").write_text("here")
    with ModelServer(Counting()) as server:
        bench.record(WRITING, env=settings(server))
        before = {path: path.read_bytes() for path in bench.folder.rglob("*") if path.is_file()}
        done = fork(bench, "last@2", "--keep-files", "kept", server=server)
        branch = verified(made(bench, done))
    kept = {str(path.relative_to(bench.folder / "kept")): path for path in (bench.folder / "kept").rglob("*")}
    assert kept["deep/below/said.txt"].read_text() == "answer 3 to question"
    assert kept["old.txt"].read_text() == "old answer 3 to question"
    assert "gone.txt" not in kept
    assert b"answer 3" in kept["facts.db"].read_bytes()
    for path, data in before.items():
        assert path.read_bytes() == data, f"{path} is the user's"
    told = done.stderr.decode()
    digest = hashlib.sha256(b"answer 3 to question").hexdigest()
    assert f"    new      deep/below/said.txt, 20 bytes, SHA-256 {digest[:16]}" in told
    assert "    changed  old.txt, 24 bytes" in told
    assert "    deleted  gone.txt" in told
    assert "written, in kept:" in told
    assert branch.tape.left


def test_each_of_several_has_a_folder_of_its_own(bench: Bench) -> None:
    with ModelServer(Counting()) as server:
        bench.record(CHAT.format(steps=2), env=settings(server))
        done = fork(bench, "last@2", "--n", "2", "--json", "--keep-files", "kept", server=server)
        again = fork(bench, "last@2", "--keep-files", "kept", server=server)
    found = json.loads(done.stdout)
    for one in found:
        (file,) = one["files"]
        assert (file["what"], file["kept"]) == ("new", f"kept/{one['run']}/notes.txt")
        assert hashlib.sha256((bench.folder / file["kept"]).read_bytes()).hexdigest() == file["sha256"]
    assert again.status == 2
    assert b"is there, and not empty" in again.stderr
    assert len(bench.store.ids()) == 3
