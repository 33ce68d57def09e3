"""What is fuzzed: functions of bytes that return for any input whatever, and say by an exception what is wrong.

The tests run each on the corpus, and on what hypothesis makes of it; `./task fuzz` looks for what reaches more code.
"""

from __future__ import annotations

import json
import struct
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

import msgspec

from reenact.debugger.dap.adapter import RunAdapter
from reenact.debugger.dap.bodies import Body
from reenact.debugger.dap.framing import Framing, FramingError
from reenact.debugger.dap.messages import Request as Asking
from reenact.debugger.dap.server import RefusedError, Server
from reenact.engine import failure, normalize
from reenact.engine.cause import explain
from reenact.engine.diff import compare
from reenact.engine.divergence import Divergence, Request, What
from reenact.errors import ForeignError, ReenactError, TapeError, UsageError
from reenact.foreign import files as foreign
from reenact.foreign import onto
from reenact.launch.settings import Settings
from reenact.providers import ModelCall, NotAModel, Unreadable, Wire, news, read
from reenact.providers.encoding import dechunk, decode_content
from reenact.providers.stream import stream_of
from reenact.report import differences, document, origins, table, timeline
from reenact.report import divergence as divergences
from reenact.report import event as events
from reenact.report import run as runs
from reenact.report import step as steps
from reenact.report.speech import pretty
from reenact.report.terminal import Paint, clip, columns, lines, plain, preview, wrapped
from reenact.tape import answer, http1, reader
from reenact.tape import event as ev
from reenact.tape.building import Builder, set_aside
from reenact.tape.check import State, check
from reenact.tape.close import rows_of, summary_of
from reenact.tape.inside import inside
from reenact.tape.journal import GENESIS, Piece, link, unpack
from reenact.tape.listing import listing
from reenact.tape.recording import Recording
from reenact.tape.store import Store
from reenact.tape.streams import Streams
from reenact.tape.vault import Vault
from reenact.tape.websocket import Sent, said_in
from reenact.tape.whole import whole
from reenact.trajectory import trajectory
from reenact.trajectory.compare import Side, compared
from reenact.trajectory.history import History
from reenact.trajectory.origin import Start, origin
from reenact.trajectory.own import own
from reenact.trajectory.passage import passages

Target = Callable[[bytes], None]

BETWEEN: Final = b"\n====\n"
"""What parts an input into the texts that it is made of."""

SECRET: Final = b"sk-proj-4b1c0d8e7f6a5b4c"
"""What a vault knows."""

_WIDTH: Final = 60
_SHOWN: Final = 4
_LIMIT: Final = 1 << 20
_NOW: Final = 1_795_000_000_000_000_000


def exchange(data: bytes) -> None:
    """The readers of the providers. The first line is `POST URL STATUS CONTENT-TYPE CODING`; then request, answer."""
    first, _, rest = data.partition(b"\n")
    asked, _, answered = rest.partition(BETWEEN)
    method, url, status, kind, coding = (first.decode("latin-1").split(" ") + [""] * 5)[:5]
    headers = (("content-type", kind), ("content-encoding", coding))
    body = decode_content(headers, answered, limit=_LIMIT)
    wire = Wire(
        method,
        url,
        (),
        asked,
        int(status) if status.isascii() and status.isdigit() and len(status) < 4 else None,
        headers,
        body if isinstance(body, bytes) else b"",
    )
    reading = read(wire)
    assert isinstance(reading, ModelCall | NotAModel | Unreadable)
    _json(reading)
    if isinstance(reading, ModelCall):
        assert reading.continues or not news(reading, reading).messages
        for message in (*reading.messages, *([reading.answer] if reading.answer is not None else [])):
            hash(message)
    history = History.of(wire)
    _json(history.read(len(history.turns) // 2))


def encoding(data: bytes) -> None:
    """Content codings and chunks. The first line names the codings."""
    codings, _, body = data.partition(b"\n")
    plain_ = decode_content((("content-encoding", codings.decode("latin-1")),), body, limit=_LIMIT)
    assert isinstance(plain_, Unreadable) or len(plain_) <= max(_LIMIT, len(body))
    assert len(dechunk(body)) <= len(body)


def frames(data: bytes) -> None:
    """AWS's binary streams, with checksums that are right: the headers of a frame, and its payload."""
    headers, _, payload = data.partition(BETWEEN)
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    frame = prelude + crc32(prelude).to_bytes(4) + headers + payload
    found = stream_of("application/vnd.amazon.eventstream", frame + crc32(frame).to_bytes(4) + data)
    assert found is not None
    assert found.fault is not None or not data


def messages(data: bytes) -> None:
    """HTTP/1.1 over a connection: the same whether it comes at once or byte by byte."""
    sent, _, came = data.partition(BETWEEN)
    for make, said in ((http1.request, sent), (lambda: http1.answer("POST"), came)):
        whole_, piecemeal = make(), make()
        start, end = whole_.take(said)
        assert 0 <= start <= end <= len(said)
        for at in range(len(said)):
            if not piecemeal.whole and not piecemeal.fault:
                piecemeal.take(said[at : at + 1])
        assert (whole_.head, whole_.whole) == (piecemeal.head, piecemeal.whole)
        assert bool(whole_.fault) == bool(piecemeal.fault)


def connection(data: bytes) -> None:
    """What is sent over a connection, and what comes, looked through for a secret: at once, and in pieces."""
    vault = Vault(b"key")
    vault.learn([SECRET], bool)
    sent, _, came = data.partition(BETWEEN)
    Sent().plain(sent)
    for size in (len(came) or 1, 7):
        began = ev.Began(0, 0, ev.Kind.SOCKET, "connect to h:1", 0, 0, b"[]", ev.Delta(-1, 0, 0, b""))
        parts = [ev.Part(0, ev.PartKind.CHUNK, 1, came[at : at + size]) for at in range(0, len(came), size)]
        found = Streams(over=True).cleaned([began, *parts], vault)
        kept = vault.clean(b"".join(part.data for part in found if isinstance(part, ev.Part)))
        assert SECRET not in kept
        assert len(kept) >= len(came)
        for _, head, text in Streams(over=True).texts([began, *parts]):
            assert all(isinstance(each, bytes) for each in (*answer.said(text, head), *said_in(text)))
    for _, text in inside(came):
        assert text is not None


def asked(data: bytes) -> None:
    """What an editor sends: the same bodies in whatever pieces it comes, and to each request an answer or a reason."""
    found = [_bodies([data]), _bodies([data[at : at + 1] for at in range(len(data))])]
    assert found[0] == found[1]
    adapter = RunAdapter(Server(_Nowhere(), lambda _line: None), None, lambda _course: lambda _result: ())
    for body in found[0][0]:
        try:
            answer = adapter.answer(msgspec.json.decode(body, type=Asking))
        except (RefusedError, ReenactError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(answer, Body):
            _json(answer)


def _bodies(pieces: Iterable[bytes]) -> tuple[list[bytes], bool]:
    framing, found = Framing(), list[bytes]()
    try:
        for piece in pieces:
            found += framing.feed(piece)
    except FramingError:
        return found, True
    return found, False


class _Nowhere:
    """An editor that says nothing and hears nothing."""

    def read(self, _size: int, /) -> bytes:
        return b""

    def write(self, data: bytes, /) -> None:
        assert data


def records(data: bytes) -> None:
    """A journal whose chain is right, and that holds these bytes as records, read and shown."""
    try:
        recording = Recording(Path("fuzz.tape"), {})
        builder = Builder(recording)  # without a file it is a thousand times as quick
        for batch in unpack([_piece(data)]):
            for record in batch:
                builder.add(record)
        set_aside(recording)
        shown(recording)
    except TapeError as error:
        _printable(plain(str(error)))


def shown(recording: Recording) -> None:
    """All that `reenact show`, `diff` and `origin` can say of a recording.

    Raises:
        TapeError: there is nothing that can be said.
    """
    together, found = whole(recording), trajectory(recording)
    _json(summary_of(recording))
    rows_of(recording)
    run = runs.run(recording, found)
    paint = Paint()
    _printable(*timeline.text(run, found, now=_NOW, width=_WIDTH, paint=paint))
    _json(timeline.Timeline(run=run, steps=found.steps, outside=found.outside, marks=found.marks))
    for step in found.steps[:_SHOWN]:
        told = steps.StepDocument(run=run, step=step, given=steps.given(step, found.steps))
        _printable(*steps.text(told, width=_WIDTH, paint=paint))
        _json(told)
    for entry in found.entries[:_SHOWN]:
        event = events.document(together, entry, run=run.id, step=None)
        _printable(*events.text(event, cwd=run.cwd, lanes={}, width=_WIDTH, paint=paint))
        _json(event)
    side = Side(recording, found, own(recording, found.steps, run.started, run.duration, run.cwd))
    itself = differences.document(run, run, compared(side, side), differences.given(side, side))
    assert itself.same
    _printable(*differences.text(itself, (found.steps, found.steps), width=_WIDTH, paint=paint, step=None))
    _json(itself)
    crossed = list(passages(recording, found)) if recording.path.is_file() else []
    for passage in crossed[:_SHOWN]:
        came = origin(passage.text[:_SHOWN], crossed, found.steps, Start())
        _printable(*origins.text(run, came, width=_WIDTH, paint=paint))
        _json(came)
    for one in together.events:
        for _, part in one.parts:
            if part.failed is not None:
                failure.decode(part.failed, ())


_FOLDER: Final = tempfile.TemporaryDirectory(prefix="reenact-fuzz-")


def file(data: bytes) -> None:
    """A file that says it is a tape."""
    store = Store(Path(_FOLDER.name))
    path = store.path("fuzz-0001")
    path.write_bytes(data)
    try:
        shown(reader.read(path))
    except TapeError as error:
        _printable(plain(str(error)))
    found = listing(store)
    _printable(*table.text(found, now=_NOW, width=_WIDTH, paint=Paint()))
    _json(table.rows(found))
    _printable(*map(plain, check(path).damage))
    store.remove(path)


def imported(data: bytes) -> None:
    """A cassette or a HAR, put onto a tape: it is refused, or makes a tape that is sound and can be shown."""
    store = Store(Path(_FOLDER.name) / "imported")
    store.root.mkdir(exist_ok=True)
    source = store.root / "fuzz.har"
    source.write_bytes(data)
    try:
        recording = onto.keep(foreign.load(source), source, store)
    except ForeignError as error:
        _printable(plain(str(error)))
        assert not store.ids(), "half a tape is left"
        return
    found = check(recording.path)
    assert found.state is State.SOUND, found.damage
    shown(reader.read(recording.path))
    store.remove(recording.path)


def difference(data: bytes) -> None:
    """Two bodies, compared and told. The first line is their content type, and the URL."""
    first, _, rest = data.partition(b"\n")
    kind, _, url = first.decode("utf-8", "replace").partition(" ")
    before, _, after = rest.partition(BETWEEN)
    one, two = (Request("POST", url, (("content-type", kind),), body) for body in (before, after))
    changes = compare(one, two)
    assert bool(changes) == (one != two)
    divergence = Divergence(What.MISMATCH, "0", 1, expected=one, actual=two, changes=changes)
    told = explain(divergence, normalize.SHIPPED, [])
    _printable(*divergences.text(told, width=_WIDTH).splitlines())
    json.loads(divergences.json(told))


def settings(data: bytes) -> None:
    """A pyproject.toml. Functions that it names are not imported: to do so is what they are there for."""
    try:
        table_ = tomllib.loads(data.decode("utf-8", "replace")).get("tool", {}).get("reenact", {})
    except (tomllib.TOMLDecodeError, RecursionError, AttributeError):
        return
    found = Settings(None, table_ if isinstance(table_, dict) else {})
    for ask in (
        lambda: found.boundaries,
        lambda: found.side_traffic,
        lambda: found.tags,
        lambda: found.sample,
        lambda: _normalized(found.table),
    ):
        try:
            ask()
        except UsageError as error:
            _printable(plain(str(error)))


def _normalized(config: dict[str, object]) -> None:
    entries = config.get("normalizers")
    if isinstance(entries, list):
        config["normalizers"] = [one for one in entries if not isinstance(one, dict) or "python" not in one]
    rules = normalize.load(config)
    # how long an expression of the project's own takes is the project's own matter
    quick = [rule for rule in rules if not isinstance(rule, normalize.Rule) or "regex" not in rule.name]
    normalize.canonical(Request("POST", "https://h/a?key=1&b=2", (("Date", "x"),), b'{"a":[{"b":1},{"c":2}]}'), quick)


def text(data: bytes) -> None:
    """A text, made fit for a terminal."""
    try:
        said = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        said = data.decode("utf-8", "replace")
    for width in (_WIDTH, 77):
        for rows in (1, 3):
            found = preview(said, width, rows)
            assert 1 <= len(found) <= rows
            _printable(*found)
            assert all(columns(row) <= width for row in found), found
        assert columns(clip(plain(said), width)) <= width
    _printable(*lines(said), *wrapped(said, _WIDTH), *lines(pretty(said)))
    assert json.loads(_json([said])) == [said.encode("utf-8", "backslashreplace").decode()]


def _piece(data: bytes) -> Piece:
    size = len(data)  # a frame of zstd with one raw block: what is fuzzed is what is in it
    stored = b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little") + (size << 3 | 1).to_bytes(3, "little") + data
    return Piece(1, 0, stored, link(GENESIS, 1, 0, stored))


def _printable(*told: str) -> None:
    for line in told:
        assert line.isprintable(), ascii(line)


def _json(value: object) -> bytes:
    encoded = document.encode(value)
    assert encoded.decode().isprintable(), ascii(encoded)
    json.loads(encoded)
    return encoded


TARGETS: Final[dict[str, Target]] = {
    one.__name__: one
    for one in (
        asked,
        connection,
        difference,
        encoding,
        exchange,
        file,
        frames,
        imported,
        messages,
        records,
        settings,
        text,
    )
}


CORPUS: Final = Path(__file__).parent / "corpus"


def corpus(names: Iterable[str] = TARGETS) -> Iterator[tuple[str, Path]]:
    """The inputs that are kept, each with its target."""
    for name in names:
        for path in sorted((CORPUS / name).glob("*")):
            yield name, path
