"""Messages of the protocol, but for what they are about: see `arguments` and `bodies`.

https://microsoft.github.io/debug-adapter-protocol/specification#Base_Protocol
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Request(msgspec.Struct, frozen=True):
    """What the editor asks. We ask it for nothing, so that it sends nothing else."""

    seq: int
    type: Literal["request"]
    command: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class Unfit(msgspec.Struct, frozen=True):
    """As much of what should be a request as an answer to it needs."""

    seq: int
    command: str = ""


class Response(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="type", tag="response"):
    """Our answer. `message` says in short why there is none."""

    seq: int
    request_seq: int
    success: bool
    command: str
    message: str = ""
    body: Any = None


class Event(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="type", tag="event"):
    """What we say unasked."""

    seq: int
    event: str
    body: Any = None
