"""A step: what a person counts and points at. Part of the JSON of `reenact show --json`, like `entry`."""

from __future__ import annotations

import msgspec

from reenact.providers import Message, News, ToolCall, Usage
from reenact.trajectory.entry import Entry, Place, Trouble


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One model decision and what it caused.

    `attempts` are the events that asked for the decision: more than one when earlier ones failed, or when the answer
    was fetched later. What is said of the answer is of the last of them. `entries` are all events of the step, the
    attempts among them, in tape order. `news` is what the request said that the one before it in the conversation had
    not, `news.kept` how many messages stood there before; `begins` marks the first request of a conversation, and
    `follows` is the step that any other goes on from. `tools` are the names of the tools offered. `answered` is when
    the answer had come, `ended` when the last event ended.
    `mark` and `agent` are those of its first attempt, as of an entry.
    """

    number: int
    lane: str
    provider: str
    api: str
    model: str
    served: str | None
    stream: bool
    site: Place | None
    began: int
    answered: int | None
    ended: int | None
    begins: bool
    news: News
    tools: tuple[str, ...]
    answer: Message | None
    finish_reason: str | None
    complete: bool
    usage: Usage | None
    attempts: tuple[int, ...]
    entries: tuple[Entry, ...]
    agent: str = ""
    mark: int | None = None
    follows: int | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls that the model asked for; those that the provider carries out itself are left out."""
        return self.answer.tool_calls if self.answer is not None else ()

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What went wrong in the step, in order."""
        return tuple(entry.trouble for entry in self.entries if entry.trouble is not None)
