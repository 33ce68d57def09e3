"""Connections that no seam saw: told in recording, refused in replay."""

from __future__ import annotations

import pytest

from tests.runs import Bench, settings
from tests.sdk.wire import Wire

IN_NO_LANE = """
    import _thread, os, socket, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    def ask():
        try:
            socket.socket().connect((where.hostname, where.port))
        finally:
            over.release()
    over = _thread.allocate_lock()
    over.acquire()
    _thread.start_new_thread(ask, ())
    over.acquire()
"""
CALLED_IN_C = """
    import ctypes, os, socket, struct, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    print("begins")
    link = socket.socket()
    to = struct.pack("!HH4s8x", socket.htons(socket.AF_INET), where.port, socket.inet_aton(where.hostname))
    print(ctypes.CDLL(None, use_errno=True).connect(link.fileno(), to, len(to)))
"""


def test_a_connection_that_no_seam_saw_is_told_and_refused_in_replay(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(IN_NO_LANE, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    (_, (note, site)) = run.tape.notes
    assert (note.slug, note.text) == ("unseen", f"connected to 127.0.0.1:{server.port}")
    assert site is not None
    assert (site.file.endswith("agent.py"), site.line) == (True, 6)
    assert "agent.py:6" in run.stderr.decode()
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert (first["what"], first["site"]["line"]) == ("socket", 6)


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_closes_a_replay_for_code_in_c_too(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(CALLED_IN_C, env=settings(server))
    assert run.text == "begins\n0\n", run.stderr.decode()
    assert [note.slug for note, _ in run.tape.notes] == ["native"]
    with Wire(server.port) as server:
        verified = run.verify()
        assert verified.status == 1
        (first,) = verified.divergences
        assert first["what"] == "output"
        assert server.requests == ()


def test_sockets_that_are_made_and_not_connected_are_nobodys_business(bench: Bench) -> None:
    run = bench.record("""
        import asyncio, socket
        one, two = socket.socketpair()
        one.sendall(b"x"); print(two.recv(1))
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0)); listener.listen(); print(listener.getsockname()[0])
        asyncio.run(asyncio.sleep(0))
    """)
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_libraries_and_bare_sockets_side_by_side(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(
            """
            import os, httpx, urllib.request
            base = os.environ["BASE"]
            print(httpx.get(base + "/sized").status_code)
            print(urllib.request.urlopen(base + "/sized").status)
            print(httpx.get(base + "/sized").status_code)
            """,
            env=settings(server),
        )
    assert len(run.http) == 2
    run.reproduced()
