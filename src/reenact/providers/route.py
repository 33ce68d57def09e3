"""Which reader an exchange belongs to, by the method and URL of its request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from reenact.providers import (
    anthropic,
    bedrock,
    bedrock_invoke,
    gemini,
    openai_chat,
    openai_embeddings,
    openai_responses,
)
from reenact.providers.reader import Place, Reader

# A provider by its host, or by any host below it.
_HOSTS = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure",
    "cognitiveservices.azure.com": "azure",
    "services.ai.azure.com": "azure",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "aiplatform.googleapis.com": "vertex",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral",
    "api.deepseek.com": "deepseek",
    "api.x.ai": "xai",
    "api.together.xyz": "together",
    "api.fireworks.ai": "fireworks",
    "api.cerebras.ai": "cerebras",
    "api.perplexity.ai": "perplexity",
    "openrouter.ai": "openrouter",
    "router.huggingface.co": "huggingface",
}
# Hosts with a region in their name.
_REGIONAL = re.compile(
    r"bedrock[a-z-]*\.[a-z0-9-]+\.(?:api\.aws|amazonaws\.com(?:\.cn)?)|[a-z0-9-]+-(?P<vertex>aiplatform)\.googleapis\.com"
)


@dataclass(frozen=True, slots=True)
class _Route:
    """A path that means a model. Where other services use such paths too, the body must have the keys `wants`."""

    method: str
    path: re.Pattern[str]
    reader: Reader
    wants: tuple[str, ...] = ()


def _post(path: str, reader: Reader, *wants: str) -> _Route:
    return _Route("POST", re.compile(path), reader, wants)


_ROUTES = (
    _post(r"(?:/deployments/(?P<model>[^/]+))?/chat/completions$", openai_chat.READER),
    _post(r"/responses(?:/compact)?$", openai_responses.READER, "model"),
    _Route("GET", re.compile(r"/responses/(?P<continues>resp_[^/]+)$"), openai_responses.READER),
    _post(r"(?:/deployments/(?P<model>[^/]+))?/embeddings$", openai_embeddings.READER, "input"),
    _post(r"/messages$", anthropic.READER, "messages", "max_tokens"),
    _post(r"/models/(?P<model>[^/]+):(?:raw|(?P<stream>streamRaw))Predict$", anthropic.READER, "anthropic_version"),
    _post(
        r"/(?:tunedModels|models|endpoints)/(?P<model>[^/]+):(?:generate|(?P<stream>streamGenerate))Content$",
        gemini.READER,
    ),
    _post(r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?$", bedrock.READER),
    _post(r"/model/(?P<model>[^/]+)/invoke(?P<stream>-with-response-stream)?$", bedrock_invoke.READER),
)


def place_of(method: str, url: str) -> Place | None:
    """Find who is asked; None if it is no model. `Place.wants` is empty where the URL alone leaves no doubt."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    known = _provider(host)
    path = parts.path.rstrip("/")
    for route in _ROUTES:
        if route.method != method.upper() or (found := route.path.search(path)) is None:
            continue
        named = found.groupdict()
        return Place(
            route.reader,
            provider=known or route.reader.family,
            model=unquote(named.get("model") or ""),
            stream=bool(named.get("stream")),
            continues=named.get("continues"),
            wants=() if known else route.wants,
        )
    return None


def _provider(host: str) -> str | None:
    if regional := _REGIONAL.fullmatch(host):
        return "vertex" if regional["vertex"] else "bedrock"
    labels = host.split(".")
    return next((_HOSTS[end] for at in range(len(labels)) if (end := ".".join(labels[at:])) in _HOSTS), None)
