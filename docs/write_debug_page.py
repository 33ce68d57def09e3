"""Writes the session of docs/debug.md: records an agent with a mistake in it, and debugs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from reenact.testing import Call, ModelServer, Say, Turn

PAGE = Path(__file__).with_name("debug.md")
_SESSION = re.compile(r"(?<=<!-- session -->\n).*(?=<!-- end of session -->)", re.DOTALL)
_CHANGES = ((re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1"), (re.compile(r"\bdesk-[0-9a-f]{4}\b"), "desk-7f3a"))
_NIGHTS = (2, 40, 3)
AGENT = """\
import json
from openai import OpenAI

TOOL = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}


def book(city, nights):
    if nights > 30:
        raise ValueError(f"{nights} nights is too long")
    return {"city": city, "price": 90 * nights}


def shorten(messages):
    if len(messages) > 5:
        messages[1]["content"] = "(left out)"


def serve(client, messages):
    while True:
        reply = client.chat.completions.create(model="gpt-5", messages=messages, tools=[TOOL])
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            try:
                result = book(**json.loads(call.function.arguments))
            except ValueError as error:
                result = {"error": str(error)}
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        shorten(messages)


print(serve(OpenAI(), [
    {"role": "system", "content": "You book rooms."},
    {"role": "user", "content": "Two nights in Oslo for Ada."},
]))
"""
COMMANDS = (
    "j 4",
    "p messages[1]",
    'when messages[1]["content"]',
    "w",
    "p len(messages)",
    "rc",
    "find 40 nights",
    "b raise ValueError",
    "rc",
    "locals",
    "u",
    "bs",
    "c",
    "n",
    "n",
    "j end",
    "bs",
)


def page() -> str:
    """The page as it should stand in docs/debug.md."""
    return _SESSION.sub(lambda _: session(), PAGE.read_text(encoding="utf-8"))


def session() -> str:
    """The session, as a pipe gets it."""
    with tempfile.TemporaryDirectory() as folder, ModelServer(_answer) as server:
        (Path(folder) / "desk.py").write_text(AGENT, encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REENACT_")}
        env = {**kept, "OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": "sk-test-only"}

        def reenact(*words: str) -> str:
            line = [sys.executable, "-P", "-m", "reenact", *words]
            done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=True)  # noqa: S603
            return done.stdout

        Path(folder, ".reenact").mkdir()
        reenact("record", "desk.py")
        told = reenact("debug", "last", *(word for command in COMMANDS for word in ("--eval", command)))
    for pattern, to in _CHANGES:
        told = pattern.sub(to, told)
    return f"```\n{told}```\n"


def _answer(turn: Turn) -> Call | Say:
    done = sum(message.role == "assistant" for message in turn.messages)
    if done < len(_NIGHTS):
        return Call("book", {"city": "Oslo", "nights": _NIGHTS[done]})
    return Say("I have booked something. For whom was it?")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
