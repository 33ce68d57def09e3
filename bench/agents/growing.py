"""An agent on httpx that sends its whole history at every step.

python -m bench.agents.growing FOLDER URL STEPS SHAPE     FOLDER: see `pace`; URL: or a file with an answer in each line
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path
from typing import Any

import httpx

from bench import conversation
from bench.agents.pace import Pace

HEADERS = {"content-type": "application/json", "authorization": "Bearer any"}


def from_memory(file: str) -> httpx.MockTransport:
    """A model in this process, which answers what the file holds."""
    answers = enumerate(Path(file).read_bytes().splitlines())

    def answer(_request: httpx.Request) -> httpx.Response:
        step, body = next(answers)
        return httpx.Response(200, headers=conversation.headers(step), content=body)

    return httpx.MockTransport(answer)


def blocking(pace: Pace, url: str, steps: int) -> None:
    """One JSON answer a step."""
    messages: list[dict[str, Any]] = list(conversation.OPENING)
    remote = url.startswith("http")
    address = url if remote else conversation.NOWHERE
    with httpx.Client(headers=HEADERS, transport=None if remote else from_memory(url)) as client:
        for step in pace.steps(steps):
            body = conversation.body(messages)
            pace.start()
            answer = client.post(address, content=body).content
            pace.stop()
            messages += conversation.after(step, json.loads(answer)["choices"][0]["message"])


def streaming(pace: Pace, url: str, steps: int) -> None:
    """One stream of server-sent events a step."""
    messages: list[dict[str, Any]] = list(conversation.OPENING)
    with httpx.Client(headers=HEADERS) as client:
        for step in pace.steps(steps):
            body = conversation.body(messages)
            pace.start()
            with client.stream("POST", url, content=body) as response:
                for _line in response.iter_lines():
                    pass
            pace.stop()
            messages += conversation.after(step, conversation.said(step))


async def awaiting(pace: Pace, url: str, steps: int) -> None:
    """One JSON answer a step, on an event loop."""
    messages: list[dict[str, Any]] = list(conversation.OPENING)
    async with httpx.AsyncClient(headers=HEADERS) as client:
        for step in pace.steps(steps):
            body = conversation.body(messages)
            pace.start()
            answer = (await client.post(url, content=body)).content
            pace.stop()
            messages += conversation.after(step, json.loads(answer)["choices"][0]["message"])


def run(pace: Pace, url: str, steps: int, shape: str) -> None:
    """Runs the agent of that shape.

    Where single exchanges are measured it is without the garbage collector: in a recording that works when an exchange
    begins, so that it would be counted, and otherwise anywhere in a step, so that it would not.
    """
    if pace.led:
        gc.disable()
    match shape:
        case "json":
            blocking(pace, url, steps)
        case "stream":
            streaming(pace, url, steps)
        case "async":
            asyncio.run(awaiting(pace, url, steps))
        case _:
            sys.exit(f"no such shape: {shape}")


def main(folder: str, url: str, steps: str, shape: str) -> None:
    """Runs it at the pace that the folder's pipes give."""
    run(Pace(folder), url, int(steps), shape)


if __name__ == "__main__":
    main(*sys.argv[1:])
