"""`reenact record`: the program is as it would be without us, and what we say goes to stderr."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.cli.desk import Desk

WAITS = """
    import os, signal, sys, time
    left = [500]
    def got(number, _frame):
        left[:] = [10]  # time for a second one to come, which must not
        print("got", signal.Signals(number).name, flush=True)
    for name in sys.argv[1:]:
        signal.signal(getattr(signal, name), got)
    os.write(1, b"ready\\n")  # a signal in the midst of a flush may not print
    while left[0]:
        left[0] -= 1
        time.sleep(0.02)
"""


def tapes(folder: Path) -> list[Path]:
    return list((folder / ".reenact").iterdir())


def test_output_and_exit_status_are_the_programs_own(desk: Desk) -> None:
    desk.write("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    done = desk.reenact("record", "agent.py")
    assert (done.returncode, done.stdout) == (3, "out\n")
    own, first, second = done.stderr.splitlines()
    assert own == "err"
    assert re.fullmatch(r"reenact: recorded agent-[0-9a-f]{4}: 0 events, [\d.]+ m?s, [\d.]+ kB, exit status 3", first)
    assert second == "reenact: try  reenact show last  or  reenact verify last"


def test_a_quiet_recording_says_nothing_when_all_is_well(desk: Desk) -> None:
    desk.write("print('out')")
    done = desk.reenact("record", "-q", "agent.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "")


def test_options_after_the_script_are_the_scripts(desk: Desk) -> None:
    desk.write("import sys; print(sys.argv[1:])")
    assert (
        desk.reenact("record", "agent.py", "-q", "--store", "x", "--", "y").stdout
        == "['-q', '--store', 'x', '--', 'y']\n"
    )


def test_what_to_try_next_finds_the_chosen_store(desk: Desk) -> None:
    desk.write("")
    done = desk.reenact("record", "--store", "my tapes", "agent.py")
    assert done.stderr.endswith("reenact verify last --store 'my tapes'\n")
    assert len(list((desk.folder / "my tapes").iterdir())) == 1
    assert tapes(desk.folder) == []


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGABRT"])
def test_the_signal_that_killed_the_program_kills_us(desk: Desk, name: str) -> None:
    number = signal.Signals[name]
    desk.write(f"import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.kill(os.getpid(), {number})")
    done = desk.reenact("record", "agent.py")
    assert done.returncode == -number
    assert f", killed by {name}\n" in done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1"])
def test_a_signal_sent_to_us_alone_reaches_the_program_once(desk: Desk, name: str) -> None:
    desk.write(WAITS)
    child = desk.start("record", "-q", "agent.py", name)
    child.send_signal(signal.Signals[name])
    out, err = child.communicate(timeout=60)
    assert (out, err, child.returncode) == (f"got {name}\n", "", 0)


def test_a_signal_that_the_program_does_not_handle_ends_both(desk: Desk) -> None:
    desk.write(WAITS)
    child = desk.start("record", "-q", "agent.py")
    child.terminate()
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM


def test_ctrl_c_at_the_terminal_reaches_the_program_once(desk: Desk) -> None:
    desk.write(WAITS)
    status, screen = desk.at_terminal("record", "-q", "agent.py", "SIGINT", typed=b"\x03")
    assert (status, screen.replace("^C", "")) == (0, "ready\ngot SIGINT\n")


def test_the_program_sees_the_terminal(desk: Desk) -> None:
    desk.write("import os, sys; print([os.isatty(n) for n in range(3)], sys.stdout.isatty(), flush=True)")
    status, screen = desk.at_terminal("record", "-q", "agent.py")
    assert (status, screen) == (0, "[True, True, True] True\n")


def test_a_connection_that_no_seam_saw_is_told_with_its_line(desk: Desk) -> None:
    desk.write("""
        import _thread, socket
        def ask():
            try:
                socket.socket().connect_ex(("127.0.0.1", 9))
            finally:
                over.release()
        over = _thread.allocate_lock()
        over.acquire()
        _thread.start_new_thread(ask, ())
        over.acquire()
    """)
    done = desk.reenact("record", "-q", "agent.py")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-2:] == [
        "reenact: past every seam, so not on tape; replay refuses it:",
        "    connected to 127.0.0.1:9  at agent.py:5 in ask",
    ]


def test_a_python_that_does_not_run_our_hook_is_told_and_leaves_no_tape(desk: Desk) -> None:
    desk.write("print('out')")
    done = desk.reenact("record", "--", "python", "-S", "agent.py")
    assert done.returncode == 2
    assert "start-up hook did not run" in done.stderr
    assert tapes(desk.folder) == []


def test_a_program_that_leaves_at_once_is_no_missing_hook(desk: Desk) -> None:
    desk.write("import os; os._exit(0)")
    done = desk.reenact("record", "agent.py")
    assert done.returncode == 0
    assert "recorded agent-" in done.stderr


@pytest.mark.parametrize("words", [("nothing.py",), (), ("sh", "-c", "true")])
def test_what_cannot_be_recorded_is_misuse(desk: Desk, words: tuple[str, ...]) -> None:
    done = desk.reenact("record", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert tapes(desk.folder) == []
