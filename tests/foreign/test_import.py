"""Cassettes of vcrpy and HAR files, put onto tapes: shown like any run, and the HTTP of a program that runs again."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reenact.engine.normalize import SHIPPED, pointer
from reenact.engine.source import Source
from reenact.errors import MissingExtraError
from reenact.foreign import onto, yaml
from reenact.foreign.exchange import Answer, Exchange, Found
from reenact.seams.http.exchange import request
from reenact.tape.store import Store
from reenact.testing import ModelServer, Say, Script
from tests.runs import Bench, Done, Run, settings

AGENT = """
import json, os, sys, time
import {library}
client = sys.argv[1] if len(sys.argv) > 1 else "one"
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

def ask(question):
    body = {{"model": "m", "messages": [{{"role": "user", "content": question}}]}}
    headers = {{"authorization": "Bearer sk-very-secret-key"}}
    {ask}

for question in ("one", "two", "one"):
    print(ask(question)["choices"][0]["message"]["content"], flush=True)
"""
LIBRARIES = {
    "httpx": "return httpx.post(url, json=body, headers=headers).json()",
    "httpx2": "return httpx2.post(url, json=body, headers=headers).json()",
    "requests": "return requests.post(url, json=body, headers=headers).json()",
    "aiohttp": """import asyncio
    async def main():
        async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as answer:
            return await answer.json()
    return asyncio.run(main())""",
}
VCR = """
import sys, vcr
with vcr.VCR(serializer=sys.argv.pop(1)).use_cassette(sys.argv.pop(1), allow_playback_repeats=False):
    exec(compile(open("agent.py").read(), "agent.py", "exec"), {"__name__": "__main__"})
"""


def agent(library: str) -> str:
    return AGENT.format(library=library, ask=LIBRARIES[library])


def cassette(bench: Bench, library: str, sort: str = "yaml") -> Path:
    """A cassette that vcrpy itself has made of the agent, whose model is gone when this returns."""
    bench.write(agent(library))
    (bench.folder / "with_vcr.py").write_text(VCR, encoding="utf-8")
    path = bench.folder / f"talk.{sort}"
    said = Script(Say("first"), Say("second"), Say("third"))
    with ModelServer(said) as server:
        done = bench.run("with_vcr.py", sort, str(path), env=settings(server))
        bench.url = settings(server)  # type: ignore[attr-defined]
    assert done.stdout == b"first\nsecond\nthird\n", done
    return path


def reenact(bench: Bench, *words: str) -> Done:
    return bench.run("-m", "reenact", *words, env=getattr(bench, "url", None))


def imported(bench: Bench, path: Path) -> dict[str, Any]:
    done = reenact(bench, "import", str(path), "--json")
    assert done.status == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def kept(bench: Bench, before: set[str]) -> Run:
    """The one run that has come to the store since."""
    (name,) = set(bench.store.ids()) - before
    return Run(bench, bench.store.path(name), Done(0, b"first\nsecond\nthird\n", b""))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_cassette_of_vcrpy_answers_the_program_and_becomes_a_tape(bench: Bench, library: str) -> None:
    found = imported(bench, cassette(bench, library))
    assert (found["steps"], found["exchanges"], found["answered"]) == (3, 3, 3)
    assert "no clock" in found["notes"][0]
    before = set(bench.store.ids())
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert (done.status, done.stdout) == (0, b"first\nsecond\nthird\n"), done.stderr.decode()
    assert b"answered 3 of 3 exchanges" in done.stderr
    run = kept(bench, before)
    verified = run.verify()
    assert (verified.passed, verified.boundaries[1:], verified.document["drifts"]) == (
        True,
        (len(run.tape.events),) * 2,
        {},
    )
    assert run.replay().stdout == done.stdout
    assert [note.text for note, _ in run.tape.notes] == [
        f"its HTTP was answered by {found['run']}, which another tool has recorded"
    ]
    assert [event.name for event in run.http] == [f"POST {bench.url['OPENAI_BASE_URL']}/chat/completions"] * 3  # type: ignore[attr-defined]
    for path in (bench.store.path(found["run"]), run.path):
        assert b"sk-very-secret-key" not in everything(bench, path)


def everything(bench: Bench, path: Path) -> bytes:
    code = "import sys; from reenact.tape.reader import records; from pathlib import Path; print(list(records(Path(sys.argv[1]))))"
    return bench.run("-c", code, str(path)).stdout


def test_cassettes_may_be_answers_for_another_library(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "requests", "json"))
    bench.write(agent("httpx"))
    done = reenact(bench, "replay", found["run"], "-q", "--", "agent.py")
    assert (done.status, done.stdout, done.stderr) == (0, b"first\nsecond\nthird\n", b"")


def test_show_has_the_same_timeline_as_of_a_recorded_run(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "httpx"))
    shown = json.loads(reenact(bench, "show", found["run"], "--json").stdout)
    answers = [step["answer"]["parts"][0]["text"] for step in shown["steps"]]
    assert answers == ["first", "second", "third"]
    told = reenact(bench, "show", found["run"]).stdout.decode()
    assert "import:talk.yaml" in told
    assert "imported from another tool" in told
    assert reenact(bench, "fsck", found["run"]).status == 0
    assert found["run"] in reenact(bench, "runs").stdout.decode()


def test_what_the_exchanges_do_not_hold_is_a_difference(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "httpx"))
    before = set(bench.store.ids())
    (bench.folder / "agent.py").write_text(agent("httpx").replace('"two"', '"other"'), encoding="utf-8")
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert done.status == 1
    told = done.stderr.decode()
    assert "DIVERGED" in told
    assert "two" in told
    assert "other" in told
    assert set(bench.store.ids()) == before
    by_url = reenact(bench, "replay", found["run"], "--by-url", "--", "agent.py")
    assert (by_url.status, by_url.stdout) == (0, b"first\nsecond\nthird\n")
    assert b"by method and URL" in by_url.stderr


def test_each_exchange_answers_once(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "httpx"))
    (bench.folder / "agent.py").write_text(agent("httpx").replace('"two", "one"', '"one", "one"'), encoding="utf-8")
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert (done.status, done.stdout) == (1, b"first\nthird\n")
    assert b"none is left" in done.stderr
    (bench.folder / "agent.py").write_text(
        agent("httpx").replace('("one", "two", "one")', '("two",)'), encoding="utf-8"
    )
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert (done.status, done.stdout) == (0, b"second\n")
    assert b"not asked: POST" in done.stderr


def test_there_is_no_network(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "httpx"))
    with ModelServer(Script(Say("live"))) as server:
        bench.write("""
import os, subprocess, sys, urllib.request
code = "import urllib.request; urllib.request.urlopen(" + repr(os.environ["BASE"]) + ")"
print(subprocess.run([sys.executable, "-S", "-c", code], capture_output=True).returncode, flush=True)
urllib.request.urlopen(os.environ["BASE"])
""")
        done = bench.run("-m", "reenact", "replay", found["run"], "--", "agent.py", env=settings(server))
        assert not server.requests
    assert done.status == 1, done.stderr.decode()
    assert b"network" in done.stderr or b"socket" in done.stderr


def test_an_imported_run_names_no_program(bench: Bench) -> None:
    found = imported(bench, cassette(bench, "httpx"))
    for command in ("replay", "verify", "explore", "doctor"):
        done = reenact(bench, command, found["run"])
        assert done.status == 2
        assert b"names no program" in done.stderr
    bench.write("print('hello')")
    run = bench.record("print('hello')")
    done = reenact(bench, "replay", run.path.stem, "--", "agent.py")
    assert done.status == 2
    assert b"without naming one" in done.stderr


def entry(**more: Any) -> dict[str, Any]:
    """An entry of a HAR, as Chrome writes it."""
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "first"}, "finish_reason": "stop"}],
        "model": "m",
    }
    asked = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
    found = {
        "startedDateTime": "2026-03-01T10:00:00.250Z",
        "time": 120.5,
        "request": {
            "method": "POST",
            "url": "https://api.openai.com/v1/chat/completions",
            "httpVersion": "h2",
            "headers": [
                {"name": ":authority", "value": "api.openai.com"},
                {"name": "Authorization", "value": "Bearer sk-very-secret-key"},
            ],
            "postData": {"mimeType": "application/json", "text": json.dumps(asked, indent=1)},
        },
        "response": {
            "status": 200,
            "statusText": "",
            "httpVersion": "h2",
            "headers": [
                {"name": "content-type", "value": "application/json"},
                {"name": "content-encoding", "value": "br"},
            ],
            "content": {"size": 9, "mimeType": "application/json", "text": json.dumps(answer)},
        },
        "timings": {"blocked": -1, "dns": 1, "connect": 2, "send": 0.5, "wait": 100, "receive": 17},
    }
    return {**found, **more}


def har(bench: Bench, *entries: dict[str, Any]) -> Path:
    path = bench.folder / "trace.har"
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {}, "entries": entries}}), encoding="utf-8")
    return path


def test_a_har_answers_the_program(bench: Bench) -> None:
    answer = entry()["response"]
    second = {
        **answer,
        "content": {
            "mimeType": "application/json",
            "encoding": "base64",
            "text": base64.b64encode(answer["content"]["text"].replace("first", "zweitens: ü").encode()).decode(),
        },
    }
    found = imported(bench, har(bench, entry(), entry(response=second)))
    assert (found["steps"], found["answered"]) == (2, 2)
    bench.write("""
import openai
for _ in range(2):
    answer = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "one"}])
    print(answer.choices[0].message.content)
""")
    before = set(bench.store.ids())
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert (done.status, done.stdout) == (0, "first\nzweitens: ü\n".encode()), done.stderr.decode()
    (name,) = set(bench.store.ids()) - before
    assert Run(bench, bench.store.path(name), Done(0, done.stdout, b"")).verify().passed
    assert b"sk-very-secret-key" not in everything(bench, bench.store.path(found["run"]))


def test_what_a_har_does_not_hold_is_told(bench: Bench) -> None:
    failed = entry(
        response={"status": 0, "statusText": "", "headers": [], "content": {"size": 0}, "_error": "net::ERR_ABORTED"}
    )
    gone = entry(response={**entry()["response"], "content": {"size": 512, "mimeType": "text/html"}})
    elsewhere = entry(response={**entry()["response"], "content": {"size": 5, "_file": "../../etc/passwd"}})
    found = imported(bench, har(bench, failed, gone, elsewhere))
    assert (found["exchanges"], found["answered"]) == (3, 0)
    told = " ".join(found["notes"])
    for what in (
        "1 of 3: no answer came: net::ERR_ABORTED",
        "2 of 3: the file does not hold",
        "3 of 3: its body is in another file",
    ):
        assert what in told
    assert reenact(bench, "show", found["run"]).status == 0


def test_messages_of_a_websocket_are_on_the_tape(bench: Bench) -> None:
    messages = [
        {"type": "send", "time": 1772359200.5, "opcode": 1, "data": '{"type": "hello"}'},
        {"type": "receive", "time": 1772359201.5, "opcode": 2, "data": base64.b64encode(b"\x00\xff").decode()},
    ]
    switching = {"status": 101, "statusText": "Switching Protocols", "headers": [], "content": {"size": 0}}
    request = {"method": "GET", "url": "wss://api.openai.com/v1/realtime", "headers": []}
    found = imported(bench, har(bench, entry(request=request, response=switching, _webSocketMessages=messages)))
    data = everything(bench, bench.store.path(found["run"]))
    assert b"hello" in data
    assert b"\\x82\\x02\\x00\\xff" in data
    assert reenact(bench, "show", found["run"]).status == 0


PACKED = base64.b64encode(gzip.compress(b"packed")).decode()
CASSETTE = f"""
interactions:
- request: {{body: null, headers: {{Accept: ['*/*']}}, method: GET, uri: 'http://h.invalid/a?api_key=sk-very-secret-key'}}
  response:
    body: {{string: !!binary {PACKED}}}
    headers: {{Content-Encoding: [gzip], Transfer-Encoding: [chunked], Set-Cookie: [a=1, b=2]}}
    status: {{code: 200, message: OK}}
- request: {{body: !!python/unicode 'x', headers: {{}}, method: PUT, uri: 'http://h.invalid/b'}}
  response: {{content: 'old', headers: {{}}, http_version: HTTP/1.1, status_code: 404}}
- request: {{body: null, headers: {{}}, method: HEAD, uri: 'http://h.invalid/c'}}
  response: {{body: {{string: ''}}, headers: {{Content-Length: ['12']}}, status: {{code: 200, message: OK}}}}
version: 1
"""


def test_packed_bodies_old_forms_and_repeated_headers(bench: Bench) -> None:
    path = bench.folder / "forms.yaml"
    path.write_text(CASSETTE, encoding="utf-8")
    found = imported(bench, path)
    bench.write("""
import httpx, requests
for get in (requests.request, httpx.request):
    pass
one = requests.get("http://h.invalid/a?api_key=other")
two = httpx.put("http://h.invalid/b", content=b"x")
three = requests.head("http://h.invalid/c")
print(one.text, one.raw.headers.getlist("set-cookie"), two.status_code, two.text, three.headers["content-length"])
""")
    done = reenact(bench, "replay", found["run"], "--", "agent.py")
    assert done.stdout == b"packed ['a=1', 'b=2'] 404 old 12\n", done.stderr.decode()


BAD = {
    "nothing": ("", "neither a cassette of vcrpy nor a HAR"),
    "text": ("hello", "neither a cassette of vcrpy nor a HAR"),
    "torn": ('{"log": ', "cannot be read as JSON"),
    "no version": ("interactions: []", "version None"),
    "another version": ("interactions: []\nversion: 2", "version 2"),
    "code": ("interactions: !!python/object/apply:os.system ['touch owned']\nversion: 1", "cannot be read as YAML"),
    "deep": ("interactions: " + "[" * 200 + "]" * 200, "nested more than 100 deep"),
    "itself": ("interactions: &a [*a]\nversion: 1", "holds itself"),
    "copies": ("a: &a {b: 1}\ninteractions: [{<<: *a}]\nversion: 1", "copies mappings"),
    "no url": (
        "interactions:\n- request: {method: GET}\n  response: {}\nversion: 1",
        "interaction 1.request.uri is missing",
    ),
    "no status": (
        "interactions:\n- request: {method: GET, uri: 'http://x/'}\n  response: {status: {code: no}}\nversion: 1",
        "interaction 1.response.status.code is",
    ),
    "a list": ('{"log": {"entries": [3]}}', "entry 1 is 3, and should be an object"),
    "deep json": ('{"log": ' + "[" * 100000 + "]" * 100000 + "}", "cannot be read as JSON"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_read_is_told_with_its_place(bench: Bench, bad: str) -> None:
    text, why = BAD[bad]
    path = bench.folder / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    done = reenact(bench, "import", str(path))
    assert done.status == 2
    assert "error[import]" in done.stderr.decode()
    assert why in done.stderr.decode()
    assert not (bench.folder / "owned").exists()
    assert not bench.store.ids()


def test_there_is_no_such_file(bench: Bench) -> None:
    done = reenact(bench, "import", "nowhere.yaml")
    assert done.status == 2
    assert b"No such file" in done.stderr


def test_of_several_files_those_that_can_be_read_are_imported(bench: Bench) -> None:
    (bench.folder / "bad.yaml").write_text("3", encoding="utf-8")
    done = reenact(bench, "import", "bad.yaml", str(har(bench, entry())), "nowhere.har")
    assert done.status == 2
    assert b"imported" in done.stdout
    for what in (b"bad.yaml: it is neither", b"nowhere.har: it cannot be read"):
        assert what in b" ".join(done.stderr.split())
    assert len(bench.store.ids()) == 1


ODD = {
    "status": 200,
    "statusText": "Ünüsual\r\nx: y",
    "content": {"text": "{}", "mimeType": "text/plain; charset=nonsense"},
}


def test_odd_heads_reach_the_program_on_one_line_each(bench: Bench) -> None:
    headers = [{"name": "set-cookie", "value": "a=1\nb=2"}, {"name": "x-name", "value": "日本"}]
    asked = {"method": "get", "url": "http://h.invalid:80/x", "headers": []}
    found = imported(
        bench,
        har(bench, entry(request=asked, response={**ODD, "headers": headers}, startedDateTime="9999-01-01", time=1e12)),
    )
    bench.write("""
import requests
one = requests.get("http://h.invalid/x")
print(one.status_code, one.raw.headers.getlist("set-cookie"), one.headers["x-name"].encode("latin-1").decode(), "x" in one.headers, one.json())
""")
    done = reenact(bench, "replay", found["run"], "-q", "--", "agent.py")
    assert done.stdout.decode() == "200 ['a=1', 'b=2'] 日本 False {}\n", done.stderr.decode()


def test_a_url_that_is_none_is_told(bench: Bench) -> None:
    done = reenact(
        bench, "import", str(har(bench, entry(request={"method": "GET", "url": "http://user@[::1", "headers": []})))
    )
    assert done.status == 2
    assert b"exchange 1" in done.stderr
    assert not bench.store.ids()


def test_where_the_kernel_closes_nothing_that_is_said(sealed: Bench) -> None:
    found = imported(sealed, har(sealed, entry()))
    sealed.write("""
import httpx
asked = {"messages": [{"content": "one", "role": "user"}], "model": "m"}
print(httpx.post("https://api.openai.com/v1/chat/completions", json=asked).status_code)
try:
    httpx.get("http://127.0.0.1:9/")
except BaseException as error:
    print(type(error).__name__)
""")
    done = reenact(sealed, "replay", found["run"], "--", "agent.py")
    assert (done.status, done.stdout) == (1, b"200\nDivergenceError\n"), done.stderr.decode()
    assert b"none of the imported exchanges is of this method and URL" in b" ".join(done.stderr.split())
    (sealed.folder / "agent.py").write_text("print()", encoding="utf-8")
    assert b"audit hook" in reenact(sealed, "replay", found["run"], "--", "agent.py").stderr


def test_without_a_library_for_yaml_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'reenact\[import\]'"):
        yaml.load(b"interactions: []")


def test_a_source_knows_what_is_alike(tmp_path: Path) -> None:
    asked = [
        Exchange(
            "POST", "https://h.example/a?b=1", (("x", "1"),), b'{"a": 1, "b": [2]}', Answer(200, "OK", (), b"first")
        ),
        Exchange("post", "https://h.example:443/a?b=1", (), b'{"b":[2],"a":1}', Answer(200, "OK", (), b"second")),
        Exchange("POST", "https://h.example/a?b=1", (), b'{"a":1,"b":[2],"id":"x7"}', Answer(200, "OK", (), b"third")),
    ]
    tape = onto.keep(Found("HAR", asked), Path("some.har"), Store(tmp_path))
    call = request("POST", "https://h.example/a?b=1", [("x", "2")], b'{"a":1,"b":[2]}')

    def answers(source: Source) -> list[int | None]:
        return [found.id if found is not None else None for found in (source.take(call) for _ in range(4))]

    assert answers(Source(tape, SHIPPED)) == [0, 1, None, None]
    assert answers(Source(tape, (*SHIPPED, pointer("/id")))) == [0, 1, 2, None]
    assert answers(Source(tape, SHIPPED, by_url=True)) == [0, 1, 2, None]
    source = Source(tape, SHIPPED)
    assert [event.id for event in source.unasked()] == [0, 1, 2]
    other = request("POST", "https://h.example/a?b=1", [], b'{"a":2,"b":[2]}')
    assert (source.take(other), source.refuse("0", other).event) == (None, 0)
    elsewhere = request("POST", "https://h.example/c", [], b"")
    assert (source.take(elsewhere), source.refuse("0", elsewhere).event) == (None, None)
