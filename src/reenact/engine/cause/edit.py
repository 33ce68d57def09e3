"""What was edited, as the place of a change tells: the model, a tool, a parameter, the conversation."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from reenact.diff.change import Change, Kind
from reenact.engine.cause.leak import leaked
from reenact.engine.cause.scene import Scene, labels_at, names_at
from reenact.engine.cause.words import changed_words, quoted
from reenact.engine.divergence import Cause, Request

_SAMPLING: Final = frozenset({
    "temperature", "top_p", "topP", "top_k", "topK", "min_p", "max_tokens", "maxTokens", "max_output_tokens",
    "maxOutputTokens", "max_completion_tokens", "seed", "stop", "stop_sequences", "stopSequences", "presence_penalty",
    "frequency_penalty", "logit_bias", "n", "reasoning", "reasoning_effort", "thinking", "thinkingConfig", "effort",
    "generationConfig", "inferenceConfig", "generation_config", "verbosity", "service_tier", "response_format",
    "tool_choice", "parallel_tool_calls",
})  # fmt: skip
_TOOLS: Final = frozenset({"tools", "functions", "toolConfig", "tool_config", "input_schema"})
_SYSTEM: Final = frozenset({"system", "instructions", "systemInstruction", "system_instruction"})
_TALK: Final = frozenset({"messages", "input", "contents", "prompt", "inputText", "message", "chat_history"})
_RESULTS: Final = frozenset({"tool", "tool_result", "function_call_output", "toolResult", "functionResponse"})
ON_PURPOSE: Final = "If you meant it, record the run again; else undo the change."


def edited(change: Change, steps: list[str], document: object) -> Cause | None:
    """The cause that the place alone tells."""
    top = steps[0] if steps else ""
    if steps in (["model"], ["modelId"], ["model_id"]):
        return _other_model(change)
    if change.kind is Kind.MOVED:
        return None
    if top in _TOOLS or "input_schema" in steps:
        return _other_tool(change, steps, document)
    if top in _SAMPLING or (top == "config" and len(steps) > 1):
        text = f"The parameter {'.'.join(steps)} was {quoted(change.before)} and is {quoted(change.after)}."
        return Cause("sampling", text, ON_PURPOSE)
    return None


def _other_model(change: Change) -> Cause:
    text = f"The run asks the model {quoted(change.after)}; the tape holds an answer of {quoted(change.before)}."
    return Cause("model", text, "Look for a model name that comes from the environment or a default. " + ON_PURPOSE)


def _other_tool(change: Change, steps: list[str], document: object) -> Cause:
    names = names_at(document, steps)
    tool = f"the tool {quoted(names[0])}" if names else "a tool"
    if len(steps) <= 2 and change.kind in (Kind.ADDED, Kind.REMOVED):
        own = re.search(r'"name":"([^"]{1,80})"', change.before or change.after or "")
        tool = f"the tool {quoted(own[1])}" if own else "a tool"
        return Cause("tool-schema", f"In what the model is offered, {tool} was {change.kind.value}.", ON_PURPOSE)
    advice = "Tool schemas come from signatures and docstrings in many frameworks, and change with them. "
    return Cause("tool-schema", f"The definition of {tool} differs at {change.pointer}.", advice + ON_PURPOSE)


def other_path(change: Change, scene: Scene) -> Cause | None:
    """The cause that another path of the URL shows, unless it is a leak."""
    segments = urlsplit(scene.expected.url).path.split("/") if isinstance(scene.expected, Request) else []
    number = change.pointer.removeprefix("/")
    if number.isdecimal() and segments[int(number) - 1] in ("model", "models", "deployments"):
        return _other_model(change)
    leaks, rest = leaked(change, scene)
    if leaks and not rest:
        return None
    text = f"The run asks {quoted(change.after)} of the server where the tape holds {quoted(change.before)}."
    return Cause("other-call", text, "The agent took another path before this call. " + ON_PURPOSE)


def other_host(change: Change) -> Cause:
    """The cause that another host or port shows."""
    before, after = change.before or "", change.after or ""
    hosts = [re.sub(r":\d+$", "", origin) for origin in (before, after)]
    if hosts[0] == hosts[1]:
        text = f"Only the port differs: {quoted(before)} on tape, {quoted(after)} now."
        return Cause("process", text, "Give the server a fixed port: a free one is another in each run.")
    text = f"The run calls {quoted(after)}; the tape holds a call to {quoted(before)}."
    advice = "Compare the base URL: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, a proxy or a region in the environment. "
    return Cause("host", text, advice + ON_PURPOSE)


def said(change: Change, steps: list[str], document: object, rest: list[tuple[str, str]]) -> Cause | None:
    """The cause when words of the conversation differ that look like nothing but words."""
    top = steps[0] if steps else ""
    if top in _SYSTEM:
        return Cause("prompt", f"The system prompt changed: {changed_words(rest, change.more)}.", ON_PURPOSE)
    if top not in _TALK:
        return None
    if change.kind in (Kind.ADDED, Kind.REMOVED) and len(steps) <= 2:
        text = f"A message was {change.kind.value} at {change.pointer}."
        advice = "The agent took another path before this call: look at what builds its messages. "
        return Cause("history", text, advice + ON_PURPOSE)
    labels = [*labels_at(document, steps), *steps]
    if _RESULTS.intersection(labels):
        text = f"A tool returned something else: {changed_words(rest, change.more)}."
        advice = (
            "Its result comes from where the tape does not answer: a file, a database, another program, native code. "
            "See that the tool finds there what it found when recorded."
        )
        return Cause("tool-result", text, advice)
    who = "system" if {"system", "developer"}.intersection(labels) else next(iter(labels[:1]), "")
    who = {"system": "system prompt", "user": "user's message", "assistant": "assistant's message"}.get(who, "prompt")
    return Cause("prompt", f"The {who} changed: {changed_words(rest, change.more)}.", ON_PURPOSE)
