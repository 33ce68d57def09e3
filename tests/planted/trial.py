"""Plants secrets, records and verifies the agent that meets them, and looks for them in every byte that is left.

`python -m tests.planted.trial` prints what was planted and what leaked; it ends with 1 when something did.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

import brotli
import msgspec
import zstandard
from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol, ParseFailed

from reenact.errors import TapeError
from reenact.tape.allowance import Allowance
from reenact.tape.event import Kin, Kind, Part, PartKind
from reenact.tape.journal import unfold
from reenact.tape.reader import read, records
from reenact.tape.whole import every
from tests.planted.server import COOKIE, TOKEN, serving
from tests.runs import environment
from tests.tape.spelling import FORMATS, spelled
from trust.tally import Tally, ended

AGENT = Path(__file__).with_name("agent.py")
PLACES = (
    "alone", "header", "plain-header", "query", "path", "request-body", "delta", "delta-other", "base64", "quoted",
    "escaped", "answer", "answer-split", "answer-framed", "gzip", "answer-header", "refused", "file-read",
    "file-written", "database-read", "database-written", "child-argument", "child-input", "child-output", "system",
    "joined", "joined-argument", "pipe", "process-output", "process-message", "socket-sent", "socket-split",
    "socket-came", "datagram", "datagram-came", "websocket-sent", "websocket-came", "stdout", "stderr",
    "cut-output", "exception", "mark", "attribute", "tag", "thread", "tool-argument", "tool-result", "tool-error",
    "argument", "label", "session", "stdin", "git-diff", "name", "deflate", "br", "zstd",
    "plain-gzip", "plain-deflate", "plain-br", "plain-zstd", "plain-framed", "plain-framed-gzip", "plain-spelled-chat",
    "plain-spelled-anthropic",
    *(f"{chat}-chat-{way}" for chat in ("packed", "fresh", "aiohttp", "httpx2") for way in ("sent", "came")),
    *(f"spelled-{name}" for name in FORMATS),
)  # fmt: skip
PACKED = ("gzip", "deflate", "br", "zstd")
# In the agent's source, in files that it reads, or in what comes to it: nobody knows them before they are met
MET = {
    "form field": "Form-Secret-77aa88bb",
    "basic authentication": "Basic-Password-31xy",
    "token of a login": TOKEN,
    "cookie": COOKIE,
    "literal in a header": "Literal-Key-5566aabb",
    "variable of a child": "Given-To-Child-8899zz",
    "option of a child": "Option-Of-Child-4455yy",
    "line that signs on": "Sign-On-2233mm",
    "header past the seams": "Urllib-Header-6677kk",
    ".env file": "Dotenv-Value-1212qq",
    "credentials of AWS": "AwsSecret/Value+3434rr",
    "option": "Option-Value-5656ss",
    "user of a URL": "Url-Password-7878tt",
}
LATE = {"header after it was printed": "Late-Key-9911ccdd"}
_PATIENCE = 240


def secret_of(place: str) -> str:
    """The secret of a place: with signs in it where these matter."""
    body = hashlib.sha256(place.removesuffix("-other").encode()).hexdigest()[:20]
    if place.rpartition("-")[2] in PACKED:
        return "sk-" + base64.b64encode(hashlib.sha384(place.encode()).digest(), b"Zz").decode()
    return {
        "delta-other": f"Zx9-{body[:-4]}77zzAa",
        "quoted": f"Q&{body}/+ {body[:4]}",
        "escaped": f'E"{body}\\{body[:4]}',
    }.get(place, f"Zx9-{body}Aa")


@dataclass(slots=True)
class Trial:
    """What was found where: by place, the files and texts that hold its secret."""

    planted: dict[str, str] = field(default_factory=dict)
    during: dict[str, set[str]] = field(default_factory=dict)
    after: dict[str, set[str]] = field(default_factory=dict)
    open_files: list[str] = field(default_factory=list)
    verdict: str = ""
    boundaries: tuple[int, int, int] = (0, 0, 0)
    told: str = ""

    @property
    def leaked(self) -> dict[str, set[str]]:
        """All that was found, but for late ones while they were not known."""
        found: dict[str, set[str]] = {}
        for part in (self.after, {place: seen for place, seen in self.during.items() if place not in LATE}):
            for place, seen in part.items():
                found.setdefault(place, set()).update(seen)
        return found

    @property
    def passed(self) -> bool:
        """Whether nothing leaked, everything is private, and the run was verified."""
        recorded, asked, identical = self.boundaries
        same = recorded == asked == identical > 0
        return not self.leaked and not self.open_files and self.verdict == "verified" and same


def trial(folder: Path, python: str = sys.executable) -> Trial:
    """Plants, records, looks meanwhile and afterwards, and verifies. `folder` is empty."""
    planted = {place: secret_of(place) for place in PLACES} | MET | LATE
    found = Trial(planted)
    store, temporary = folder / ".reenact", folder / "tmp"
    temporary.mkdir()
    _world(folder)

    def pause() -> None:
        found.during = _search(planted, _texts(store, folder / "copy"))
        found.open_files += [f"{path.name} {mode}" for path, mode in _open(store)]

    with serving(secret_of, pause) as addresses:
        env = environment(folder, {**addresses, **_variables(), "TMPDIR": str(temporary)})
        command = [python, "-m", "reenact", "record", "--quiet", "--name", f"agent {secret_of('name')}"]
        command += ["--tag", f"label={secret_of('label')}", "--session", secret_of("session")]
        command += ["agent.py", "--password", MET["option"], secret_of("argument")]
        old = os.umask(0)  # as bad as it can be
        try:
            done = subprocess.run(
                command, cwd=folder, env=env, input=f"{secret_of('stdin')}\n".encode(), capture_output=True,
                timeout=_PATIENCE, check=False,
            )  # fmt: skip
        finally:
            os.umask(old)
    found.told = done.stderr.decode("utf-8", "replace")[-3000:]
    watch = _Watch(temporary, planted)
    again = {**env, "REENACT_DEBUG": ""} | dict.fromkeys(_variables(), "")
    with watch:
        checked = subprocess.run(
            [python, "-m", "reenact", "verify", "last", "--json"], cwd=folder, env=again, capture_output=True,
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    found.after = _search(planted, _texts(store, folder / "copy"))
    for place, seen in watch.found.items():
        found.after.setdefault(place, set()).update(seen)
    found.open_files += [f"{path.name} {mode}" for path, mode in _open(store)]
    try:
        document = json.loads(checked.stdout)
        counts = document["boundaries"]
        found.verdict = document["verdict"]
        found.boundaries = counts["recorded"], counts["asked"], counts["identical"]
        found.told += json.dumps(document["divergences"], indent=1)[:4000]
    except ValueError:
        found.told += checked.stderr.decode("utf-8", "replace")[-3000:]
    return found


def _variables() -> dict[str, str]:
    named = {f"{place.upper().replace('-', '_')}_SECRET": secret_of(place) for place in PLACES}
    return {**named, "DATABASE_URL": f"postgres://app:{MET['user of a URL']}@db/main"}


def _world(folder: Path) -> None:
    """The files that the agent finds."""
    (folder / "agent.py").write_text(AGENT.read_text())
    (folder / "notes.txt").write_text(f"a note of {secret_of('file-read')}\n")
    (folder / ".env").write_text(f"LATER_KEY={MET['.env file']}\n")
    (folder / ".aws").mkdir()
    keys = f"[default]\naws_access_key_id = AKIAZZZZZZZZZZZZZZZZ\naws_secret_access_key = {MET['credentials of AWS']}\n"
    (folder / ".aws" / "credentials").write_text(keys)
    with sqlite3.connect(folder / "kept.db") as db:
        db.execute("CREATE TABLE held (text TEXT)")
        db.execute("INSERT INTO held VALUES (?)", (secret_of("database-read"),))
    db.close()
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "notes.txt"], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True)
    (folder / "notes.txt").write_text(f"a note of {secret_of('file-read')}\nand {secret_of('git-diff')}\n")


# Looking


def _texts(store: Path, copy: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the store as it is, and every tape unpacked: records, their texts, and what is compressed in them."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy)
    for path in sorted(copy.rglob("*")):
        if not path.is_file():
            continue
        yield str(path.relative_to(copy)), path.read_bytes() + os.fsencode(path.name)
    for path in sorted(copy.rglob("*.tape")):
        with contextlib.suppress(TapeError):
            for where, text in _of_tape(path):
                yield f"{path.relative_to(copy)} {where}", text
    shutil.rmtree(copy, ignore_errors=True)


def _of_tape(path: Path) -> Iterator[tuple[str, bytes]]:
    answers: dict[int, bytes] = {}
    chats: dict[int, bytes] = {}
    whole: list[bytes] = []
    for record in records(path):
        for each in unfold(record, Allowance()) if isinstance(record, Kin) else [record]:
            whole.append(msgspec.msgpack.encode(each))
            if isinstance(each, Part):
                answers[each.event] = answers.get(each.event, b"") + each.data
            if isinstance(each, Part) and each.kind == PartKind.CHUNK:
                chats[each.event] = chats.get(each.event, b"") + each.data
    yield "unpacked", b"\0".join(whole)
    for number, data in answers.items():
        plain = _unframed(data)
        yield f"answer {number}", data + plain + b"".join([*_unpacked(data), *_unpacked(plain)])
        yield f"answer {number}, as it is spelled", "\n".join(_said(data)).encode()
        yield f"answer {number}, body by body", b"".join(_bodies(data))
    for number, data in chats.items():
        for frames in (data, data.partition(b"\r\n\r\n")[2]):
            yield f"messages {number}", b"".join(_messages(frames, client=True))
    for connection, data in _sent(path):
        yield f"sent over {connection}", b"".join(_messages(data, client=False))


def _unframed(data: bytes) -> bytes:
    return re.sub(rb"(?:\A|\r\n)[0-9a-f]{1,8}\r\n", b"", data)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """What it says where it is packed."""
    for unpack in (
        lambda: zlib.decompressobj(31).decompress(data),
        lambda: zlib.decompressobj(15).decompress(data),
        lambda: zstandard.ZstdDecompressor().decompressobj().decompress(data),
        lambda: brotli.decompress(data),
    ):
        with contextlib.suppress(zlib.error, zstandard.ZstdError, brotli.error):
            yield unpack()


def _bodies(data: bytes) -> Iterator[bytes]:
    """What the answers say that came over a plain socket."""
    for body in re.split(rb"HTTP/1\.1 [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n", data)[1:]:
        plain = _unframed(body)
        for each in (plain, *_unpacked(body), *_unpacked(plain)):
            yield each
            yield from (text.encode() for text in _said(each))


def _sent(path: Path) -> Iterator[tuple[str, bytes]]:
    """What was sent over each connection, without the request that it began with."""
    sent: dict[str, bytes] = {}
    for recording in every(read(path)):
        for event in recording.events:
            over = dict(json.loads(event.head or b"[]")).get("over") if event.kind == Kind.SOCKET else None
            body = recording.body(event) if over is not None else b""
            if over is not None and not body.startswith(b"GET "):
                sent[over] = sent.get(over, b"") + body
    yield from sent.items()


def _messages(data: bytes, *, client: bool) -> Iterator[bytes]:
    """What the frames say, by another library than ours."""
    packs = PerMessageDeflate()
    packs.finalize("permessage-deflate")
    reader = FrameProtocol(client=client, extensions=[packs])
    reader.receive_bytes(data)
    with contextlib.suppress(ParseFailed, zlib.error):
        for frame in reader.received_frames():
            if isinstance(frame.payload, str | bytes | bytearray):
                yield frame.payload.encode() if isinstance(frame.payload, str) else bytes(frame.payload)


def _said(data: bytes) -> Iterator[str]:
    """What the events of a stream say together."""
    with contextlib.suppress(ValueError, struct.error, AssertionError, AttributeError, KeyError):
        yield from spelled(data)


def _forms(secret: str) -> list[bytes]:
    """A secret as it may be written."""
    data = secret.encode()
    packed = base64.b64encode(data).rstrip(b"=")[:-1]
    shifted = [base64.b64encode(b"\0" * shift + data)[(0, 2, 3)[shift] : -4] for shift in (1, 2)]
    written = [json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[3:-3], quote(secret), quote_plus(secret)]
    return [data, packed, *shifted, *(one.encode() for one in written), data.hex().encode()]


def _search(planted: dict[str, str], texts: Iterator[tuple[str, bytes]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    forms = {place: _forms(secret) for place, secret in planted.items()}
    for where, text in texts:
        for place, written in forms.items():
            if any(form in text for form in written):
                found.setdefault(place, set()).add(where)
    return found


def _open(store: Path) -> Iterator[tuple[Path, str]]:
    """What others than the owner may look into."""
    for path in [store, *store.rglob("*")]:
        mode = path.lstat().st_mode & 0o777
        if mode & 0o077:
            yield path, oct(mode)


class _Watch:
    """Looks at the files in a folder as they come and go: those of a replay's report."""

    def __init__(self, folder: Path, planted: dict[str, str]) -> None:
        self._folder = folder
        self._planted = planted
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.found: dict[str, set[str]] = {}
        self.files: set[str] = set()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            for path in self._folder.glob("reenact-*/*"):
                try:
                    data = path.read_bytes()
                except OSError:
                    continue
                self.files.add(path.name)
                for place, seen in _search(self._planted, iter([(f"report: {path.name}", data)])).items():
                    self.found.setdefault(place, set()).update(seen)


def tallies() -> Iterator[Tally]:
    """What was planted and what leaked."""
    with tempfile.TemporaryDirectory() as folder:
        done = trial(Path(folder))
    wrong = [f"LEAKED {place}: {', '.join(sorted(where))}" for place, where in sorted(done.leaked.items())]
    wrong += [f"OPEN to others: {one}" for one in done.open_files]
    if not done.passed:
        wrong.append(done.told)
    recorded, asked, identical = done.boundaries
    late = sum(place in LATE for place in done.planted)
    told = f"{done.verdict or 'not verified'}, {identical} of {recorded} calls identical, {asked} asked; "
    told += f"{late} known late, {len(done.during.keys() & LATE.keys())} of them on disk until then; "
    told += f"{len(done.open_files)} files open to others"
    yield Tally("planted secrets", len(done.planted), len(done.leaked), "leaked", wrong, told)


if __name__ == "__main__":
    sys.exit(ended(tallies()))
