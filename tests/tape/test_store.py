"""The store: found from anywhere below it, runs named by as little as says which."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact import _real
from reenact.errors import RunNotFoundError, UsageError
from reenact.tape.store import Store
from reenact.tape.writer import TapeWriter
from tests.tape.records import edit, written


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".reenact")


def made(store: Store, *ids: str) -> None:
    """Tapes of these names, one second after the other."""
    store.root.mkdir(exist_ok=True)
    for started, run_id in enumerate(ids):
        TapeWriter.create(store.path(run_id), run_id, "run", started * 10**9).close()


# Where it is


def test_the_nearest_folder_at_or_above_is_taken(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / ".reenact").mkdir()
    assert Store.find(deep) == Store(tmp_path / ".reenact")
    (tmp_path / "a" / "b" / ".reenact").mkdir()
    assert Store.find(deep) == Store(tmp_path / "a" / "b" / ".reenact")
    assert Store.find(tmp_path) == Store(tmp_path / ".reenact")


def test_a_file_of_that_name_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / ".reenact").mkdir()
    (tmp_path / "a" / ".reenact").write_text("")
    assert Store.find(tmp_path / "a") == Store(tmp_path / ".reenact")


def test_where_none_is_one_will_be_made_only_when_it_is_needed(tmp_path: Path) -> None:
    store = Store.find(tmp_path)
    assert store.root == tmp_path / ".reenact"
    assert store.ids() == []
    assert not store.root.exists()
    store.new("run")
    assert store.root.is_dir()


def test_a_chosen_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Store.find(tmp_path, "tapes").root == tmp_path / "tapes"
    assert Store.find(tmp_path, "~/tapes").root == tmp_path / "home" / "tapes"


# New tapes


def test_a_new_tape_is_private_and_there_when_it_is_one(store: Store) -> None:
    run_id, path = store.new("agent")
    assert path == store.root / f"{run_id}.tape"
    assert [stat.S_IMODE(each.stat().st_mode) for each in store.root.iterdir()] == [0o600]
    assert store.ids() == []
    TapeWriter.create(path, run_id, "agent", 5).close()
    assert [path.name] == [each.name for each in store.root.iterdir()]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert store.ids() == [run_id]


@pytest.mark.parametrize("left", ["", "-wal", "-shm", "-journal", "-faults", "-new"])
def test_a_name_is_taken_as_long_as_anything_of_it_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """A log that is left over would be taken for that of a new tape."""
    store.root.mkdir()
    (store.root / f"run-abab.tape{left}").touch()
    monkeypatch.setattr(_real, "urandom", lambda size: b"\xab" * size)
    assert store.new("run")[0] == "run-ababab"
    store.remove(store.path("run-abab"))
    assert store.new("run")[0] == "run-abab"


@given(st.text(max_size=80))
def test_an_id_is_made_of_few_characters(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    run_id, path = Store(tmp_path_factory.getbasetemp() / "ids").new(name)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*-[0-9a-f]{4,}", run_id)
    assert len(run_id) <= 40 + 1 + 4
    Store(path.parent).remove(path)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("My Agent", "my-agent"), ("a/../../b", "a-b"), ("--store", "store"), ("Tøst", "t-st"), ("日本", "run"),
        ("", "run"), ("a" * 60, "a" * 40), ("x\0y", "x-y"), (".hidden", "hidden"), ("\udcff", "run"),
    ],
)  # fmt: skip
def test_an_id_begins_with_the_name(store: Store, name: str, slug: str) -> None:
    run_id, _ = store.new(name)
    assert run_id.rpartition("-")[0] == slug


def test_an_id_that_is_taken_is_not_taken_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_real, "urandom", lambda size: b"\xab" * size)
    assert [store.new("run")[0] for _ in range(4)] == ["run-abab", "run-ababab", "run-abababab", "run-ababababab"]
    with pytest.raises(UsageError, match="no free run id for 'run'"):
        store.new("run")


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match=r"cannot make a tape in .*--store"):
            Store(root).new("run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="Permission denied"):
        Store(tmp_path / ".reenact").new("run")


# Which run is meant


def test_an_id_or_what_only_it_begins_with_is_enough(store: Store) -> None:
    made(store, "agent-12ab", "agent-12cd", "search-9999")
    for name, run_id in [("agent-12ab", "agent-12ab"), ("agent-12c", "agent-12cd"), ("s", "search-9999")]:
        assert store.resolve(name) == store.path(run_id)


def test_a_whole_id_is_meant_though_another_begins_with_it(store: Store) -> None:
    made(store, "run-ab12", "run-ab12cd")
    assert store.resolve("run-ab12") == store.path("run-ab12")


def test_what_may_mean_several_is_not_guessed(store: Store) -> None:
    made(store, "agent-12ab", "agent-12cd")
    with pytest.raises(RunNotFoundError, match="may mean agent-12ab, agent-12cd; write more of the id"):
        store.resolve("agent")


def test_what_means_none_is_told_with_what_there_is(store: Store) -> None:
    with pytest.raises(RunNotFoundError, match=r"no run 'x' in .* record one with: reenact record agent\.py"):
        store.resolve("x")
    made(store, "agent-12ab")
    with pytest.raises(RunNotFoundError, match=r"no run 'x' in .* It holds: agent-12ab"):
        store.resolve("x")


def test_characters_that_mean_something_elsewhere_mean_nothing(store: Store) -> None:
    made(store, "agent-12ab")
    for name in ("*", "agent-12a?", "[a]gent", "../agent-12ab", ".", "agent-12ab.tape"):
        with pytest.raises(RunNotFoundError):
            store.resolve(name)


def test_the_path_of_a_tape_is_enough(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "elsewhere.tape"
    written(path, [])
    monkeypatch.chdir(tmp_path)
    assert store.resolve("elsewhere.tape") == path
    assert store.resolve(str(path)) == path


def test_last_is_the_one_that_began_last(store: Store) -> None:
    made(store, "z-0001", "a-0002", "m-0003", "b-0004")
    assert store.resolve("last") == store.path("b-0004")
    store.remove(store.path("b-0004"))
    assert store.resolve("last") == store.path("m-0003")


def test_there_is_no_last_where_there_is_nothing(store: Store) -> None:
    for _ in range(2):
        with pytest.raises(RunNotFoundError, match=r"no run in .* yet"):
            store.resolve("last")
        store.root.mkdir(exist_ok=True)


def test_damaged_tapes_do_not_hide_the_last_that_is_right(store: Store) -> None:
    made(store, "good-0001", "none-0002", "half-0003", "odd-0004", "odd-0005", "odd-0006")
    store.path("none-0002").write_bytes(b"")
    whole = store.path("half-0003").read_bytes()
    store.path("half-0003").write_bytes(whole[: len(whole) // 2])
    edit(store.path("odd-0004"), "DROP TABLE run")
    edit(store.path("odd-0005"), "UPDATE run SET value = 'soon' WHERE key = 'started'")
    edit(store.path("odd-0006"), "UPDATE run SET value = NULL WHERE key = 'started'")
    assert store.resolve("last") == store.path("good-0001")


def test_other_files_of_the_folder_are_no_runs(store: Store) -> None:
    made(store, "agent-12ab")
    for name in ("agent-12ab.tape-wal", "notes.txt", ".tape.swp"):
        (store.root / name).write_text("")
    assert store.ids() == ["agent-12ab"]


def test_a_run_is_removed_with_all_that_lies_beside_it(store: Store) -> None:
    made(store, "agent-12ab", "agent-12ac")
    for extra in ("-wal", "-shm", "-journal", "-faults", "-new"):
        (store.root / f"agent-12ab.tape{extra}").write_text("")
    store.remove(store.path("agent-12ab"))
    store.remove(store.path("agent-12ab"))
    assert [path.name for path in store.root.iterdir()] == ["agent-12ac.tape"]
