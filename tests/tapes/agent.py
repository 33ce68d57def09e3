"""The program on the golden tapes: a small agent with nothing but httpx. Its first argument is the server's URL."""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx


def main() -> None:
    """Asks for the weather in two places, looks both up at the same time, and lets the model sum up."""
    headers = {"authorization": "Bearer sk-golden", "x-run": str(uuid.uuid4())}
    with httpx.Client(base_url=sys.argv[1], headers=headers) as client:
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": f"Weather in Oslo and Rome? It is {time.time()}."}
        ]
        said = client.post("/v1/chat/completions", json={"model": "m", "messages": messages}).json()
        message = said["choices"][0]["message"]
        messages.append(message)
        with ThreadPoolExecutor(2) as pool:
            messages += pool.map(lambda call: look_up(client, call), message["tool_calls"])
        time.sleep(0.002)
        for piece in summary(client, messages):
            sys.stdout.write(piece)
            sys.stdout.flush()
    sys.stderr.write(f"{len(messages)} messages\n")
    sys.exit(3)


def look_up(client: httpx.Client, call: dict[str, Any]) -> dict[str, Any]:
    """The answer of a tool: how many models the server has, for want of weather."""
    city = json.loads(call["function"]["arguments"])["city"]
    models = client.get("/v1/models", params={"city": city, "api_key": "golden"}).json()["data"]
    return {"role": "tool", "tool_call_id": call["id"], "content": f"{city}: {len(models)} degrees"}


def summary(client: httpx.Client, messages: list[dict[str, Any]]) -> Iterator[str]:
    """The model's last words, as they come."""
    body = {"model": "m", "messages": messages, "stream": True}
    with client.stream("POST", "/v1/chat/completions", json=body) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line.removeprefix("data: "))["choices"]:
                    yield choice["delta"].get("content") or ""


if __name__ == "__main__":
    main()
