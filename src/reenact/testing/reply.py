"""What a policy can answer, the same for every provider: words, tool calls, and faults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from reenact.testing.response import Headers


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens reported with an answer; `cached` is the part of `input` that was read from a cache."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Say:
    """The model says a text and ends its turn; `truncated` when it ran into its token limit."""

    text: str
    usage: Usage | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls one tool.

    `arguments` is an object, or a string sent as it stands where the provider sends arguments as
    text (to try malformed JSON). An empty `id` is filled in with a realistic one.
    """

    name: str
    arguments: Mapping[str, Any] | str
    id: str = ""

    def __hash__(self) -> int:
        """By the arguments' JSON, so that a call can be a key although a dict cannot."""
        return hash((self.name, self.arguments_text, self.id))

    @property
    def arguments_text(self) -> str:
        """The arguments as the JSON text that a model would write."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(dict(self.arguments), separators=(",", ":"), ensure_ascii=False)

    @property
    def arguments_object(self) -> dict[str, Any]:
        """The arguments as an object; raises ValueError when they are a string that is none."""
        value = json.loads(self.arguments) if isinstance(self.arguments, str) else dict(self.arguments)
        if not isinstance(value, dict):
            message = f"the arguments of {self.name!r} are not an object: {self.arguments!r}"
            raise ValueError(message)  # noqa: TRY004  same error as for text that is not JSON
        return value


@dataclass(frozen=True, slots=True)
class Calls:
    """The model calls several tools in one turn, after an optional text."""

    calls: tuple[Call, ...]
    text: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """An error in the provider's own format.

    `retry_after` seconds go into the Retry-After header. `should_retry` goes into
    `x-should-retry`, which the SDKs of OpenAI, Anthropic and Groq obey.
    """

    status: int
    retry_after: float | None = None
    message: str = ""
    should_retry: bool | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """These bytes: a tuple of chunks is sent with chunked transfer coding, one write for each."""

    status: int
    headers: Headers
    body: bytes | tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is closed without an answer."""


@dataclass(frozen=True, slots=True)
class ResetMidStream:
    """The reply breaks off with a TCP reset after so many chunks (half-way if it is not streamed)."""

    reply: Reply
    after_chunks: int = 1


@dataclass(frozen=True, slots=True)
class SlowFirstByte:
    """The reply comes, but so many seconds pass before its first byte."""

    reply: Reply
    seconds: float


Answer: TypeAlias = "Say | Call | Calls"
Reply: TypeAlias = "Answer | Fail | Raw | Drop | ResetMidStream | SlowFirstByte"
