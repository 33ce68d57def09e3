"""What the vault costs of an exchange: its records, encoded as they are and with a search for secrets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from statistics import median
from time import thread_time_ns  # noqa: TID251  of the processor; nothing is recorded here

from bench import conversation
from bench.figure import Figure, Quantity, compared
from bench.scale import Scale
from reenact.tape import event as ev
from reenact.tape.journal import encode
from reenact.tape.vault import Vault

_GROUP = "Secrets"
_KNOWN = (b"sk-proj-4b1c0d8e7f6a5b4c9d8e7f6a", b"hunter2-hunter2", b"hf_4Kd83hGk29Ls0dk3")
_FIRST = 100


def measure(scale: Scale) -> list[Figure]:
    """The figures, of the processor: of exchanges that have no secret in them, with three that are known."""
    whole, pieces = (conversation.answer(0),), conversation.streamed(0)
    times = scale.short
    return [
        _figure("an exchange", _commits("application/json", whole), times),
        _figure(f"streamed in {len(pieces)} pieces", _commits("text/event-stream", pieces), times),
    ]


def _commits(kind: str, chunks: Sequence[bytes]) -> tuple[list[ev.AnyRecord], list[ev.AnyRecord]]:
    """What goes on tape of an exchange: before the request leaves, and when all of the answer has come."""
    head = json.dumps({"status": 200, "headers": [*conversation.headers(0), ["content-type", kind]]}).encode()
    news = ev.Delta(0, 5000, 2, json.dumps(conversation.after(0, conversation.said(0))).encode())
    parts = [(ev.PartKind.HEAD, head), *((ev.PartKind.CHUNK, chunk) for chunk in chunks), (ev.PartKind.END, b"")]
    asked: list[ev.AnyRecord] = [ev.Began(1, 0, ev.Kind.HTTP, "POST http://m/v1/chat/completions", 0, 1, head, news)]
    return asked, [ev.Part(1, sort, at, data) for at, (sort, data) in enumerate(parts)]


def _figure(what: str, commits: Sequence[list[ev.AnyRecord]], times: int) -> Figure:
    vault = Vault()
    vault.learn(_KNOWN)
    bare, kept = _took(encode, commits, times), _took(vault.encode, commits, times)
    return compared(_GROUP, f"{what}: what the vault costs", Quantity(kept - bare), Quantity(bare), "to encode it")


def _took(write: Callable[[Sequence[ev.AnyRecord]], bytes], commits: Sequence[list[ev.AnyRecord]], times: int) -> float:
    took = []
    for _ in range(_FIRST + times):
        began = thread_time_ns()
        for records in commits:
            write(records)
        took.append(thread_time_ns() - began)
    return median(took[_FIRST:])
