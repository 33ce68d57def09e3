"""Programs recorded, replayed and verified with the command line, as a user does it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reenact.tape.event import Kind, PartKind
from reenact.tape.reader import read
from reenact.tape.recording import Event, Recording
from reenact.tape.store import Store
from reenact.tape.whole import whole
from reenact.testing.address import Address

PROGRAMS = Path(__file__).parent / "programs"
SEALED = Path(__file__).parent / "sealed.py"
PATIENCE = 90.0  # seconds after which a program that should have ended is taken to hang
_NOT_HANDED_ON = ("REENACT_", "PYTEST_", "PYTHONHASHSEED", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Done:
    """A process that is over."""

    status: int
    stdout: bytes
    stderr: bytes


class Bench:
    """A folder with a store of its own, and programs that run in it under one Python; `sealed`: without namespaces."""

    def __init__(self, folder: Path, python: str = sys.executable, *, sealed: bool = False) -> None:
        self.folder = folder
        self.sealed = sealed
        self._before = (sys.executable, str(SEALED)) if sealed else ()
        self.python = python
        self.store = Store(folder / ".reenact")
        self.store.root.mkdir(exist_ok=True)

    def write(self, program: str | Path) -> str:
        """The name of the file to run: one that exists, or a new one that holds this source text."""
        if isinstance(program, Path):
            return str(program)
        (self.folder / "agent.py").write_text(textwrap.dedent(program), encoding="utf-8")
        return "agent.py"

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> Done:
        """A Python command line, run to its end. Fails the test when it hangs."""
        with self.start(*command, env=env) as process:
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = process.communicate()
                message = f"{command} hangs\n{_text(stdout)[-2000:]}\n{_text(stderr)[-4000:]}"
                raise AssertionError(message) from None
        return Done(process.returncode, stdout, stderr)

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A Python command line under way, in a process group of its own."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*self._before, self.python, *command],
            cwd=self.folder,
            env=environment(self.folder, env),
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )

    def plain(self, program: str | Path, *args: str, env: Mapping[str, str] | None = None) -> Done:
        """The program without reenact."""
        return self.run(self.write(program), *args, env=env)

    def record(
        self, program: str | Path, *args: str, env: Mapping[str, str] | None = None, options: Sequence[str] = ()
    ) -> Run:
        """The program, recorded."""
        before = set(self.store.ids())
        done = self.run("-m", "reenact", "record", "--quiet", *options, self.write(program), *args, env=env)
        made = set(self.store.ids()) - before
        assert len(made) == 1, f"not one tape but {made}\n{_text(done.stderr)}"
        return Run(self, self.store.path(made.pop()), done)

    def unchanged(
        self, program: str | Path, serve: Callable[[int], AbstractContextManager[Address]], *args: str
    ) -> Run:
        """The program, recorded, after it has run without us: it must have seen, said and ended the same.

        `serve` makes the server at a port (0: any); each of the two runs has one of its own, at the same address.
        """
        with serve(0) as server:
            plain = self.plain(program, *args, env=settings(server))
        with serve(server.port) as server:
            run = self.record(program, *args, env=settings(server))
        same(_without_addresses(plain.stdout), _without_addresses(run.stdout), "stdout without reenact, and with it")
        same(_without_addresses(plain.stderr), _without_addresses(run.stderr), "stderr without reenact, and with it")
        assert plain.status == run.status, f"exit status {plain.status} without reenact, {run.status} with it"
        return run


class Run:
    """One recorded run. `reenact record --quiet` adds nothing to stderr unless something is wrong."""

    def __init__(self, bench: Bench, path: Path, done: Done) -> None:
        self.bench = bench
        self.path = path
        self.status = done.status
        self.stdout = done.stdout
        self.stderr = done.stderr

    @property
    def text(self) -> str:
        """What the program printed."""
        return _text(self.stdout)

    @cached_property
    def tape(self) -> Recording:
        """What is on tape."""
        return read(self.path)

    @property
    def http(self) -> list[Event]:
        """The HTTP exchanges on tape."""
        return [event for event in self.tape.events if event.kind is Kind.HTTP]

    def replay(self) -> Done:
        """`reenact replay`."""
        return self.bench.run("-m", "reenact", "replay", "--quiet", self.path.stem)

    def verify(self, *options: str) -> Verified:
        """`reenact verify --json`."""
        done = self.bench.run("-m", "reenact", "verify", self.path.stem, "--json", *options)
        assert done.status in (0, 1), f"verify ends with {done.status}\n{_text(done.stderr)}"
        return Verified(done.status, json.loads(done.stdout))

    def verified(self, *, drift: bool = False) -> Verified:
        """Verifies N of N, and that no fault or unseen connection was noted. Fails the test otherwise."""
        self.notes_nothing()
        verified = self.verify()
        assert verified.passed, verified.told()
        assert verified.boundaries == (len(whole(self.tape).events),) * 3, verified.told()
        if not drift:
            assert not verified.document["drifts"], verified.told()
        return verified

    def reproduced(self, *, drift: bool = False) -> Verified:
        """Verifies, and replays: the same output and exit status, as seen from outside. Fails the test otherwise."""
        verified = self.verified(drift=drift)
        replayed = self.replay()
        same(self.stdout, replayed.stdout, "stdout recorded and replayed")
        assert replayed.status == self.status, f"exit status {self.status} recorded, {replayed.status} replayed"
        same(self.stderr, replayed.stderr, "stderr recorded and replayed")
        return verified

    def notes_nothing(self) -> None:
        """No fault of reenact's own, and no connection that no seam saw, is on the tape."""
        noted = [(note.slug, note.text, site) for note, site in whole(self.tape).notes]
        assert not noted, noted


@dataclass(frozen=True, slots=True)
class Verified:
    """What `reenact verify --json` said."""

    status: int
    document: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether it was verified to its end."""
        return self.status == 0 and self.document["verdict"] == "verified"

    @property
    def boundaries(self) -> tuple[int, int, int]:
        """How many are recorded, asked, and identical."""
        counts = self.document["boundaries"]
        return counts["recorded"], counts["asked"], counts["identical"]

    @property
    def divergences(self) -> list[dict[str, Any]]:
        """The differences."""
        found: list[dict[str, Any]] = self.document["divergences"]
        return found

    def told(self) -> str:
        """What went wrong, for the message of a failed test."""
        shown = ("verdict", "boundaries", "ending", "drifts", "faults", "finished")
        told = {name: self.document[name] for name in shown}
        told["divergences"] = [
            {name: one[name] for name in ("what", "lane", "event", "site", "expected", "actual", "notes")}
            for one in self.divergences
        ]
        return json.dumps(told, indent=1)[:6000]


def settings(server: Address) -> dict[str, str]:
    """The environment in which every SDK finds this server. BASE is its root."""
    return {
        "BASE": server.url,
        "OPENAI_BASE_URL": server.openai,
        "ANTHROPIC_BASE_URL": server.anthropic,
        "GROQ_BASE_URL": server.groq,
        "GOOGLE_GEMINI_BASE_URL": server.gemini,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.bedrock,
    }


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a program of these tests sees of the environment: keys that open nothing, and no proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_NOT_HANDED_ON)}
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "GEMINI_API_KEY"), "sk-test-only")
    aws = {"AWS_ACCESS_KEY_ID": "AKIATESTONLY", "AWS_SECRET_ACCESS_KEY": "test-only", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**kept, **keys, **aws, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", **(more or {})}


def answer_of(event: Event) -> bytes:
    """The bytes of the answer's body as they stand on tape, with the framing of HTTP/1.1 taken off."""
    head = next(json.loads(part.data) for _, part in event.parts if part.kind == PartKind.HEAD)
    data = b"".join(part.data for _, part in event.parts if part.kind == PartKind.CHUNK)
    return _dechunked(data) if head.get("framing") == "chunked" else data


def same(expected: bytes, actual: bytes, what: str) -> None:
    """Fails with the first line that differs."""
    if expected == actual:
        return
    one, two = expected.splitlines(), actual.splitlines()
    at = next((n for n, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), min(len(one), len(two)))
    shown = [_text(b"\n".join(lines[max(at - 2, 0) : at + 3]))[:3000] for lines in (one, two)]
    message = f"{what} differ in line {at + 1} (of {len(one)} and {len(two)}):\n--- {shown[0]}\n+++ {shown[1]}"
    raise AssertionError(message)


def pythons() -> Sequence[str]:
    """The interpreters to show the long claims on: REENACT_TEST_PYTHONS (separated as PATH is), or this one."""
    chosen = os.environ.get("REENACT_TEST_PYTHONS", "")
    return [path for path in chosen.split(os.pathsep) if path] or [sys.executable]


def _dechunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        body, data = body + data[:length], data[length + 2 :]
        if not length:
            break
    return body


def _without_addresses(data: bytes) -> bytes:
    """Where objects lie in memory is never the same twice."""
    return re.sub(rb"\b0x[0-9a-f]{6,}", b"0x-", data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def shown(value: object) -> str:
    """A value as part of a test's name: the same in every run, so that one test can be asked for by name."""
    return getattr(value, "__qualname__", None) or re.sub(r" at 0x[\da-f]+", "", ascii(value))[:60]
