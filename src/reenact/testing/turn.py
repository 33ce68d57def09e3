"""What a policy is asked: one model request, read into terms that no provider owns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from reenact.testing.reply import Call
from reenact.testing.request import Request


class Provider(StrEnum):
    """The wire format of a request."""

    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    GROQ = "groq"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    BEDROCK = "bedrock"


class Role(StrEnum):
    """Who speaks; results of tools have a role of their own in every wire format."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back; `name` is found by the call's id where the provider sends only that."""

    id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `calls` only from the assistant, `results` only with the role of tools."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One request to a model; `index` is its place in the server's `requests`, from 0."""

    provider: Provider
    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    stream: bool
    index: int
    request: Request

    @property
    def prompt(self) -> str:
        """The text of the last user message, or an empty string."""
        return next((m.text for m in reversed(self.messages) if m.role is Role.USER), "")

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results that this request brings: those after the assistant's last message."""
        found: list[ToolResult] = []
        for message in reversed(self.messages):
            if message.role is Role.ASSISTANT:
                break
            found[:0] = message.results
        return tuple(found)

    @property
    def rounds(self) -> int:
        """How many times the assistant has spoken so far."""
        return sum(m.role is Role.ASSISTANT for m in self.messages)
