"""What a branch may do when it is live, as somebody says who forks a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import msgspec

from reenact.errors import UsageError
from reenact.tape.event import Snapshot

if TYPE_CHECKING:
    from reenact.tape.recording import Recording

_NAME = "tail"


class Result(msgspec.Struct, frozen=True):
    """Another result of a tool that the answer of event `step` called; the request of `told` is the first to tell."""

    step: int
    told: int
    name: str
    given: str


class Later(msgspec.Struct, frozen=True):
    """An edit of a step that a branch comes to when it is live: the `step`-th of the run, as it is counted then.

    "answer": what it answers, in the form of docs/edits.md; "value": what the call of the tool `name` gives that comes
    next, or `nth` others after it; "told": what the model is told of that; "context": a JSON Patch of the request.
    `event` is the one of the parent that has the shape of what is `given`.
    """

    step: int
    how: Literal["answer", "value", "told", "context"]
    event: int
    given: str
    name: str = ""
    nth: int = 0


class Tail(msgspec.Struct, frozen=True, omit_defaults=True):
    """Patterns of hazards (see `launch.hazards`): those that are done, and those that are answered from the parent.

    All others fail. Where `endpoint` is given, models are asked there, with the key that the environment has as
    `key_env`; where `model` is, that one is asked. What requests say is other by a JSON `patch` of that of the event
    `patched`, and by `results`. What is edited of steps that come when the branch is live are `later`.
    """

    allow: list[str] = []
    from_tape: list[str] = []
    endpoint: str = ""
    key_env: str = ""
    model: str = ""
    patch: str = ""
    patched: int = -1
    results: list[Result] = []
    later: list[Later] = []

    @property
    def reroutes(self) -> bool:
        """Whether a request may be sent otherwise than it was asked."""
        return bool(self.endpoint or self.model or self.patch or self.results or self.later)


def kept(tail: Tail) -> Snapshot:
    """As the tape of a branch has it, so that a branch that is killed can be gone on with as it was."""
    return Snapshot(_NAME, msgspec.json.encode(tail))


def key_of(tail: Tail | None) -> str:
    """The key for where a branch asks its models, if it needs one.

    Raises:
        UsageError: it is not set.
    """
    name = tail.key_env if tail is not None else ""
    if name and name not in os.environ:
        raise UsageError(f"{name} is not set: it is to hold the key for --live-endpoint")
    return os.environ[name] if name else ""


def tail_of(recording: Recording) -> Tail | None:
    """That of a branch. None where its tape does not say it: it is none, or of before they said so."""
    said = recording.snapshots.get(_NAME)
    return msgspec.json.decode(said, type=Tail) if said is not None else None
