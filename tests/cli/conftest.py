"""What the tests of the command line share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from reenact.testing import ModelServer, Say
from tests.cli.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk of the test's own, with a store so that none further up is found."""
    (tmp_path / ".reenact").mkdir()
    return Desk(tmp_path)


@pytest.fixture
def cut(desk: Desk) -> Desk:
    """A desk with the recording of a program that was killed after its second request."""
    desk.write("""
        import os, subprocess
        import urllib3
        print("asking", flush=True)
        for number in range(4):
            urllib3.request("GET", os.environ["URL"])
            if number == 1:  # no replay starts a child
                subprocess.run(["kill", "-KILL", str(os.getpid())])
    """)
    with ModelServer(lambda _turn: Say("Hello.")) as server:
        done = desk.reenact("record", "agent.py", env={"URL": f"{server.openai}/models"})
    assert done.returncode == -signal.SIGKILL
    return desk
