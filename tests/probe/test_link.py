"""The link between a command or a debugger and a process."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from reenact.probe.link import Link
from reenact.probe.messages import Going


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has processes that are held")
def test_who_has_all_of_a_message_may_let_go_at_once() -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    for number in range(3000):
        own, theirs = Link[Going].pair(Going)
        got: list[int] = []

        def take(theirs: int = theirs, got: list[int] = got) -> None:
            link = Link[Going](theirs, Going)
            message, handed = link.receive()
            link.close()
            os.close(handed)
            got.append(message.pid)

        taker = threading.Thread(target=take)
        taker.start()
        own.send(Going(number), own.fileno())
        taker.join()
        own.close()
        assert got == [number]
    assert len([*Path("/proc/self/fd").iterdir()]) == before
