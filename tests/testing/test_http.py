"""What is on the wire below the formats: connections, chunks, pace, codings, the log of requests."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, RemoteDisconnected

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3

from reenact.testing import ModelServer, Raw, Reply, ResetMidStream, Say, Script, SlowFirstByte, Turn
from reenact.testing.coding import Coding, CodingUnavailableError, accepts

PATH = "/v1/chat/completions"
TEXT = "one two three four five six seven eight nine ten"
ASK = {"model": "m", "messages": [{"role": "user", "content": "count"}]}


def say_it(_: Turn) -> Reply:
    return Say(TEXT)


def streamed_text(body: bytes) -> str:
    events = [line[6:] for line in body.decode().split("\n\n") if line.startswith("data: {")]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content") or "" for event in events)


def test_one_connection_serves_many_requests() -> None:
    with ModelServer(say_it) as server:
        connection = HTTPConnection("127.0.0.1", server.port)
        for _ in range(5):
            connection.request("POST", PATH, json.dumps(ASK))
            local = connection.sock.getsockname()
            assert connection.getresponse().read()
        assert connection.sock.getsockname() == local
        connection.close()


def test_pipelined_requests_are_answered_in_order() -> None:
    one = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{{}}".encode()
    last = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}".encode()
    with ModelServer(Script(Say("first"), Say("second"))) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(one + last)
            received = b"".join(iter(lambda: sock.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert received.index(b"first") < received.index(b"second")


def test_a_chunked_request_is_logged_decoded() -> None:
    body = json.dumps(ASK).encode()
    with ModelServer(say_it) as server:
        httpx.post(server.url + PATH, content=iter([body[:10], body[10:]]))
        assert server.requests[0].headers["transfer-encoding"] == "chunked"
        assert server.requests[0].body == body


def test_a_client_that_expects_100_is_told_to_continue() -> None:
    with ModelServer(say_it) as server, socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(f"POST {PATH} HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n".encode())
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        assert sock.recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("garbage", [b"hello\r\n\r\n", b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", b""])
def test_what_is_not_http_is_hung_up_on_and_the_server_lives(garbage: bytes) -> None:
    with ModelServer(say_it) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(garbage)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(100) == b""
        assert httpx.post(server.url + PATH, json=ASK).status_code == 200
        assert len(server.requests) == 1


def test_every_request_is_logged_whole_in_order_of_arrival() -> None:
    with ModelServer(say_it) as server:
        httpx.get(f"{server.url}/nowhere?a=1&b=%20", headers={"X-Trace": "7"})
        httpx.post(server.url + PATH, json=ASK)
        lost, turn = server.requests
    assert (lost.method, lost.target, lost.path, lost.query) == ("GET", "/nowhere?a=1&b=%20", "/nowhere", "a=1&b=%20")
    assert (lost.headers["x-trace"], lost.body) == ("7", b"")
    assert turn.json() == ASK


def test_a_request_is_logged_before_it_is_answered() -> None:
    with ModelServer(lambda _: Say(f"{len(server.requests)} logged")) as server:
        assert b"1 logged" in httpx.post(server.url + PATH, json=ASK).content


def test_parallel_requests_are_answered_in_parallel() -> None:
    together = threading.Barrier(4)

    def policy(_: Turn) -> Reply:
        together.wait(5)
        return Say("x")

    with ModelServer(policy) as server, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: httpx.post(server.url + PATH, json=ASK).status_code, range(4)))
    assert answers == [200] * 4


@pytest.mark.parametrize(
    ("path", "body", "status", "where"),
    [
        ("/nowhere", {}, 404, "error"),
        ("/v1beta/models/m:explode", {}, 404, "error"),
        ("/model/m/explode", {}, 404, "message"),
        (PATH, [], 400, "error"),
        (PATH, {"messages": ["not an object"]}, 400, "error"),
        ("/v1/embeddings", {}, 400, "error"),
    ],
)
def test_what_cannot_be_read_is_refused(path: str, body: object, status: int, where: str) -> None:
    with ModelServer(say_it) as server:
        response = httpx.post(server.url + path, json=body)
    assert (response.status_code, where in response.json()) == (status, True)


def test_each_event_of_a_stream_is_one_chunk() -> None:
    with ModelServer(say_it) as server, urllib3.PoolManager() as pool:
        response = pool.request("POST", server.url + PATH, json={**ASK, "stream": True}, preload_content=False)
        chunks = list(response.read_chunked())
    assert len(chunks) == len(TEXT.split()) + 3  # the opening, the finish, [DONE]
    assert all(chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") for chunk in chunks)


def test_chunks_are_delayed_and_the_first_byte_apart() -> None:
    with (
        ModelServer(Script(Say("a"), SlowFirstByte(Say("a"), 0.05)), chunk_delay=0.01) as server,
        httpx.Client() as client,
    ):
        took = []
        for body in ({**ASK, "stream": True}, ASK):
            start = time.perf_counter()
            client.post(server.url + PATH, json=body)
            took.append(time.perf_counter() - start)
    assert took[0] >= 0.03  # four chunks
    assert took[1] >= 0.05


def test_a_reset_is_a_reset_and_not_an_end() -> None:
    with ModelServer(Script(ResetMidStream(Raw(200, (), (b"abc", b"def")), 1))) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(f"POST {PATH} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{{}}".encode())
            received = b""
            with pytest.raises(ConnectionResetError):
                while data := sock.recv(65536):
                    received += data
    assert received.endswith(b"\r\n\r\n3\r\nabc\r\n")


def test_a_server_stops_while_clients_wait() -> None:
    gone: list[BaseException] = []

    def wait(url: str) -> None:
        try:
            httpx.post(url, json=ASK, timeout=10)
        except httpx.TransportError as error:
            gone.append(error)

    start = time.perf_counter()
    with ModelServer(Script(SlowFirstByte(Say("never"), 60))) as server:
        thread = threading.Thread(target=wait, args=(server.url + PATH,))
        thread.start()
        while not server.requests:
            time.sleep(0.001)
    thread.join(5)
    assert gone
    assert time.perf_counter() - start < 5


def test_nobody_listens_after_the_block() -> None:
    with ModelServer(say_it) as server:
        connection = HTTPConnection("127.0.0.1", server.port)
        connection.request("POST", PATH, json.dumps(ASK))
        connection.getresponse().read()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("reenact-testing")]
    with pytest.raises((RemoteDisconnected, ConnectionError)):
        connection.request("POST", PATH, json.dumps(ASK))
        connection.getresponse()
    connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


async def with_aiohttp(url: str, body: object) -> tuple[str, str, bytes]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        named = response.headers.get("content-encoding", "")
        return response.request_info.headers["accept-encoding"], named, await response.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_clients_decode_the_coding_if_they_accept_it(coding: Coding, stream: bool) -> None:
    body = {**ASK, "stream": stream}
    with ModelServer(say_it, encoding=coding) as server:
        url = server.url + PATH
        answers = [
            (
                response.request.headers["accept-encoding"],
                response.headers.get("content-encoding", ""),
                response.content,
            )
            for response in (
                httpx.post(url, json=body),
                httpx2.post(url, json=body),
                requests.post(url, json=body, timeout=5),
            )
        ]
        answers.append(asyncio.run(with_aiohttp(url, body)))
    for accepted, named, content in answers:
        text = streamed_text(content) if stream else json.loads(content)["choices"][0]["message"]["content"]
        assert (named, text) == (coding if accepts(accepted, coding) else "", TEXT)
    assert any(named for _, named, _ in answers)


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_coded_stream_can_be_read_chunk_by_chunk(coding: Coding) -> None:
    first = ResetMidStream(Say("one two three"), after_chunks=2)
    seen = b""
    with ModelServer(Script(first), encoding=coding) as server:
        with pytest.raises(httpx.TransportError):
            with httpx.stream(
                "POST", server.url + PATH, json={**ASK, "stream": True}, headers={"accept-encoding": coding}
            ) as response:
                for data in response.iter_bytes():
                    seen += data
    assert streamed_text(seen) == "one"


def test_a_client_that_does_not_accept_the_coding_gets_none() -> None:
    with ModelServer(say_it, encoding="br") as server:
        response = httpx.post(server.url + PATH, json=ASK, headers={"accept-encoding": "gzip, br;q=0"})
    assert "content-encoding" not in response.headers


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("gzip, br", True),
        ("br; q=0.5", True),
        ("BR", True),
        ("gzip", False),
        ("br;q=0", False),
        ("br; q=0.0", False),
        ("", False),
    ],
)
def test_accept_encoding_is_read_with_its_weights(header: str, expected: bool) -> None:
    assert accepts(header, "br") is expected


def test_a_server_that_was_not_started_has_no_address() -> None:
    with pytest.raises(RuntimeError, match="with statement"):
        _ = ModelServer(say_it).openai


def test_a_coding_without_its_library_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "brotli", None)
    with pytest.raises(CodingUnavailableError, match="pip install brotli"):
        ModelServer(say_it, encoding="br")


def test_an_answer_takes_the_server_well_under_a_millisecond() -> None:
    request = f"POST {PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{{}}".encode()
    with ModelServer(say_it) as server, socket.create_connection(("127.0.0.1", server.port)) as sock:
        took = []
        for _ in range(200):
            start = time.perf_counter()
            sock.sendall(request)
            sock.recv(65536)
            took.append(time.perf_counter() - start)
    assert sorted(took)[20] < 0.001  # the fastest tenth: other work on the machine is not the server's
