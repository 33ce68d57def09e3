"""Connections that no library's seam knows: what is said over them is on tape, and in replay nobody is there."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path

import pytest
import trustme

from reenact.tape.event import Kind
from tests.runs import Bench, settings
from tests.sdk.wire import Wire
from tests.seams.peer import Peer

HEAD = """
    import os, urllib.parse
    where = urllib.parse.urlsplit(os.environ["BASE"])
    HOST, PORT = where.hostname, where.port
"""
URLLIB = """
    import urllib.error, urllib.request
    for path in ("/sized", "/chunked", "/large", "/redirect/302/2"):
        with urllib.request.urlopen(os.environ["BASE"] + path) as answer:
            body = answer.read()
            print(path, answer.status, answer.headers["content-type"], len(body))
    try:
        urllib.request.urlopen(os.environ["BASE"] + "/status/503")
    except urllib.error.HTTPError as error:
        print(error, error.headers["retry-after"], error.read())
    try:
        urllib.request.urlopen("http://127.0.0.1:9/")
    except urllib.error.URLError as error:
        print(repr(error))
"""
KEPT_ALIVE = """
    import http.client
    link = http.client.HTTPConnection(HOST, PORT)
    for number in range(3):
        link.request("POST", "/echo", body=f"number {number}", headers={"x-number": str(number)})
        print(len(link.getresponse().read()) > 0)
    link.request("GET", "/sized")
    answer = link.getresponse()
    print(answer.read(7), answer.read1(50), answer.readline())
    link.close()
"""
LINES = """
    import socket
    with socket.create_connection((HOST, PORT)) as link:
        link.settimeout(0.1)
        print(link.getpeername() == (HOST, PORT), link.getsockname()[0])
        lines = link.makefile("rb")
        print(lines.readline())
        link.sendall(b"one\\n")
        print(lines.readline())
        link.send(b"late\\n")
        try:
            link.recv(1)
        except TimeoutError as error:
            print(repr(error))
        link.settimeout(None)
        print(link.recv(3), link.recv(2), lines.readline())
        link.sendall(b"big 102400\\n")
        held = memoryview(bytearray(102_400))
        got = 0
        while got < len(held):
            got += link.recv_into(held[got:])
        print(bytes(held) == bytes(range(256)) * 400)
        link.shutdown(socket.SHUT_WR)
        print(link.recv(10), link.recv(10))
"""
FAILS = """
    import socket
    with socket.create_connection((HOST, PORT)) as link:
        print(link.recv(100))
        link.sendall(b"reset\\n")
        try:
            print(link.recv(10))
        except ConnectionResetError as error:
            print(repr(error), error.errno)
    for host, port in ((HOST, 9), ("nowhere.invalid", 80)):
        try:
            socket.create_connection((host, port))
        except OSError as error:
            print(repr(error))
"""
WAITS = """
    import select, selectors, socket
    links = [socket.create_connection((HOST, PORT)) for _ in range(3)]
    for link in links:
        link.setblocking(False)
    ready, _, _ = select.select(links, [], [], 5)
    print(len(ready) > 0)
    waiter = selectors.DefaultSelector()
    for number, link in enumerate(links):
        waiter.register(link, selectors.EVENT_READ, number)
    links[1].send(b"late\\n"), links[2].send(b"two\\n")
    heard = {0: b"", 1: b"", 2: b""}
    empty = 0
    while not (heard[2].count(b"\\n") == 2 and heard[1].count(b"\\n") == 2):
        for key, events in waiter.select(0.05):
            heard[key.data] += key.fileobj.recv(100)
        try:
            links[0].recv(100)
        except BlockingIOError as error:
            empty += 1
    print(heard[1], heard[2])
    poll = select.poll()
    poll.register(links[1], select.POLLIN)
    links[1].send(b"three\\n")
    print([events for _, events in poll.poll(5000)], links[1].recv(100))
    other = socket.socket()
    other.setblocking(False)
    print(other.connect_ex((HOST, PORT)) in (0, 115))
    print(len(select.select([], [other], [], 5)[1]), other.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    for link in (*links, other):
        link.close()
"""
DATAGRAMS = """
    import socket
    with socket.socket(type=socket.SOCK_DGRAM) as link:
        for number in range(3):
            link.sendto(b"number %d" % number, (HOST, PORT))
            print(link.recvfrom(100) == (b"you said number %d" % number, (HOST, PORT)))
        link.settimeout(0.05)
        try:
            link.recvfrom(10)
        except TimeoutError as error:
            print(repr(error))
    with socket.socket(type=socket.SOCK_DGRAM) as link:
        link.connect((HOST, PORT))
        link.send(b"")
        print(link.recv(100))
"""
THREADS = """
    import concurrent.futures, http.client, time
    def ask(number):
        link = http.client.HTTPConnection(HOST, PORT)
        for again in range(3):
            link.request("GET", "/sized" if number % 2 else "/large")
            done.append((number, again, len(link.getresponse().read())))
        link.close()
    done = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, range(4)))
    print(done)
"""
STREAMS = """
    import asyncio
    async def talk(number):
        reader, writer = await asyncio.open_connection(HOST, PORT)
        link = writer.get_extra_info("socket")
        print(number, writer.get_extra_info("peername"), writer.get_extra_info("sockname")[0], link.getpeername())
        print(number, await reader.readline())
        for said in ("one", "late", "big 51200"):
            writer.write(f"{said}\\n".encode())
            await writer.drain()
            try:
                print(number, await asyncio.wait_for(reader.readline(), 0.15) if "big" not in said else "")
            except TimeoutError:
                print(number, "late", await reader.readline())
        print(number, len(await reader.readexactly(51200)))
        if number == 3:
            writer.write(b"reset\\n")
            try:
                print(number, await reader.read())
            except ConnectionResetError as error:
                print(number, repr(error))
        elif number == 2:
            writer.write(b"bye\\n")
            print(number, await reader.read())
        writer.close()
        try:
            await writer.wait_closed()
        except ConnectionResetError as error:
            print(number, repr(error))
    async def main():
        await asyncio.gather(*map(talk, range(4)))
        try:
            await asyncio.open_connection(HOST, 9)
        except OSError as error:
            print(repr(error))
        try:
            await asyncio.open_connection("nowhere.invalid", 80)
        except OSError as error:
            print(repr(error))
    asyncio.run(main())
"""
LOOP = """
    import asyncio, socket
    class Protocol(asyncio.Protocol):
        def __init__(self, done): self.done, self.heard = done, b""
        def connection_made(self, transport): self.transport = transport
        def data_received(self, data):
            self.heard += data
            if self.heard.endswith(b"hello\\r\\n"):
                self.transport.pause_reading()
                print(self.transport.is_reading())
                asyncio.get_running_loop().call_later(0.05, self.transport.resume_reading)
                self.transport.writelines([b"on", b"e\\n"])
            elif self.heard.endswith(b"one\\r\\n"):
                self.transport.write_eof()
        def eof_received(self): print("eof"); return False
        def connection_lost(self, error): print("lost", error, self.heard); self.done.set_result(self.transport.is_closing())
    class Held(asyncio.BufferedProtocol):
        def __init__(self, done): self.done, self.held, self.heard = done, bytearray(16), b""
        def get_buffer(self, hint): return self.held
        def buffer_updated(self, count):
            self.heard += self.held[:count]
            if self.heard == b"hello\\r\\n": self.done.set_result(self.heard)
    async def main():
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        await loop.create_connection(lambda: Protocol(done), HOST, PORT)
        print(await done)
        done = loop.create_future()
        transport, _ = await loop.create_connection(lambda: Held(done), HOST, PORT)
        print(await done)
        transport.abort()
        link = socket.socket()
        link.setblocking(False)
        await loop.sock_connect(link, (HOST, PORT))
        print(await loop.sock_recv(link, 100))
        await loop.sock_sendall(link, b"raw\\n")
        held = bytearray(100)
        print(held[: await loop.sock_recv_into(link, held)])
        try:
            await asyncio.wait_for(loop.sock_recv(link, 10), 0.05)
        except TimeoutError:
            print("late")
        link.close()
    asyncio.run(main())
"""
TLS = """
    import socket, ssl
    context = ssl.create_default_context(cafile="ca.pem")
    with context.wrap_socket(socket.create_connection(("localhost", PORT)), server_hostname="localhost") as link:
        print(link.version(), link.cipher(), len(link.getpeercert(True)) > 0, link.getpeercert()["subjectAltName"])
        print(link.selected_alpn_protocol(), link.compression())
        lines = link.makefile("rb")
        print(lines.readline())
        link.sendall(b"one\\n")
        print(lines.readline())
        link.setblocking(False)
        try:
            link.recv(10)
        except ssl.SSLWantReadError as error:
            print(repr(error))
    try:
        ssl.create_default_context().wrap_socket(socket.create_connection(("localhost", PORT)), server_hostname="localhost")
    except ssl.SSLCertVerificationError as error:
        print(error.reason, error.verify_message)
"""
TLS_STREAMS = """
    import asyncio, ssl
    context = ssl.create_default_context(cafile="ca.pem")
    async def main():
        reader, writer = await asyncio.open_connection("localhost", PORT, ssl=context)
        secured = writer.get_extra_info("ssl_object")
        print(secured.version(), secured.cipher(), secured.getpeercert()["subjectAltName"])
        print(writer.get_extra_info("peercert")["subjectAltName"], writer.get_extra_info("cipher"))
        print(await reader.readline())
        writer.write(b"one\\n")
        print(await reader.readline())
        writer.write(b"bye\\n")
        print(await reader.read())
        writer.close()
        try:
            await asyncio.open_connection("localhost", PORT, ssl=True)
        except ssl.SSLCertVerificationError as error:
            print(error.reason, error.verify_message)
    asyncio.run(main())
"""
STARTS_TLS = """
    import asyncio, ssl
    context = ssl.create_default_context(cafile="ca.pem")
    async def main():
        reader, writer = await asyncio.open_connection("localhost", PORT)
        print(await reader.readline())
        writer.write(b"tls\\n")
        print(await reader.readline(), writer.get_extra_info("sslcontext"))
        await writer.start_tls(context, server_hostname="localhost")
        print(writer.get_extra_info("cipher"), writer.get_extra_info("sslcontext") is context)
        writer.write(b"one\\n")
        print(await reader.readline())
        writer.close()
        await writer.wait_closed()
    asyncio.run(main())
"""


@pytest.mark.parametrize("program", [URLLIB, KEPT_ALIVE, THREADS], ids=["urllib", "http.client", "threads"])
def test_http_of_the_standard_library_comes_back(bench: Bench, program: str) -> None:
    if program is THREADS:  # which of the threads is first is another in each run
        with Wire() as server:
            run = bench.record(HEAD + program, env=settings(server))
    else:
        run = bench.unchanged(HEAD + program, Wire)
    assert run.status == 0, run.stderr.decode()
    assert {event.kind for event in run.tape.events} == {Kind.SOCKET}
    run.reproduced()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "program",
    [LINES, FAILS, WAITS, DATAGRAMS, STREAMS, LOOP],
    ids=["lines", "fails", "waits", "datagrams", "streams", "loop"],
)
def test_what_is_said_over_a_socket_comes_back(bench: Bench, program: str) -> None:
    if program is STREAMS:  # which of four is first is another in each run
        with Peer() as server:
            run = bench.record(HEAD + program, env=settings(server))
    else:
        run = bench.unchanged(HEAD + program, Peer)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


@pytest.mark.parametrize("program", [TLS, TLS_STREAMS, STARTS_TLS], ids=["sync", "streams", "starts"])
def test_what_is_said_over_tls_is_on_tape_above_it(bench: Bench, program: str) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(bench.folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    serve = functools.partial(Peer, context=context, at_once=program is not STARTS_TLS)
    run = bench.unchanged(HEAD + program, serve)
    assert run.status == 0, run.stderr.decode()
    assert b"hello\r\n" in [part.data for event in run.tape.events for _, part in event.parts]
    assert b"one\n" in [run.tape.body(event) for event in run.tape.events]
    run.reproduced()


def test_a_socket_may_have_a_path(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "peer"
    program = f"""
        import asyncio, socket
        with socket.socket(socket.AF_UNIX) as link:
            link.connect({str(path)!r})
            print(link.recv(100), link.getpeername() == {str(path)!r})
        async def main():
            reader, writer = await asyncio.open_unix_connection({str(path)!r})
            writer.write(b"one\\n")
            print(await reader.readline(), await reader.readline())
            writer.close()
        asyncio.run(main())
    """
    with Peer(path):
        run = bench.record(program)
    path.unlink()
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


def test_in_replay_nobody_hears_anything(bench: Bench) -> None:
    with Peer() as server:
        run = bench.record(HEAD + LINES, env=settings(server))
    with Peer(server.port) as again:
        run.verified()
        assert again.asked == []


@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ('b"one\\n"', 'b"two\\n"', "mismatch", 12),
        ("(HOST, PORT)) as", "(HOST, PORT + 1)) as", "mismatch", 7),
        ("link.shutdown(socket.SHUT_WR)", "pass", "stuck", 28),
    ],
)
def test_what_is_said_otherwise_is_a_divergence(bench: Bench, old: str, new: str, what: str, line: int) -> None:
    program = HEAD + LINES
    with Peer() as server:
        run = bench.record(program, env=settings(server))
    changed = program.replace(old, new, 1)
    assert changed != program
    bench.write(changed)
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert (first["what"], first["site"]["line"]) == (what, line), first


def test_what_signs_a_program_on_is_not_on_tape(bench: Bench) -> None:
    program = (
        HEAD
        + """
    import http.client, socket
    link = http.client.HTTPConnection(HOST, PORT)
    link.request("GET", "/status/200?api_key=query-secret-1", headers={"Authorization": "Bearer head-secret-2"})
    print(link.getresponse().read())
    with socket.create_connection((HOST, PORT)) as link:
        link.sendall(b"AUTH PLAIN AGJvYgBzZWNyZXQtMw==\\r\\nPASS word-secret-4\\r\\n" + os.environ["THE_TOKEN"].encode())
    """
    )
    with Wire() as server:
        run = bench.record(program, env={**settings(server), "THE_TOKEN": "variable-secret-5"})
    assert run.status == 0, run.stderr.decode()
    run.verified()
    said = b"".join(run.tape.body(event) for event in run.tape.events)
    assert b"GET /status/200" in said
    for secret in (b"query-secret", b"head-secret", b"AGJvYgBz", b"word-secret", b"variable-secret"):
        assert secret not in said


def test_a_connection_may_be_left_open(bench: Bench) -> None:
    program = (
        HEAD
        + """
    import asyncio, socket
    link = socket.create_connection((HOST, PORT))
    print(link.recv(100))
    async def main():
        global writer
        reader, writer = await asyncio.open_connection(HOST, PORT)
        print(await reader.readline())
        task = asyncio.create_task(reader.readline())
        await asyncio.sleep(0)
        task.cancel()
    asyncio.run(main())
    os._exit(3)
    """
    )
    with Peer() as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 3, run.stderr.decode()
    run.verified()


def test_who_serves_itself_does_not_leave_the_program(bench: Bench) -> None:
    run = bench.record("""
        import asyncio, socket, threading
        listener = socket.create_server(("127.0.0.1", 0))
        def serve():
            link, _ = listener.accept()
            with link:
                link.sendall(link.recv(10)[::-1])
        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(listener.getsockname()) as link:
            link.sendall(b"abc")
            print(link.recv(10))
        thread.join()
        async def answer(reader, writer):
            writer.write((await reader.readline()).upper())
            writer.close()
        async def main():
            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"loop\\n")
            print(await reader.read())
            writer.close()
            server.close()
        asyncio.run(main())
    """)
    assert run.status == 0, run.stderr.decode()
    assert run.text == "b'cba'\nb'LOOP\\n'\n"
    verified = run.verify()
    assert verified.passed, verified.told()


def test_a_connection_from_before_the_run_is_told(bench: Bench) -> None:
    program = (
        HEAD
        + """
    import socket, reenact
    link = socket.create_connection((HOST, PORT))
    with reenact.record("late"):
        link.sendall(b"one\\n")
        link.recv(100)
    """
    )
    with Peer() as server:
        done = bench.run(bench.write(program), env=settings(server))
    assert done.status == 0, done.stderr.decode()
    verified = bench.run("-m", "reenact", "verify", "last")
    assert verified.status == 1
    shown = bench.run("-m", "reenact", "show", "last").stdout.decode()
    assert f"127.0.0.1:{server.port}" in shown
    assert "not made in this run" in shown


def test_where_it_listened_before_somebody_else_may_be(bench: Bench) -> None:
    program = (
        HEAD
        + """
    import socket
    # where the peer is too, by another address of this machine; and then no more
    socket.create_server(("127.0.0.2", PORT)).close()
    with socket.create_connection((HOST, PORT)) as link:
        print(link.recv(100))
    """
    )
    run = bench.unchanged(program, Peer)
    assert run.text == "b'hello\\r\\n'\n", run.stderr.decode()
    assert Kind.SOCKET in [event.kind for event in run.tape.events]
    run.reproduced()


def test_a_message_that_begins_with_sendmsg_comes_back(bench: Bench) -> None:
    program = (
        HEAD
        + """
    import socket
    with socket.socket(type=socket.SOCK_DGRAM) as link:
        print(link.sendmsg([b"one ", b"two"], [], 0, (HOST, PORT)))
        print(link.recvmsg(100)[0])
    """
    )
    run = bench.unchanged(program, Peer)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


TRUST = """
    import gc, ssl, weakref
    import certifi
    seen = ssl.SSLContext.load_verify_locations
    context = ssl.create_default_context(cafile=certifi.where())
    default = ssl.create_default_context()
    print(context.cert_store_stats(), len(context.get_ca_certs()) > 50, default.cert_store_stats() == default.cert_store_stats())
    for given in ({"cafile": "missing.pem"}, {"capath": None}, {"cadata": "no certificate"}):
        try:
            context.load_verify_locations(**given)
        except (OSError, TypeError) as error:  # ssl.SSLError is an OSError
            print(type(error).__name__, getattr(error, "errno", None))
    context.load_verify_locations("ca.pem")
    print(context.cert_store_stats(), context.verify_mode, context.check_hostname)
    gone = weakref.ref(ssl.create_default_context(cafile=certifi.where()))
    print(gone() is None, seen.__name__, ssl.SSLContext.load_verify_locations is seen)
"""


def test_whom_a_context_trusts_is_as_it_was_whoever_asks(bench: Bench) -> None:
    trustme.CA().cert_pem.write_to_path(str(bench.folder / "ca.pem"))
    plain, run = bench.plain(TRUST), bench.record(TRUST)
    assert (run.status, run.stdout) == (0, plain.stdout), run.stderr.decode()
    assert run.stdout.count(b"Error") == 3
    run.reproduced()


def test_a_replay_does_not_load_certificates_that_nobody_asks_for(bench: Bench) -> None:
    program = """
        import _ssl, ssl
        context = ssl.create_default_context(cafile="ca.pem")
        print("trusts", _ssl._SSLContext.cert_store_stats(context)["x509"])  # past the seam
    """
    trustme.CA().cert_pem.write_to_path(str(bench.folder / "ca.pem"))
    run = bench.record(program)
    assert run.stdout == b"trusts 1\n", run.stderr.decode()
    assert run.replay().stdout == b"trusts 0\n"
