"""What a run hands on of its secrets is seen by nobody else: not in the words of a command line, not on the disk."""

from __future__ import annotations

import sys

import pytest

from tests.runs import Bench

LOOKS = """
import base64, pathlib
from reenact.engine.lane import current
key = current().session.vault.key.hex().encode()
forms = [key, *(base64.b64encode(b"." * shift + key)[4:-4] for shift in range(3))]
words = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
print("looked through", any(b"looks.py" in each for each in words), "seen", sum(any(form in each for form in forms) for each in words))
store = pathlib.Path(".reenact").rglob("*")
print("on disk", sum(key in path.read_bytes() for path in store if path.is_file()))
"""
STARTS = """
import subprocess, sys
print(subprocess.run("{line}", shell=True, capture_output=True, text=True, check=True).stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
@pytest.mark.parametrize("line", ["cd . && env A=1 {python} looks.py; true", "true; sh -lc '{python} looks.py; true'"])
def test_the_key_is_in_no_command_line_and_in_no_file(bench: Bench, line: str) -> None:
    (bench.folder / "looks.py").write_text(LOOKS, encoding="utf-8")
    run = bench.record(STARTS.format(line=line.format(python=sys.executable)))
    assert len(run.tape.processes) == 1
    assert b"looked through True seen 0" in run.stdout
    assert b"on disk 0" in run.stdout
