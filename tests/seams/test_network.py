"""Connections that no seam saw: told in recording, refused in replay."""

from __future__ import annotations

import pytest

from tests.runs import Bench, settings
from tests.sdk.wire import Wire

RAW = """
    import os, socket, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    def talk():
        with socket.create_connection((where.hostname, where.port)) as link:
            link.sendall(b"GET /sized HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
            return b"".join(iter(lambda: link.recv(65536), b""))
    print("begins")
    print(len(talk()))
"""
STANDARD = """
    import os, urllib.request
    print("begins")
    print(len(urllib.request.urlopen(os.environ["BASE"] + "/sized").read()))
"""
STREAMS = """
    import asyncio, os, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    async def main():
        print("begins")
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        writer.write(b"GET /sized HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
        print(len(await reader.read()))
        writer.close()
    asyncio.run(main())
"""
LOOK_UP = """
    import socket
    print("begins")
    print(len(socket.getaddrinfo("localhost", 80)) > 0)
"""


@pytest.mark.parametrize(
    ("program", "line"),
    [(RAW, 5), (STANDARD, 4), (STREAMS, 6), (LOOK_UP, 4)],
    ids=["raw", "urllib", "streams", "look-up"],
)
def test_a_connection_that_no_seam_saw_is_told_and_refused_in_replay(bench: Bench, program: str, line: int) -> None:
    with Wire() as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    notes = [(note.slug, note.text, site) for note, site in run.tape.notes]
    assert {slug for slug, _, _ in notes} == {"unseen"}
    assert all(site is not None and site.file.endswith("agent.py") and site.line == line for _, _, site in notes)
    address = "localhost" if program is LOOK_UP else f"127.0.0.1:{server.port}"
    assert any(address in text for _, text, _ in notes)
    assert address in run.stderr.decode()
    assert f"agent.py:{line}" in run.stderr.decode()
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert (first["what"], first["site"]["line"]) == ("socket", line)


def test_in_replay_nothing_reaches_a_server_that_is_there(bench: Bench) -> None:
    with Wire() as server:
        run = bench.record(RAW, env=settings(server))
    with Wire(server.port) as server:
        assert run.verify().status == 1
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


def test_seen_and_unseen_calls_side_by_side(bench: Bench) -> None:
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
    assert len([note for note, _ in run.tape.notes if note.slug == "unseen"]) == 1
    verified = run.verify()
    assert verified.status == 1
    assert verified.document["incomplete"]
