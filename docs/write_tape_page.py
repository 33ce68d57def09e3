"""Writes docs/tape.md from the code: the schema and the records are the documentation of the format."""

from __future__ import annotations

import inspect
from enum import IntEnum
from pathlib import Path
from typing import get_args

import msgspec

from reenact.launch.manifest import Manifest
from reenact.seams.http.head import Head
from reenact.tape import event, journal, schema, seal
from reenact.tape.store import SUFFIX

PAGE = Path(__file__).with_name("tape.md")
WIDTH = 120

INTRO = f"""\
# The tape

<!-- Written by docs/write_tape_page.py from the code. Change the docstrings there, then run: ./task docs -->

A tape is one file, `.reenact/<run id>{SUFFIX}`, and holds one run. It is data: loading one never runs anything that it
contains. Any SQLite client can open it.

## The file

```sql
{schema.SCHEMA.strip()}
```

## The journal

What counts is the journal: the rows of `piece`, in order. The table `event`, and most of `run`, are made from it.

- The plain bytes of a piece are one msgpack array of records. The pieces of one `segment` are, in order, one zstd
  frame.
- While a run is recorded, a piece is one durable commit, and a segment of its own. A small one is stored as it is, in a
  frame of one raw block: the agent waits for it, and packing it would cost more than it saves.
- When the tape is closed, the same records are packed anew into fewer pieces, with a chain of their own. The frame of a
  segment is flushed at the end of each piece, so what earlier pieces held costs almost nothing to say again. A new
  segment begins after {journal.SEGMENT_BYTES // 2**20} MiB.
- `chain` is SHA-256 over: the chain of the piece before it (32 zero bytes at first), `id` and `segment` as unsigned
  64-bit big-endian numbers, and `data`. The last chain is the digest of the tape.
- The body of a request is kept as its difference to an earlier body of the run (`Delta`), because agents send their
  whole history at every step.

## The seal

A closed tape ends, after the last page of its database, with

```
signatures     96 bytes each: a public key of Ed25519 (32), and its signature (64)
size           of the database in bytes, 64 bits, big-endian
digest         SHA-256 of all bytes before it: database, signatures, size
magic number   {seal.MAGIC.decode()}
```

So no bit of a closed tape can change unnoticed, whether it means anything or not. What reads a journal checks the seal
first; `reenact runs`, which reads none, does not. A sealed tape is opened as SQLite's `immutable`: a `-wal` or
`-journal` that lies beside it is no part of it. What is signed is `{seal.SIGNED.decode().strip()}`, a line break, and
the SHA-256 of the database. To sign a tape writes its seal anew, and leaves the database as it is.
[signatures.md](signatures.md) says what that is good for.

A tape that is not closed has no seal. Tapes of format 1 never have one.

The order of the records is the order in which the run saw things. A reader counts what came in from outside; the n-th
such thing is tick n, and replay lets them in by that number.

What is never on tape: the values of credentials in request headers, URLs and the environment. In headers and URLs they
are replaced by `[redacted]` before anything is written; of secret environment variables only the names are kept.

## Records

A record is a msgpack array: its tag, then these fields.
"""


def page() -> str:
    """The page as it should stand in docs/tape.md."""
    records = sorted(get_args(event.AnyRecord), key=lambda record: record.__struct_config__.tag)
    versions = [f"- {number}: {what}" for number, what in sorted(schema.HISTORY.items())]
    blocks = [
        INTRO,
        *(_struct(record, record.__name__, str(record.__struct_config__.tag)) for record in records),
        "## Values in records\n",
        *(_struct(value, value.__name__) for value in (event.Delta, event.Failed, event.Frame)),
        "## Numbers in records\n",
        *(_numbers(kind) for kind in (event.Kind, event.PartKind, event.DrawKind, event.Stream, event.MarkKind)),
        "## JSON in records\n",
        _struct(Head, "Head: the data of an HTTP event's HEAD part", brackets="{}"),
        _struct(Manifest, "Manifest: the manifest of Start", brackets="{}"),
        "## Versions\n",
        *versions,
    ]
    return "\n".join(blocks) + "\n"


def _struct(struct: type[msgspec.Struct], title: str, *first: str, brackets: str = "[]") -> str:
    members = [*first, *(f"{name}: {kind}" for name, kind in inspect.get_annotations(struct).items())]
    shape = ", ".join(members).join(brackets)
    if len(shape) > WIDTH:
        shape = brackets[0] + "\n" + "".join(f"    {member},\n" for member in members) + brackets[1]
    return f"### {title}\n\n{inspect.cleandoc(struct.__doc__ or '')}\n\n```\n{shape}\n```\n"


def _numbers(kind: type[IntEnum]) -> str:
    members = ", ".join(f"{member.value} `{member.name}`" for member in kind)
    return f"### {kind.__name__}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n\n{members}\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
