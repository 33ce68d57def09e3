"""One command tells what was tried to shake a tape, and ends with 1 when anything is not as it should be."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from trust.__main__ import main
from trust.parts import PARTS, Part, Size
from trust.tally import Tally


def part(*tallies: Tally) -> Part:
    def tried(folder: Path, size: Size) -> Iterable[Tally]:
        assert folder.is_dir()
        return tallies

    return Part("bits", "./task bits", tried)


def told(parts: dict[str, Part], monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    for name in set(PARTS):
        monkeypatch.delitem(PARTS, name)
    for name, one in parts.items():
        monkeypatch.setitem(PARTS, name, one)
    monkeypatch.setattr(sys, "argv", ["trust", *words])
    return main()


def test_all_is_told_in_one_table_and_each_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = part(Tally("small", 1000, 1000, "found"), Tally("large", 30, 30, "found"), Tally("odd", 9, 2, "seen"))
    page = tmp_path / "trust.md"
    assert told({"bits": one}, monkeypatch, "--write", str(page)) == 0
    out = capsys.readouterr().out
    assert "| bits | 1,039 | 1,030 found of 1,030, 2 seen of 9 | yes | 0 s | `./task bits` |" in out
    assert "| large | 30 | 30 found | yes | 0.0 s |" in out
    assert page.read_text(encoding="utf-8") == out


@pytest.mark.parametrize("tally", [Tally("a", 5, 4, "found", ["bit 3 of byte 7"]), Tally("a", 0, 0, "found")])
def test_what_is_not_as_it_should_be_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tally: Tally
) -> None:
    """Also where nothing was tried at all."""
    assert told({"bits": part(tally), "others": part(Tally("b", 1, 1, "found"))}, monkeypatch) == 1
    assert "| **no** |" in capsys.readouterr().out


def test_one_part_can_be_tried_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    parts = {"bits": part(Tally("a", 1, 1, "found")), "others": part(Tally("b", 1, 0, "found", ["missed"]))}
    assert told(parts, monkeypatch, "--only", "bits") == 0
    assert "missed" not in capsys.readouterr().out
    assert told(parts, monkeypatch, "--only", "bytes") == 2
    assert "there are bits, others" in capsys.readouterr().err
