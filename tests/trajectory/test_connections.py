"""HTTP over connections that no seam knew: told like any exchange, and what is none is left as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reenact.providers import Text
from reenact.tape.event import Failed, Kind, PartKind
from reenact.tape.recording import Recording
from reenact.testing import ModelServer, Say, Turn
from reenact.trajectory import Entry, Trajectory, trajectory
from reenact.trajectory.exchanges import Exchanges
from tests.runs import Bench, settings
from tests.trajectory.made import Made, completion, says, user

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
GET = b"GET /x HTTP/1.1\r\nhost: h\r\n\r\n"
TIMED_OUT = msgspec.msgpack.encode(Failed("builtins", "TimeoutError", ["timed out"], {}))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "desk-7f3a.tape")


def post(body: bytes, path: str = "/x", length: int | None = None) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: api.openai.com\r\ncontent-length: {length or len(body)}\r\n\r\n"
    return head.encode() + body


def told(recording: Recording) -> list[tuple[str, str, int | None, str]]:
    """Every event as a line: its kind, name, status and trouble; those that are part of another are left out."""
    entries = [entry for entry in everything(trajectory(recording)) if entry.within is None]
    return [(e.kind, e.name, e.status, f"{e.trouble.type}: {e.trouble.message}" if e.trouble else "") for e in entries]


def everything(found: Trajectory) -> list[Entry]:
    entries = [*found.outside, *(entry for step in found.steps for entry in step.entries)]
    return sorted(entries, key=lambda entry: entry.event)


def bodies(recording: Recording) -> list[tuple[bytes, Any]]:
    """What was asked, and what was answered, of each exchange."""
    exchanges = Exchanges(recording)
    found = [exchanges.of(event) for event in recording.events]
    return [(one.sent, one.answer) for one in found if one.event.kind.name == "HTTP"]


def test_one_connection_carries_many_exchanges(made: Made) -> None:
    link = made.connect("h:80")
    made.send(link, GET)
    made.came(link, OK)
    made.send(link, post(b"one"))
    made.came(link, b"HTTP/1.1 404 Not", b" Found\r\ntransfer-encoding: chunked\r\n\r\n2\r\nno", b"\r\n0\r\n\r\n")
    made.send(link, b"HEAD /x HTTP/1.1\r\n", b"host: h\r\n", b"\r\n")
    made.came(link, b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")
    made.send(link, post(b"")[:-4], b"\r\nexpect: 100-continue\r\n\r\n")
    made.came(link, b"HTTP/1.1 100 Continue\r\n\r\n", OK)
    made.part(link, PartKind.CLOSED)
    recording = made.done()
    assert told(recording) == [
        ("http", "GET http://h/x", 200, ""),
        ("http", "POST http://api.openai.com/x", 404, "Not Found: "),
        ("http", "HEAD http://h/x", 200, ""),
        ("http", "POST http://api.openai.com/x", 200, ""),
    ]
    assert bodies(recording) == [(b"", b"ok"), (b"one", b"no"), (b"", b""), (b"", b"ok")]
    whole = {entry.event: entry.within for entry in everything(trajectory(recording))}
    assert whole == {0: 1, 1: None, 2: None, 3: None, 4: 3, 5: 3, 6: None, 7: 6}


def test_the_url_is_that_of_what_was_asked(made: Made) -> None:
    secure = made.connect("1.2.3.4:443")
    made.over(secure, "TLS with api.openai.com")
    made.send(secure, b"GET /a?b=c HTTP/1.1\r\nHost: api.openai.com\r\n\r\n")
    bare = made.connect("nobody:81 with TLS")
    made.send(bare, b"GET /old HTTP/1.0\r\n\r\n")
    proxy = made.connect("proxy:3128")
    made.send(proxy, b"CONNECT far:443 HTTP/1.1\r\nhost: far:443\r\n\r\n")
    made.came(proxy, b"HTTP/1.1 200 Connected\r\n\r\n")
    made.over(proxy, "TLS with far")
    made.send(proxy, b"GET /through HTTP/1.1\r\nhost: far\r\n\r\n")
    made.came(proxy, OK)
    through = made.connect("proxy:3128")
    made.send(through, b"GET http://far/plain HTTP/1.1\r\nhost: far\r\n\r\n")
    assert [name for _, name, *_ in told(made.done())] == [
        "GET https://api.openai.com/a?b=c",
        "GET https://nobody:81/old",
        "CONNECT far:443",
        "GET https://far/through",
        "GET http://far/plain",
    ]


def test_what_is_no_http_stays_what_it_is(made: Made) -> None:
    mail = made.connect("mail:25")
    made.came(mail, b"220 hello\r\n")
    made.send(mail, b"EHLO me\r\n", GET)
    silent = made.connect("silent:1")
    made.came(silent, b"\x00\x01")
    half = made.connect("half:1")
    made.send(half, b"GET /x HT")
    found = told(made.done())
    assert [(kind, trouble) for kind, *_, trouble in found] == [("socket", "")] * 6  # nor is it an error to stay open


def test_what_is_spoken_after_a_switch_is_no_http(made: Made) -> None:
    link = made.connect("h:80")
    made.send(link, b"GET /talk HTTP/1.1\r\nhost: h\r\nupgrade: websocket\r\n\r\n")
    made.came(link, b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x02hi")
    made.send(link, b"\x81\x82GET ")
    made.came(link, OK)
    assert told(made.done())[:2] == [("http", "GET http://h/talk", 101, ""), ("socket", "send to it", None, "")]


@pytest.mark.parametrize(
    ("came", "end", "trouble"),
    [
        ([], PartKind.END, "cut: the connection was closed before the answer was whole"),
        ([OK[:-1]], PartKind.END, "cut: the connection was closed before the answer was whole"),
        ([OK[:20]], PartKind.END, "cut: the connection was closed before the answer was whole"),
        ([OK[:-1]], PartKind.CHUNK, "cut: the connection was closed before the answer was whole"),
        ([OK.replace(b": 2", b": 200")], PartKind.CLOSED, ""),
        ([], PartKind.CLOSED, "given up: the agent did not wait for the answer"),
        ([], PartKind.CANCELLED, "given up: the agent did not wait for the answer"),
        ([], None, "unfinished: the tape ends before the answer does"),
        ([OK + b"more"], None, "unreadable: more came than the answer says that it has"),
        ([b"-ERR what?\r\n"], PartKind.END, "unreadable: no HTTP: b'-ERR what?\\r'"),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"], None, "no chunk begins with b'zz\\r\\n'"),
        ([b"HTTP/1.0 200 OK\r\n\r\nwhat", b"ever"], PartKind.END, ""),
        ([b"HTTP/1.0 200 OK\r\n\r\nwhatever"], PartKind.CHUNK, ""),
    ],
)
def test_what_is_not_whole_is_told_so(made: Made, came: list[bytes], end: PartKind | None, trouble: str) -> None:
    link = made.connect("h:80")
    made.send(link, GET)
    made.came(link, *came)
    if end is not None:
        made.part(link, end)
    ((kind, name, _, found),) = told(made.done())
    assert (kind, name) == ("http", "GET http://h/x")
    assert found.endswith(trouble)
    assert bool(found) == bool(trouble)


def test_an_exception_in_the_middle_is_the_exchanges_own(made: Made) -> None:
    reset = Failed("builtins", "ConnectionResetError", [104, "reset by peer"], {})
    link = made.connect("h:80")
    made.send(link, GET)
    made.came(link, OK[:-1])
    made.part(link, PartKind.FAILURE, failed=reset)
    late = made.connect("h:80")
    made.send(late, GET)
    made.part(late, PartKind.FALTERED, TIMED_OUT)
    made.part(late, PartKind.CLOSED)
    patient = made.connect("h:80")
    made.send(patient, GET)
    made.part(patient, PartKind.FALTERED, TIMED_OUT)
    made.came(patient, OK)
    made.part(patient, PartKind.CLOSED)
    broken = made.connect("h:80")
    made.over(broken, "send to it", post(b"large"), Failed("builtins", "BrokenPipeError", [32, "broken pipe"], {}))
    made.part(broken, PartKind.CLOSED)
    refused = made.connect("h:80")
    made.over(refused, "send to it", post(b"large"), Failed("builtins", "BrokenPipeError", [32, "broken pipe"], {}))
    made.came(refused, b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
    assert [trouble for *_, trouble in told(made.done())] == [
        "ConnectionResetError: 104, reset by peer",
        "TimeoutError: timed out",
        "",
        "BrokenPipeError: 32, broken pipe",
        "Too Large: ",
    ]


def test_requests_may_be_sent_ahead_of_their_answers(made: Made) -> None:
    link = made.connect("h:80")
    made.send(link, post(b"one", "/1"), post(b"two", "/2"))
    made.came(link, OK + OK.replace(b"ok", b"OK"))
    made.send(link, GET + post(b"three", "/3"))
    made.came(link, OK + OK)
    made.send(link, post(b"four", "/4"))
    made.came(link, OK.replace(b"ok", b"4!"))
    recording = made.done()
    assert bodies(recording) == [(b"one", b"ok"), (b"two", b"OK"), (b"", b"ok"), (b"four", b"4!")]
    assert told(recording)[2][3].startswith("unreadable: more than one request was sent at once")


def test_what_a_send_did_not_send_is_not_counted(made: Made) -> None:
    link = made.connect("h:80")
    body = post(b"hello")
    made.over(link, "send to it", body, Failed("builtins", "BlockingIOError", [11], {}))
    made.over(link, "send to it", body, b"20")
    made.over(link, "send to it", body[20:], str(len(body) - 20).encode())
    made.came(link, OK)
    recording = made.done()
    assert bodies(recording) == [(b"hello", b"ok")]
    assert [entry[3] for entry in told(recording)[-1:]] == [""]


@pytest.mark.parametrize("difference", [-7, 7])
def test_a_credential_that_is_not_on_tape_changes_no_border(made: Made, difference: int) -> None:
    blanked = b'{"secret": "reenact-placeholder-credential"}'
    link = made.connect("h:80")
    for number in range(2):
        made.send(link, post(b"", f"/{number}", len(blanked) + difference), blanked)
        made.came(link, b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (len(blanked) + difference), blanked)
    made.send(link, GET)
    made.came(link, OK)
    made.part(link, PartKind.CLOSED)
    recording = made.done()
    assert bodies(recording) == [(blanked, blanked), (blanked, blanked), (b"", b"ok")]
    assert [trouble for *_, trouble in told(recording)] == ["", "", ""]


def test_nothing_on_a_tape_makes_it_raise(made: Made) -> None:
    link = made.connect("h:80")
    made.send(link, GET)
    made.part(link, PartKind.FALTERED, b"\xc1")
    for over in ("-1", "99", "x", "9" * 50, "٣"):
        made.begin("send to it", GET, kind=Kind.SOCKET, over=over)
    made.begin("send to it", GET, kind=Kind.SOCKET)
    made.over(link, "send to it", post(b"x" * 9), b"9" * 30)
    recording = made.done()
    assert [kind for kind, *_ in told(recording)] == ["http", *["socket"] * 6, "http"]


def test_a_model_is_a_step_and_its_connection_part_of_it(made: Made) -> None:
    asked = json.dumps({"model": "gpt-5", "messages": [user("Rain?")]}).encode()
    link = made.connect()
    made.over(link, "TLS with api.openai.com")
    first = made.send(link, post(b"", "/v1/chat/completions", len(asked)), asked)
    answer = completion(says("No."))
    made.came(link, b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer))
    made.sleep(0.5)
    made.part(link, PartKind.CLOSED)
    recording = made.done()
    (step,) = trajectory(recording).steps
    assert (step.model, step.provider, step.answer and step.answer.parts) == ("gpt-5", "openai", (Text("No."),))
    assert step.attempts == (first,)
    assert [entry.event for entry in step.entries] == [0, 1, 2, 3]
    assert step.ended is not None
    assert step.ended < recording.events[0].ended  # type: ignore[operator]  # the connection was kept open
    assert recording.summary["steps"] == 1


THREADS = """
    import http.client, json, os, threading, urllib.parse
    where = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    links = [http.client.HTTPConnection(where.hostname, where.port) for _ in range(4)]
    every = threading.Barrier(4)
    def work(name):
        for number in range(3):
            link = links[(name + number) % 4]  # each connection goes from hand to hand
            messages = [{"role": "user", "content": f"{name} asks {number}"}]
            link.request("POST", where.path + "/chat/completions", json.dumps({"model": "m", "messages": messages}))
            every.wait()
            link.getresponse().read()
            every.wait()
    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
"""
STREAMS = """
    import asyncio, json, os, urllib.parse
    where = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    async def ask(name):
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        for number in range(2):
            messages = [{"role": "user", "content": f"{name} asks {number}"}]
            body = json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
            writer.write(f"POST {where.path}/chat/completions HTTP/1.1\\r\\nhost: {where.netloc}\\r\\n".encode())
            writer.write(b"transfer-encoding: chunked\\r\\n\\r\\n")
            for half in (body[:9], body[9:], b""):
                writer.write(b"%x\\r\\n%s\\r\\n" % (len(half), half))
                await writer.drain()
            while b"[DONE]" not in await reader.readuntil(b"\\n\\n"):
                pass
            await reader.readuntil(b"\\r\\n0\\r\\n\\r\\n")
        writer.close()
    async def main():
        await asyncio.gather(*map(ask, range(3)))
    asyncio.run(main())
"""


def echo(turn: Turn) -> Say:
    return Say(f"You said: {turn.prompt}.")


def pairs(recording: Recording) -> list[tuple[str, str]]:
    found = trajectory(recording)
    assert all(step.complete and not step.troubles for step in found.steps)
    return [(step.news.messages[-1].text, step.answer.text if step.answer else "") for step in found.steps]


@pytest.mark.parametrize(("program", "count"), [(THREADS, 12), (STREAMS, 6)], ids=["threads", "streams"])
def test_each_answer_is_that_of_its_own_question(bench: Bench, program: str, count: int) -> None:
    with ModelServer(echo) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    found = pairs(run.tape)
    assert len(found) == len(set(found)) == count
    assert all(said == f"You said: {asked}." for asked, said in found)
    assert run.tape.summary["steps"] == run.tape.summary["model_calls"] == count
    run.verified()
