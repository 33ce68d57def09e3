"""Which URLs are models, whose they are, and which only look like it."""

from __future__ import annotations

import json

import pytest

from reenact.providers import ModelCall, NotAModel, Unreadable, Wire, read

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ANTHROPIC = {**CHAT, "max_tokens": 5}
RESPONSES = {"model": "m", "input": "hi"}
GEMINI = {"contents": [{"parts": [{"text": "hi"}]}]}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def asked(url: str, body: object, method: str = "POST") -> object:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read(Wire(method, url, (), raw, None, (), b""))


@pytest.mark.parametrize(
    ("url", "body", "provider", "api", "model"),
    [
        ("https://api.openai.com/v1/chat/completions", CHAT, "openai", "openai.chat", "m"),
        ("https://api.groq.com/openai/v1/chat/completions", CHAT, "groq", "openai.chat", "m"),
        ("http://localhost:11434/v1/chat/completions/", CHAT, "openai", "openai.chat", "m"),
        ("https://openrouter.ai/api/v1/chat/completions", CHAT, "openrouter", "openai.chat", "m"),
        (
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions",
            CHAT,
            "bedrock",
            "openai.chat",
            "m",
        ),
        (
            "https://x.openai.azure.com/openai/deployments/my-gpt/chat/completions?api-version=1",
            {"messages": []},
            "azure",
            "openai.chat",
            "my-gpt",
        ),
        ("https://api.openai.com/v1/responses", RESPONSES, "openai", "openai.responses", "m"),
        ("http://127.0.0.1:8000/v1/responses", RESPONSES, "openai", "openai.responses", "m"),
        ("https://api.openai.com/v1/embeddings", {"model": "e", "input": "x"}, "openai", "openai.embeddings", "e"),
        ("https://api.anthropic.com/v1/messages?beta=true", ANTHROPIC, "anthropic", "anthropic.messages", "m"),
        ("https://api.deepseek.com/anthropic/v1/messages", ANTHROPIC, "deepseek", "anthropic.messages", "m"),
        (
            "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/c@1:streamRawPredict",
            {"anthropic_version": "vertex-2023-10-16", **CHAT},
            "vertex",
            "anthropic.messages",
            "m",
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent",
            GEMINI,
            "google",
            "google.gemini",
            "gemini-x",
        ),
        (
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/g:streamGenerateContent",
            GEMINI,
            "vertex",
            "google.gemini",
            "g",
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/arn%3Aaws%3Ax%2Fy/converse",
            CONVERSE,
            "bedrock",
            "bedrock.converse",
            "arn:aws:x/y",
        ),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/invoke", ANTHROPIC, "bedrock", "bedrock.invoke", "m"),
    ],
)
def test_models_are_found_wherever_they_stand(url: str, body: object, provider: str, api: str, model: str) -> None:
    call = asked(url, body)
    assert isinstance(call, ModelCall)
    assert (call.provider, call.api, call.model) == (provider, api, model)
    assert len(call.messages) == (0 if body == {"messages": []} else 1)


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("POST", "https://api.twilio.com/2010-04-01/Accounts/x/messages", {"body": "hi"}),
        ("POST", "https://chat.example/v1/messages", b"To=%2B1&Body=hi"),
        ("POST", "https://forms.example/surveys/5/responses", {"answers": []}),
        ("GET", "https://forms.example/responses/12", b""),
        ("POST", "https://search.example/embeddings", b""),
        ("GET", "https://api.openai.com/v1/chat/completions", b""),
        ("DELETE", "https://api.openai.com/v1/responses/resp_1", b""),
        ("POST", "https://api.anthropic.com/v1/messages/count_tokens", ANTHROPIC),
        ("POST", "https://api.anthropic.com/v1/messages/batches", {}),
        ("POST", "https://api.openai.com/v1/responses/input_tokens", RESPONSES),
        ("POST", "https://generativelanguage.googleapis.com/v1beta/models/g:countTokens", GEMINI),
        ("POST", "https://mcp.example/mcp", {"jsonrpc": "2.0"}),
        ("GET", "http://[broken", b""),
        ("GET", "", b""),
    ],
)
def test_what_only_looks_like_a_model_is_none(method: str, url: str, body: object) -> None:
    assert isinstance(asked(url, body, method), NotAModel)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_request_that_is_no_json_object_is_unreadable(body: bytes) -> None:
    reading = asked("https://api.openai.com/v1/chat/completions", body)
    assert isinstance(reading, Unreadable)
    assert reading.raw == body
    assert reading.reason.startswith("request:")
