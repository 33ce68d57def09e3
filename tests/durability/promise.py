"""What a recording promises, whatever becomes of it (law 3): checked on a store, by what the world has seen of the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from reenact.launch.closing import close
from reenact.tape.check import check as fsck
from reenact.tape.event import Kind
from reenact.tape.reader import read
from reenact.tape.recording import Event
from reenact.tape.store import Store
from reenact.tape.whole import every
from tests.durability.watch import Kind as Did
from tests.durability.watch import Op
from tests.runs import answer_of


@dataclass(frozen=True, slots=True)
class Seen:
    """What the world has seen: the bodies of requests, and what the program said it was answered, by question."""

    asked: tuple[bytes, ...]
    answered: dict[str, str]


def seen(asked: Sequence[bytes], said: bytes) -> Seen:
    """`said` is what the program printed: a question and its answer in each line, maybe the beginning of one more."""
    lines = said.decode().split("\n")[:-1]
    return Seen(tuple(asked), dict(line.split("\t") for line in lines))


def seen_in(ops: Sequence[Op], bodies: Sequence[bytes]) -> Seen:
    """As much as these operations have let out of a run in which these were all requests."""
    asked = sum(op.data.startswith(b"POST ") for op in ops if op.kind is Did.SENT)
    return seen(bodies[:asked], b"".join(op.data for op in ops if op.kind is Did.SAID))


class Kept(NamedTuple):
    """One exchange that is on tape."""

    body: bytes
    event: Event


def check(store: Path, seen: Seen) -> None:
    """Fails unless every tape is sound, each request is there, and each answer that the program had.

    A process may have been cut when its request was on tape, and had not left yet.
    """
    found = damage(store)
    assert not found, found
    kept: dict[str, Kept] = {}
    processes = 0
    for path in sorted(store.rglob("*.tape")):
        for process in every(read(path)):
            exchanges = [event for event in process.events if event.kind is Kind.HTTP]
            for event in exchanges:
                body = process.body(event)
                if event.complete or question(body) not in kept:  # a run and what it was resumed as hold the same
                    kept[question(body)] = Kept(body, event)
            cut = [event.id for event in process.events[:-1] if not event.complete]
            assert not cut, f"events {cut} of {path.stem} have no whole outcome, and others followed"
            processes += 1
    asked = {question(body): body for body in seen.asked}
    lost = [each for each, body in asked.items() if each not in kept or kept[each].body != body]
    assert not lost, f"requests that had left are not on tape: {lost}"
    assert len(kept) - len(asked) <= processes, "more requests are on tape than can have been about to leave"
    for each, answer in seen.answered.items():
        assert each in kept, f"the program was answered {each!r}, which is not on tape"
        event = kept[each].event
        assert event.complete, f"the program had the answer to {each!r}, and it is not whole on tape"
        assert said(answer_of(event)) == answer, f"the answer to {each!r} is another one on tape"


def damage(store: Path) -> str:
    """What `reenact fsck --all` finds wrong with the tapes of a store."""
    checked = [fsck(path, close) for path in map(Store(store).path, Store(store).ids())]
    return "\n".join(f"fsck: {one.path.stem}: {damage}" for one in checked for damage in one.damage)


def question(body: bytes) -> str:
    """What was asked last."""
    return str(json.loads(body)["messages"][-1]["content"])


def said(body: bytes) -> str:
    """What a model said, at once or in a stream."""
    if not body.startswith(b"data:"):
        return str(json.loads(body)["choices"][0]["message"]["content"])
    chunks = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
