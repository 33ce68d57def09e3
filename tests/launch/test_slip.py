"""What the recorded process puts on its slip, the one that started it reads: also when that has closed everything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from reenact.launch.slip import Slip

CHILD = """
import os, sys
from reenact.launch.slip import Slip
slip = Slip.given(sys.argv[1])
os.closerange(3, 4096)
slip.add("the disk is full")
slip.add("näher")
slip.add("x" * 100_000)
os.abort()
"""


def test_what_a_process_that_is_gone_has_said_is_there() -> None:
    slip = Slip.made()
    assert slip.texts == []
    subprocess.run([sys.executable, "-c", CHILD, slip.path], check=False)
    assert slip.texts[:2] == ["the disk is full", "näher"]
    assert len(slip.texts[2]) < 10_000
    slip.close()
    assert not Path(slip.path).exists()


def test_without_one_nothing_is_said(tmp_path: Path) -> None:
    for path in ("", str(tmp_path / "nothing"), str(tmp_path), os.devnull):
        slip = Slip.given(path)
        assert not slip.is_there
        slip.add("lost")
        assert slip.texts == []
