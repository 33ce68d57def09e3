"""An agent on boto3: Converse and ConverseStream, alone and from worker threads, and faults."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from attempts import attempt
from botocore.config import Config

SCHEMA = {"json": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": SCHEMA}}]}


def client_of(**options: Any) -> Any:
    return boto3.client("bedrock-runtime", config=Config(**options))


def ask(text: str) -> dict[str, Any]:
    return {"modelId": "nova", "messages": [{"role": "user", "content": [{"text": text}]}]}


def seen(answer: dict[str, Any]) -> None:
    for name, value in answer.pop("ResponseMetadata").items():
        print("  <", name, value)
    for event in answer.pop("stream", ()):
        print("  =", event)
    print("  =", answer)


def abandoned(client: Any) -> None:
    stream = client.converse_stream(**ask("say something long"))["stream"]
    for event in stream:
        print("  =", event)
        break
    stream.close()


def text_of(answer: dict[str, Any]) -> str:
    return str(answer["output"]["message"]["content"][0]["text"])


async def threads(client: Any) -> None:
    calls = (asyncio.to_thread(client.converse, **ask(f"say {number}")) for number in range(4))
    print("  ", [text_of(answer) for answer in await asyncio.gather(*calls)])


def pool(client: Any) -> None:
    with ThreadPoolExecutor(3) as workers:
        jobs = [workers.submit(client.converse, **ask(f"say job {number}")) for number in range(6)]
        print("  ", [text_of(job.result()) for job in jobs])


def main() -> None:
    client = client_of(retries={"mode": "standard", "total_max_attempts": 3})
    attempt("say", lambda: seen(client.converse(**ask("say hello"))))
    attempt("tools", lambda: seen(client.converse(**ask("tools"), toolConfig=TOOLS)))
    attempt("stream", lambda: seen(client.converse_stream(**ask("say one two three"))))
    attempt("stream of tools", lambda: seen(client.converse_stream(**ask("tools"), toolConfig=TOOLS)))
    attempt("limited", lambda: seen(client.converse(**ask("limited"))))
    attempt("broken", lambda: seen(client.converse(**ask("broken"))))
    attempt("refused by the server", lambda: seen(client.converse(**ask("refused"))))
    attempt("dropped", lambda: seen(client.converse(**ask("dropped"))))
    attempt("reset", lambda: seen(client.converse_stream(**ask("reset"))))
    attempt("abandoned", lambda: abandoned(client))
    hasty = client_of(read_timeout=0.3, retries={"total_max_attempts": 1})
    attempt("slow", lambda: seen(hasty.converse(**ask("slow"))))
    attempt("threads", lambda: asyncio.run(threads(client)))
    attempt("pool", lambda: pool(client))
    away = boto3.client(
        "bedrock-runtime", endpoint_url="http://127.0.0.1:9", config=Config(retries={"total_max_attempts": 2})
    )
    attempt("nobody there", lambda: seen(away.converse(**ask("say"))))


main()
