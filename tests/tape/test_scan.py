"""`scan` looks into whatever a text may be packed, coded or framed in."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import brotli
import pytest
import zstandard

from reenact.tape import event as ev
from reenact.tape.scan import scan
from reenact.tape.writer import TapeWriter
from tests.tape.spelling import FORMATS, cut
from tests.tape.test_answer import TOKEN, answered, coded
from tests.tape.test_heard import came, chunked, said
from tests.tape.test_websocket import came as over_websocket
from tests.tape.test_websocket import frames

TEXT = b" ".join(b"%d plain words" % (number**5) for number in range(200)) + b" " + TOKEN + b" end"
EVENTS = b"".join(FORMATS["chat"][1](["the key is ", *cut(TOKEN.decode(), 3), ", I think"]))
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
INSIDE: dict[str, bytes] = {
    "gzip": gzip.compress(TEXT),
    "zstd": b"before " + zstandard.compress(TEXT),
    "deflate": b"before " + zlib.compress(TEXT) + b" after",
    "base64": b'{"image": "' + base64.b64encode(TEXT) + b'"}',
    "base64 of URLs": base64.urlsafe_b64encode(b"\xff\xfe\xfa" * 3 + TEXT).rstrip(b"="),
    "base64 within letters": b"path/to" + base64.b64encode(TEXT),
    "base64 of gzip": base64.b64encode(gzip.compress(TEXT)),
    "URL": quote("key=" + TOKEN.decode(), safe="").replace("-", "%2D").encode(),
}


def tape(folder: Path, records: list[ev.AnyRecord]) -> Path:
    path = folder / "run-1234.tape"
    first = [ev.Start(b"{}"), ev.LaneBorn(0, "0", "main"), ev.SiteNamed(0, "a:b", "a.py", 1)]
    if any(isinstance(record, ev.Part) for record in records) and not isinstance(records[0], ev.Began):
        first.append(ev.Began(0, 0, ev.Kind.HTTP, "GET http://host/", 0, 0, b"[]", ev.Delta(-1, 0, 0, b"")))
    writer = TapeWriter.create(path, "run-1234", "run", 0, first=first)
    for record in records:
        writer.add(record)
    writer.close()
    return path


def finds(folder: Path, records: list[ev.AnyRecord]) -> bool:
    return any(one.size == len(TOKEN) for one in scan(tape(folder, records)))


def file(content: bytes) -> list[ev.AnyRecord]:
    return [ev.Content(b"d" * 32, content)]


@pytest.mark.parametrize("text", INSIDE.values(), ids=INSIDE)
def test_it_looks_into_what_files_hold(tmp_path: Path, text: bytes) -> None:
    assert TOKEN not in text, "or this shows nothing"
    assert finds(tmp_path, file(text))


@pytest.mark.parametrize("coding", PACKS)
@pytest.mark.parametrize("where", ["http", "chunks", "socket"])
def test_it_looks_into_answers_that_are_packed(tmp_path: Path, coding: str, where: str) -> None:
    packed = PACKS[coding](TEXT)
    lines = [b"content-encoding: " + coding.encode()]
    records = {
        "http": answered(coded(coding), packed[:9], packed[9:]),
        "chunks": came(said(*lines, b"transfer-encoding: chunked") + chunked(packed)),
        "socket": came(said(*lines, b"content-length: %d" % len(packed)), packed[:9], packed[9:]),
    }[where]
    assert finds(tmp_path, records)


def test_it_reads_what_events_spell(tmp_path: Path) -> None:
    head = said(b"content-type: text/event-stream", b"content-length: %d" % len(EVENTS))
    assert finds(tmp_path, came(head + EVENTS))


@pytest.mark.parametrize("raw", [True, False])
def test_it_reads_packed_messages_of_a_websocket(tmp_path: Path, raw: bool) -> None:
    told = [json.dumps({"n": 1, "key": "nothing"}), json.dumps({"n": 2, "key": TOKEN.decode()})]
    assert finds(tmp_path, over_websocket([*frames(told, pieces=2)], raw=raw, bits=15, fresh=False))


def test_it_finds_nothing_where_nothing_is(tmp_path: Path) -> None:
    words = b" ".join(b"%d words" % number**5 for number in range(300))
    records = [*file(base64.b64encode(words)), *answered(coded("gzip"), gzip.compress(words))]
    assert not scan(tape(tmp_path, records))
