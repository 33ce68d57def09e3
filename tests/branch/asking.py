"""One question to a model through each official SDK, and what the SDK made of the answer."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import anthropic
import boto3
import openai
from botocore.config import Config
from google import genai
from google.genai import types

from reenact.edits import Answer
from reenact.testing import ModelServer, Reply, Say
from reenact.testing.address import Address
from reenact.testing.host import Host
from reenact.testing.request import Request
from reenact.testing.response import HangUp, Response

MODEL = "any-model"


@dataclass(frozen=True)
class Seen:
    """An answer as a program sees it: text, calls (name, arguments), their ids, and what must not change."""

    text: str
    calls: list[tuple[str, Any]]
    ids: list[str]
    stop: str
    kept: dict[str, Any]
    pieces: int = 1


class Serving(Host):
    """Answers everything with `given`, in its chunks."""

    given: Answer

    def __init__(self) -> None:
        super().__init__(0, None)

    def _answer(self, request: Request, index: int) -> Response | HangUp:
        given = self.given
        own = ("content-length", "transfer-encoding", "connection", "date")
        headers = tuple((name, value) for name, value in given.headers if name.lower() not in own)
        sized = any(name.lower() == "content-length" for name, _ in given.headers)
        body = b"".join(given.chunks) if sized else tuple(chunk for chunk in given.chunks if chunk)
        return Response(given.status, headers, body)


def answer_to(address: Address, request: Request) -> Answer:
    """What a server answers to that request, asked again as the wire has it."""
    connection = http.client.HTTPConnection("127.0.0.1", address.port)
    connection.request(request.method, request.target, request.body, dict(request.headers))
    response = connection.getresponse()
    pieces = []
    while piece := response.read1():
        pieces.append(piece)
    connection.close()
    headers = tuple(response.getheaders())
    return Answer(request.method, address.url + request.target, request.body, response.status, headers, tuple(pieces))


def given(arguments: str) -> Any:
    return json.loads(arguments or "{}")


def chat(client: openai.OpenAI, stream: bool) -> Seen:
    asked: Any = {"model": MODEL, "messages": [{"role": "user", "content": "?"}]}
    pieces = 1
    if stream:
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as events:
            pieces = sum(event.type == "content.delta" for event in events)
            try:
                made: Any = events.get_final_completion()
            except openai.LengthFinishReasonError as cut:
                made = cut.completion
    else:
        made = client.chat.completions.create(**asked)
    choice = made.choices[0]
    calls = choice.message.tool_calls or []
    return Seen(
        choice.message.content or choice.message.refusal or "",
        [(call.function.name, given(call.function.arguments)) for call in calls],
        [call.id for call in calls],
        choice.finish_reason,
        {"id": made.id, "model": made.model, "created": made.created, "usage": made.usage and made.usage.to_dict()},
        pieces,
    )


def responses(client: openai.OpenAI, stream: bool) -> Seen:
    asked: Any = {"model": MODEL, "input": "?"}
    pieces = 1
    if stream:
        with client.responses.stream(**asked) as events:
            seen = list(events)
        numbers = [event.sequence_number for event in seen if event.sequence_number is not None]
        assert numbers == list(range(len(numbers)))
        pieces = sum(event.type == "response.output_text.delta" for event in seen)
        made: Any = seen[-1].response  # type: ignore[union-attr]
        grown = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
        assert grown == made.output_text
        done = [(event.item.type, event.item.id) for event in seen if event.type == "response.output_item.done"]
        assert done == [(item.type, item.id) for item in made.output]
    else:
        made = client.responses.create(**asked)
    calls = [item for item in made.output if item.type == "function_call"]
    parts = [part for item in made.output if item.type == "message" for part in item.content]
    return Seen(
        made.output_text or "".join(part.refusal for part in parts if part.type == "refusal"),
        [(call.name, given(call.arguments)) for call in calls],
        [call.call_id for call in calls],
        made.incomplete_details.reason if made.incomplete_details else made.status,
        {"id": made.id, "model": made.model, "created": made.created_at, "usage": made.usage and made.usage.to_dict()},
        pieces,
    )


def messages(client: anthropic.Anthropic, stream: bool) -> Seen:
    asked: Any = {"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
    pieces = 1
    if stream:
        with client.messages.stream(**asked) as events:
            pieces = sum(event.type == "text" for event in events)
            made: Any = events.get_final_message()
    else:
        made = client.messages.create(**asked)
    calls = [block for block in made.content if block.type == "tool_use"]
    return Seen(
        "".join(block.text for block in made.content if block.type == "text"),
        [(call.name, call.input) for call in calls],
        [call.id for call in calls],
        made.stop_reason,
        {"id": made.id, "model": made.model, "usage": made.usage.to_dict()},
        pieces,
    )


def gemini(client: genai.Client, stream: bool) -> Seen:
    if stream:
        answers = list(client.models.generate_content_stream(model=MODEL, contents="?"))
    else:
        answers = [client.models.generate_content(model=MODEL, contents="?")]
    contents = [answer.candidates[0].content for answer in answers if answer.candidates]
    parts = [part for content in contents if content for part in content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    last = answers[-1]
    assert last.candidates
    reason = last.candidates[0].finish_reason
    assert reason
    usage = last.usage_metadata
    return Seen(
        "".join(part.text for part in parts if part.text and not part.thought),
        [(call.name or "", call.args) for call in calls],
        [call.id or "" for call in calls],
        reason.value,
        {"id": last.response_id, "model": last.model_version, "usage": usage and usage.model_dump()},
        sum(bool(part.text and not part.thought) for part in parts),
    )


def converse(client: Any, stream: bool) -> Seen:
    asked: Any = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "?"}]}]}
    if not stream:
        made = client.converse(**asked)
        content = made["output"]["message"]["content"]
        stop, usage, pieces = made["stopReason"], made["usage"], 1
    else:
        blocks: dict[int, dict[str, Any]] = {}
        pieces = 0
        for event in client.converse_stream(**asked)["stream"]:
            (kind,) = event
            body = event[kind]
            match kind:
                case "contentBlockStart":
                    blocks[body["contentBlockIndex"]] = {**body["start"], "input": ""}
                case "contentBlockDelta":
                    block = blocks.setdefault(body["contentBlockIndex"], {})
                    if "text" in body["delta"]:
                        block["text"] = block.get("text", "") + body["delta"]["text"]
                        pieces += 1
                    elif "toolUse" in body["delta"]:
                        block["input"] += body["delta"]["toolUse"]["input"]
                case "messageStop":
                    stop = body["stopReason"]
                case "metadata":
                    usage = body["usage"]
        content = [
            {"toolUse": {**block["toolUse"], "input": given(block["input"])}} if "toolUse" in block else block
            for _, block in sorted(blocks.items())
        ]
        assert sorted(blocks) == list(range(len(blocks)))
    calls = [
        block["toolUse"]
        for block in content
        if block.get("toolUse", {}).get("type") != "server_tool_use" and "toolUse" in block
    ]
    return Seen(
        "".join(block["text"] for block in content if "text" in block),
        [(call["name"], call["input"]) for call in calls],
        [call["toolUseId"] for call in calls],
        stop,
        {"usage": usage},
        pieces,
    )


def made_gemini(address: Address) -> genai.Client:
    return genai.Client(api_key="any", http_options=types.HttpOptions(base_url=address.gemini))


def made_bedrock(address: Address) -> Any:
    config = Config(retries={"total_max_attempts": 1})
    session = boto3.Session(aws_access_key_id="any", aws_secret_access_key="any", region_name="us-east-1")
    return session.client("bedrock-runtime", endpoint_url=address.bedrock, config=config)


def made_openai(address: Address) -> openai.OpenAI:
    return openai.OpenAI(base_url=address.openai, api_key="any", max_retries=0)


def made_anthropic(address: Address) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=address.anthropic, api_key="any", max_retries=0)


SDKS: dict[str, tuple[Callable[[Address], Any], Callable[[Any, bool], Seen]]] = {
    "openai.chat": (made_openai, chat),
    "openai.responses": (made_openai, responses),
    "anthropic.messages": (made_anthropic, messages),
    "google.gemini": (made_gemini, gemini),
    "bedrock.converse": (made_bedrock, converse),
}


class Asking:
    """A model server, a server of given answers, and the clients of both, which take longer to make than to ask."""

    def __init__(self) -> None:
        self.reply: Reply = Say("")
        self.models = ModelServer(lambda _: self.reply)
        self.serving = Serving()
        self._clients: dict[tuple[int, Any], Any] = {}

    def __enter__(self) -> Self:
        self.models.__enter__()
        self.serving.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        for client in self._clients.values():
            client.close()
        self.serving.__exit__(None, None, None)
        self.models.__exit__(None, None, None)

    def _ask(self, api: str, address: Address, *, stream: bool) -> Seen:
        make, ask = SDKS[api]
        key = address.port, make
        if key not in self._clients:
            self._clients[key] = make(address)
        return ask(self._clients[key], stream)

    def recorded(self, api: str, reply: Reply, *, stream: bool) -> Answer:
        """The answer of the model server to what the SDK asks, asked again as the wire has it."""
        self.reply = reply
        self._ask(api, self.models, stream=stream)
        return answer_to(self.models, self.models.requests[-1])

    def served(self, api: str, answer: Answer, *, stream: bool) -> Seen:
        """What the SDK makes of that answer."""
        self.serving.given = answer
        return self._ask(api, self.serving, stream=stream)
