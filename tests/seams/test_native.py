"""What C code does behind every seam: told in a recording, and by the doctor."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.runs import Bench

CONNECT = """
    import ctypes, os, socket, struct, time
    def connect(port):
        libc = ctypes.CDLL(None)
        number = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton("127.0.0.1") + bytes(8)
        assert libc.connect(number, address, 16) == 0
        return number
"""
CALLED_BACK = """
    import ctypes
    libc = ctypes.CDLL(None)
    running, done = [], []
    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def callback(_):
        running.append(1)
        while not done:
            pass
        return 0
    thread = ctypes.c_void_p()
    libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(callback, ctypes.c_void_p), None)
    while not running:
        pass
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_connection_of_c_code_is_told(bench: Bench, port: int) -> None:
    run = bench.record(CONNECT + '    connect(int(os.environ["PORT"]))\n', env={"PORT": str(port)})
    assert [(note.slug, note.text) for note, _ in run.tape.notes] == [
        ("native", f"C code has connected to 127.0.0.1:{port}")
    ]
    assert f"C code has connected to 127.0.0.1:{port}\n" in run.stderr.decode()


def test_the_doctor_tells_it_with_the_line_before_which_it_was_made(bench: Bench, port: int) -> None:
    program = CONNECT + '    os.close((connect(int(os.environ["PORT"])), time.sleep(0.001))[0])\n'
    assert bench.record(program, env={"PORT": str(port)}).tape.notes == []  # it was over before the end
    done = bench.run("-m", "reenact", "doctor", "agent.py", env={"PORT": str(port)})
    assert done.status == 1
    text = done.stdout.decode()
    assert (
        f"  breaks          C code has connected to 127.0.0.1:{port}\n  where           agent.py:9 in <module>" in text
    )


def test_sockets_of_pythons_own_are_not_told_as_those_of_c_code(bench: Bench) -> None:
    program = """
        import asyncio, socket, threading
        server = socket.create_server(("127.0.0.1", 0))
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
        server.close()
        pair = socket.socketpair()
        idle = socket.socket()
        async def main():
            kept = []
            async def meet(reader, writer):
                kept.append(writer)
            serving = await asyncio.start_server(meet, "127.0.0.1", 0)
            kept += await asyncio.open_connection(*serving.sockets[0].getsockname())
            while len(kept) < 3:
                await asyncio.sleep(0)
            import os
            os._exit(0)
        asyncio.run(main())
    """
    assert "native" not in {note.slug for note, _ in bench.record(program).tape.notes}


def test_looking_leaves_a_default_timeout_alone(bench: Bench, port: int) -> None:
    program = (
        CONNECT
        + """
    import fcntl
    number = connect(int(os.environ["PORT"]))
    socket.setdefaulttimeout(5)
    time.sleep(0.001)
    print(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_NONBLOCK)
    """
    )
    bench.write(program)
    done = bench.run("-m", "reenact", "record", "--deep", "agent.py", env={"PORT": str(port)})
    assert done.stdout == b"0\n"


def test_a_thread_past_threading_is_told_with_its_line(bench: Bench) -> None:
    run = bench.record("""
        import _thread
        lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(lock.release, ())
        lock.acquire()
        print("done")
    """)
    assert run.stdout == b"done\n"
    ((note, site),) = run.tape.notes
    assert (note.slug, note.text) == ("thread", "a thread was started by _thread.start_new_thread")
    assert site is not None
    assert site.line == 5


def test_a_thread_of_c_code_is_told(bench: Bench) -> None:
    run = bench.record(CALLED_BACK)
    assert [(note.slug, note.text) for note, _ in run.tape.notes] == [
        ("thread", "a thread that C code has started runs Python code")
    ]
