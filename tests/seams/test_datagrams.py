"""Messages without a connection: those of sockets that block, and those of event loops."""

from __future__ import annotations

import pytest

from reenact.tape.event import Kind
from tests.runs import Bench, settings
from tests.seams.peer import Peer

HEAD = """
    import asyncio, os, socket, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    HOST, PORT = where.hostname, where.port
    class Talk(asyncio.DatagramProtocol):
        def __init__(self, enough=1):
            self.enough, self.heard, self.done = enough, [], asyncio.get_running_loop().create_future()
        def connection_made(self, transport):
            self.transport = transport
            print("made", transport.get_extra_info("sockname")[0])
        def datagram_received(self, data, address):
            self.heard.append(data)
            print("got", data, address == (HOST, PORT))
            if len(self.heard) == self.enough:
                self.transport.close()
        def error_received(self, error):
            print("error", repr(error))
            self.transport.abort()
        def connection_lost(self, error):
            print("lost", error)
            self.done.set_result(len(self.heard))
"""
ENDPOINTS = """
    async def main():
        loop = asyncio.get_running_loop()
        transport, talk = await loop.create_datagram_endpoint(lambda: Talk(3), remote_addr=(HOST, PORT))
        transport.sendto(b"one"), transport.sendto(b"two", (HOST, PORT))
        for wrong in (lambda: transport.sendto(b"x", (HOST, 1)), lambda: transport.sendto("text")):
            try:
                wrong()
            except (ValueError, TypeError) as error:
                print(repr(error))
        await asyncio.sleep(0.05)
        transport.sendto(bytearray(b"three"))
        print(await talk.done, transport.is_closing(), transport.get_protocol() is talk)
        transport.sendto(b"after its end")
        transport, talk = await loop.create_datagram_endpoint(lambda: Talk(2), ("127.0.0.1", 0))
        link = transport.get_extra_info("socket")
        print(link.family, link.type, link.getsockname() == transport.get_extra_info("sockname"))
        transport.sendto(b"a", (HOST, PORT)), transport.sendto(b"b", (HOST, PORT))
        print(await talk.done)
        transport, talk = await loop.create_datagram_endpoint(Talk, remote_addr=(HOST, 9))
        transport.sendto(b"nobody is there")
        print(await talk.done)
        try:
            await loop.create_datagram_endpoint(Talk, local_addr=("192.0.2.1", 1))
        except OSError as error:
            print(repr(error))
    asyncio.run(main())
"""
RAW = """
    async def main():
        loop = asyncio.get_running_loop()
        with socket.socket(type=socket.SOCK_DGRAM) as link:
            link.setblocking(False)
            print(await loop.sock_sendto(link, b"raw", (HOST, PORT)))
            print(await loop.sock_recvfrom(link, 100) == (b"you said raw", (HOST, PORT)))
            print(await loop.sock_sendto(link, b"into", (HOST, PORT)))
            held = bytearray(50)
            count, address = await loop.sock_recvfrom_into(link, held)
            print(held[:count], address == (HOST, PORT))
            try:
                await asyncio.wait_for(loop.sock_recvfrom(link, 100), 0.05)
            except TimeoutError:
                print("late")
    asyncio.run(main())
"""
MANY = """
    async def ask(number):
        loop = asyncio.get_running_loop()
        transport, talk = await loop.create_datagram_endpoint(lambda: Talk(4), remote_addr=(HOST, PORT))
        for again in range(4):
            transport.sendto(b"%d asks %d" % (number, again))
        await talk.done
    async def main():
        await asyncio.gather(*map(ask, range(4)))
    asyncio.run(main())
"""
SERVES = """
    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport
        def datagram_received(self, data, address):
            self.transport.sendto(data.upper(), address)
    async def main():
        loop = asyncio.get_running_loop()
        server, _ = await loop.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", 0))
        _, talk = await loop.create_datagram_endpoint(Talk, remote_addr=server.get_extra_info("sockname"))
        talk.transport.sendto(b"of its own")
        await talk.done
        with socket.socket(type=socket.SOCK_DGRAM) as here, socket.socket(type=socket.SOCK_DGRAM) as there:
            here.bind(("127.0.0.1", 0))
            there.sendto(b"and blocking", here.getsockname())
            data, address = here.recvfrom(100)
            here.sendto(data.upper(), address)
            print(there.recvfrom(100)[0])
    asyncio.run(main())
"""
SELECTS = """
    import selectors
    with socket.socket(type=socket.SOCK_DGRAM) as link, selectors.DefaultSelector() as waiter:
        link.bind(("127.0.0.1", 0))
        waiter.register(link, selectors.EVENT_READ)
        print(waiter.select(0.01))
        link.sendto(b"one", (HOST, PORT))
        print(len(waiter.select(5)), link.recvfrom(100)[0])
        link.connect((HOST, PORT))
        link.send(b"two")
        print(link.recv(100), link.getpeername() == (HOST, PORT))
"""


@pytest.mark.parametrize(
    "program", [ENDPOINTS, RAW, SERVES, SELECTS], ids=["endpoints", "raw", "serves itself", "selects"]
)
def test_messages_come_back(bench: Bench, program: str) -> None:
    run = bench.unchanged(HEAD + program, Peer)
    assert run.status == 0, run.stderr.decode()
    assert {event.kind for event in run.tape.events} <= {Kind.SOCKET, Kind.SLEEP}
    run.reproduced()


def test_messages_of_many_tasks_come_back_in_their_order(bench: Bench) -> None:
    with Peer() as server:
        run = bench.record(HEAD + MANY, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    assert run.text.count("you said") == 16
    run.reproduced()


def test_in_replay_nobody_hears_a_message(bench: Bench) -> None:
    with Peer() as server:
        run = bench.record(HEAD + ENDPOINTS, env=settings(server))
    with Peer(server.port) as again:
        run.verified()
        assert again.asked == []


@pytest.mark.parametrize(
    ("program", "old", "new"),
    [(ENDPOINTS, 'b"three"', 'b"four"'), (RAW, 'b"into"', 'b"onto"'), (ENDPOINTS, "(HOST, 9)", "(HOST, 10)")],
)
def test_a_message_that_is_another_is_a_divergence(bench: Bench, program: str, old: str, new: str) -> None:
    with Peer() as server:
        run = bench.record(HEAD + program, env=settings(server))
    changed = (HEAD + program).replace(old, new)
    bench.write(changed)
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert first["what"] == "mismatch", first
    assert new in changed.splitlines()[first["site"]["line"] - 1]


def test_a_protocol_that_raises_goes_on(bench: Bench) -> None:
    program = """
    class Raises(Talk):
        def datagram_received(self, data, address):
            super().datagram_received(data, address)
            raise KeyError("mine")
    async def main():
        transport, talk = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Raises(2), remote_addr=(HOST, PORT))
        transport.sendto(b"one"), transport.sendto(b"two")
        print(await talk.done)
    asyncio.run(main())
    """
    with Peer() as server:
        run = bench.record(HEAD + program, env=settings(server))
    assert run.text.endswith("2\n")
    assert run.stderr.count(b"KeyError: 'mine'") == 2
    run.reproduced()


@pytest.mark.parametrize("program", [ENDPOINTS, SELECTS], ids=["endpoints", "blocking"])
def test_a_secret_in_a_message_is_not_on_tape(bench: Bench, program: str) -> None:
    said = (HEAD + program).replace('b"one"', 'os.environ["THE_TOKEN"].encode()')
    with Peer() as server:
        run = bench.record(said, env={**settings(server), "THE_TOKEN": "variable-secret-5"})
    assert "you said variable-secret-5" in run.text
    data = [run.tape.body(event) for event in run.tape.events]
    data += [part.data for event in run.tape.events for _, part in event.parts]
    assert b"variable-secret" not in b"".join(data)
    run.verified()
