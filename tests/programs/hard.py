"""An agent with all that makes re-running hard: a long history, tasks, threads, clocks, chance, and a poor network."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import requests
from openai import APIConnectionError, APIError, AsyncOpenAI, OpenAI

STEPS = int(os.environ.get("STEPS", "200"))
TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "look_up", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
]
finished: list[str] = []
lock = Lock()


def look_up(city: str) -> str:
    return json.dumps(
        {"city": city, "id": str(uuid.uuid4()), "at": datetime.now(UTC).isoformat(), "luck": random.random()}
    )


def walk(client: OpenAI) -> list[Any]:
    """STEPS decisions of a model that sees all that came before."""
    history: list[Any] = [{"role": "system", "content": f"You are agent {uuid.uuid4()}. Today is {datetime.now():%c}."}]
    for step in range(STEPS):
        history.append(
            {"role": "user", "content": f"step {step}: {random.choice(['tell', 'ask', 'look'])} {time.time()}"}
        )
        answer = client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message
        history.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls or ():
            result = look_up(**json.loads(call.function.arguments))
            history.append({"role": "tool", "tool_call_id": call.id, "content": result})
        print(step, len(json.dumps(history)), answer.content)
    return history


async def branch(client: AsyncOpenAI, number: int) -> str:
    prompt = f"branch {number} {uuid.uuid4()} {random.randrange(10**6)} after {finished}"
    answer = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    finished.append(f"b{number}")
    await asyncio.sleep(random.random() / 50)
    again = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": f"branch {number} again, after {finished}"}]
    )
    return f"{answer.choices[0].message.content} / {again.choices[0].message.content}"


async def tree() -> list[str]:
    async with AsyncOpenAI() as client:
        return await asyncio.gather(*(branch(client, number) for number in range(8)))


def job(number: int) -> str:
    with OpenAI() as client:
        prompt = f"job {number} {uuid.uuid4()} {datetime.now()} after {len(finished)}"
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}])
    with lock:
        finished.append(f"j{number}")
        seen = list(finished)
    return f"{number}: {answer.choices[0].message.content} {seen}"


def pool() -> None:
    with ThreadPoolExecutor(4) as workers:
        jobs = [workers.submit(job, number) for number in range(12)]
        for done in as_completed(jobs):
            print(done.result())


def trouble(client: OpenAI) -> None:
    limited = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "limited"}])
    print(limited.choices[0].message.content)
    try:
        for chunk in client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "reset"}], stream=True
        ):
            print(chunk.choices[0].delta.content if chunk.choices else chunk, end="|")
    except (APIError, APIConnectionError) as error:
        print(type(error).__name__, error)


def main() -> None:
    print(os.getpid(), datetime.now(), uuid.uuid4(), random.random())
    with OpenAI() as client:
        history = walk(client)
        trouble(client)
        print(asyncio.run(tree()))
        pool()
        answer = requests.get(os.environ["BASE"] + "/v1/models", headers={"x-trace": str(uuid.uuid4())}, timeout=5)
        print(answer.status_code, answer.headers, answer.text)
        last = {"role": "user", "content": f"last {finished} {time.monotonic()} {random.getrandbits(64)}"}
        print(client.chat.completions.create(model="m", messages=[*history, last]).choices[0].message.content)


main()
