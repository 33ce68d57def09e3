"""A run and its processes as one recording."""

from __future__ import annotations

from pathlib import Path

from reenact.tape import event as ev
from reenact.tape.allowance import Allowance
from reenact.tape.check import State, check
from reenact.tape.close import close
from reenact.tape.journal import fold, unfold
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from reenact.tape.whole import every, firsts, whole
from tests.tape.records import run, written


def journal(path: str, count: int, begun: int, *inside: ev.Kin) -> list[ev.AnyRecord]:
    """What a process did that slept `count` times."""
    records: list[ev.AnyRecord] = [ev.LaneBorn(0, path, f"process {path}")]
    for event in range(count):
        body = ev.Delta(-1, 0, 0, f"{path} {event}".encode())
        records.append(ev.Began(event, 0, ev.Kind.SLEEP, "sleep", -1, begun + event * 10, b"", body))
        records.append(ev.Part(event, ev.PartKind.VALUE, begun + event * 10 + 5, b""))
    return [*records, *inside, ev.Ended(begun + count * 10, None)]


def closed(tmp_path: Path) -> Recording:
    """A run of two processes, of which the first has started a third, and the second did nothing."""
    grand = fold("0.1.1", "grand", [journal("0.1.1", 2, 7)])
    kin = [*fold("0.1", "first", [journal("0.1", 3, 5, *grand)]), *fold("0.2", "second", [journal("0.2", 0, 9)])]
    path = written(tmp_path / "run-1.tape", run())
    close(path, 0, kin=kin)
    assert check(path).state is State.SOUND
    return read(path)


def test_numbers_go_on_from_process_to_process(tmp_path: Path) -> None:
    recording = closed(tmp_path)
    together, own = whole(recording), len(recording.events)
    assert [one.main for one in every(recording)] == ["0", "0.1", "0.1.1", "0.2"]
    assert firsts(recording) == {"0": 0, "0.1": own, "0.1.1": own + 3, "0.2": own + 5}
    assert [event.id for event in together.events] == list(range(own + 5))
    assert [together.body(event) for event in together.events[own:]] == [
        *(f"0.1 {number}".encode() for number in range(3)),
        *(f"0.1.1 {number}".encode() for number in range(2)),
    ]
    assert [event.id for event in together.lanes["0.1.1"].events] == [own + 3, own + 4]
    assert together.summary["events"] == own + 5
    assert whole(together) is together


def test_what_one_process_is_stays_the_run_s_own(tmp_path: Path) -> None:
    recording = closed(tmp_path)
    together = whole(recording)
    assert (together.ended, together.status, together.digest) == (recording.ended, 0, recording.digest)
    assert [one.name for one in recording.processes] == ["process 0.1", "process 0.2"]


def test_a_long_journal_stands_on_tape_in_several_stretches() -> None:
    long: list[ev.AnyRecord] = [ev.Wrote(0, 1, b"x" * 50_000) for _ in range(9)]
    kin = list(fold("0.1", "long", ([record] for record in long)))
    assert len(kin) > 2
    assert [record for stretch in kin for record in unfold(stretch, Allowance())] == long


def test_a_damaged_journal_of_a_process_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "run-1.tape", run())
    close(path, 0)
    assert check(path).state is State.SOUND
    path.unlink()
    path = written(tmp_path / "run-1.tape", [*run(), [ev.Kin("0.1", "first", b"\x91\xc0")]])
    found = check(path)
    assert found.state is State.DAMAGED
    assert "process first (0.1)" in found.damage[0]
