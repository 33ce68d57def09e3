"""What one exchange with a model means, and the two ways in which an exchange has no such meaning."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reenact.providers.message import Message


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool offered to the model. `parameters` is its JSON Schema as compact JSON text, empty where it has none."""

    name: str
    description: str = ""
    parameters: str = ""
    hosted: bool = False


class Usage(msgspec.Struct, frozen=True):
    """Tokens, counted alike for every provider.

    `input` is all that was read, `cached_input` (read from a cache) and `cache_write` being parts of it;
    `output` is all that was written, `reasoning` being a part of it.
    """

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0
    reasoning: int = 0


class ApiError(msgspec.Struct, frozen=True):
    """The provider said no. `status` is HTTP's, None for an error inside a stream that names none."""

    status: int | None
    type: str
    message: str


class Unreadable(msgspec.Struct, frozen=True):
    """Bytes that should mean something and do not; `reason` says why."""

    reason: str
    raw: bytes


class NotAModel(msgspec.Struct, frozen=True):
    """An exchange with something other than a model: files, token counts, tools, any other web service."""

    reason: str


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model and its answer.

    `api` is the format spoken ("openai.chat", "anthropic.messages", ...), `provider` who spoke it. `model` is as asked
    for, `served` as the answer names it. `finish_reason` is the provider's word. `continues` names a conversation that
    the provider keeps and the messages add to. `complete` is false where the answer was cut, failed or is to come yet.
    `unread` holds what of either body could not be read.
    """

    provider: str
    api: str
    model: str
    served: str | None = None
    stream: bool = False
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    continues: str | None = None
    id: str | None = None
    answer: Message | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: ApiError | None = None
    complete: bool = False
    unread: Unreadable | None = None


Reading: TypeAlias = ModelCall | NotAModel | Unreadable
