"""An agent on the official OpenAI SDK that sends its whole history at every step, and says what it was told.

python -m bench.agents.sdk URL STEPS     URL: or a file with an answer in each line, for the mock transport
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx2
import openai

from bench import conversation


def from_memory(file: str) -> httpx2.Client:
    """A client whose model is this process, which answers what the file holds."""
    answers = enumerate(Path(file).read_bytes().splitlines())

    def answer(_request: httpx2.Request) -> httpx2.Response:
        step, body = next(answers)
        return httpx2.Response(200, headers=conversation.headers(step), content=body)

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def connect(url: str) -> openai.OpenAI:
    """The SDK's client."""
    if url.startswith("http"):
        return openai.OpenAI(base_url=url)
    return openai.OpenAI(base_url=conversation.NOWHERE, http_client=from_memory(url))


def main(url: str, steps: str) -> None:
    """Runs it."""
    client = connect(url)
    tools: Any = conversation.TOOLS
    messages: list[Any] = list(conversation.OPENING)
    for step in range(int(steps)):
        answer = client.chat.completions.create(model=conversation.MODEL, messages=messages, tools=tools)
        message = answer.choices[0].message
        sys.stdout.write(f"{step}: {message.content}\n")
        messages += conversation.after(step, message.model_dump(exclude_none=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
