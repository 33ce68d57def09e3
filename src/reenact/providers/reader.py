"""What a reader of one API is: three functions over decoded JSON. Bytes, status and errors are dealt with around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reenact.providers.call import ToolSpec, Usage
from reenact.providers.loose import Doc
from reenact.providers.message import Message
from reenact.providers.stream import Chunk


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent sent."""

    model: str = ""
    stream: bool = False
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    continues: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model sent. `pending` marks an answer that the provider is still writing."""

    message: Message | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    served: str | None = None
    id: str | None = None
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Reader:
    """Knows one API. `fold` turns a stream into the document that `reply` would have been given without streaming.

    `api` is "family.name"; the family is the provider where the host says nothing.
    """

    api: str
    question: Callable[[Doc], Question]
    reply: Callable[[Doc], Reply]
    fold: Callable[[Sequence[Chunk]], Doc]

    @property
    def family(self) -> str:
        """Whose API it is."""
        return self.api.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Place:
    """What the URL tells of a call: which reader, and what the body may leave out."""

    reader: Reader
    provider: str
    model: str = ""
    stream: bool = False
    continues: str | None = None
    wants: tuple[str, ...] = field(default=())
