"""Requests through boto3's bedrock-runtime; its asynchronous half is calls in worker threads, as agents do it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, closing
from typing import Any
from urllib.parse import unquote

import boto3
from botocore.config import Config

OPTIONS = Config(parameter_validation=False, retries={"total_max_attempts": 1})


def open_sync(base: str) -> AbstractContextManager[Any]:
    return closing(boto3.client("bedrock-runtime", config=OPTIONS))


@asynccontextmanager
async def open_async(base: str) -> AsyncIterator[Any]:
    with open_sync(base) as client:
        yield client


def send(client: Any, asked: Any) -> None:
    _, _, model, verb = asked.path.split("/")
    model_id = unquote(model)
    match verb:
        case "converse":
            answer = client.converse(modelId=model_id, **(asked.body or {}))
        case "converse-stream":
            answer = client.converse_stream(modelId=model_id, **(asked.body or {}))
        case "count-tokens":
            answer = client.count_tokens(modelId=model_id, **(asked.body or {}))
        case _:
            answer = client.invoke_model(modelId=model_id, body=asked.raw, contentType=asked.kind or "application/json")
    for name, value in answer.pop("ResponseMetadata").items():
        print("  <", name, value)
    if "stream" in answer:
        for event in answer.pop("stream"):
            print("  =", event)
    if "body" in answer:
        answer["body"] = answer["body"].read()
    print("  =", answer)


async def asend(client: Any, asked: Any) -> None:
    await asyncio.to_thread(send, client, asked)
