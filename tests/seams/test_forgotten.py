"""What is left of threads in a copy of a process that was made by the system alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

COPY = """
    import ctypes, os, sys, threading, time
    from reenact.seams.concurrency import forgotten

    def deep(count, lock):
        deep(count - 1, lock) if count else lock.acquire()

    def look():
        time.sleep(0.05)
        for frame in sys._current_frames().values():
            while frame is not None:
                frame = frame.f_back

    lock = threading.Lock()
    lock.acquire()
    for _ in range(3):
        threading.Thread(target=deep, args=(5, lock), daemon=True).start()
    while sum(frame.f_code is deep.__code__ for frame in sys._current_frames().values()) < 3:
        time.sleep(0.01)
    assert forgotten.can_forget()
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        forgotten.forget()
        assert len(sys._current_frames()) == 1
        others = [threading.Thread(target=look) for _ in range(6)]  # on the stacks of those that are gone
        for other in others:
            other.start()
        look()
        for other in others:
            other.join()
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(sys._current_frames()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such copies")
def test_who_asks_where_all_threads_are_finds_none_that_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(COPY)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["7", "4"], done.stdout + done.stderr
