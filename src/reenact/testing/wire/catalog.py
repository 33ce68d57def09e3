"""Endpoints beside the turns, answered without the policy: models, embeddings, token counts.

Embeddings are unit vectors that follow from the text and the model, so that equal texts are equal.
"""

from __future__ import annotations

import base64
import hashlib
import math
import struct

from reenact.testing.request import Request
from reenact.testing.response import Response
from reenact.testing.wire import sse
from reenact.testing.wire.dialect import Json, UnreadableError, body_object
from reenact.testing.wire.openai_failure import openai_headers
from reenact.testing.wire.stamp import Stamp

_DIMENSIONS = 256
_BYTES_PER_TOKEN = 4
_MODELS = ("gpt-5.2", "gpt-4o", "gpt-4o-mini", "text-embedding-3-small")


def aside(request: Request, stamp: Stamp) -> Response | None:
    """The answer when the request is for one of these endpoints; raises UnreadableError."""
    path = request.path
    match request.method:
        case "GET" if path.endswith("/models"):
            return sse.document({"object": "list", "data": [_model(name) for name in _MODELS]}, openai_headers(stamp))
        case "GET" if "/models/" in path:
            return sse.document(_model(path.rpartition("/models/")[2]), openai_headers(stamp))
        case "POST" if path.endswith("/embeddings"):
            return sse.document(_embeddings(body_object(request)), openai_headers(stamp))
        case "POST" if path.endswith("/messages/count_tokens"):
            return sse.document({"input_tokens": _tokens(request)}, ())
        case "POST" if path.endswith(":countTokens"):
            return sse.document({"totalTokens": _tokens(request)}, ())
        case _:
            return None


def _tokens(request: Request) -> int:
    return len(request.body) // _BYTES_PER_TOKEN + 1


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 1_715_367_049, "owned_by": "system"}


def _embeddings(body: Json) -> Json:
    model = str(body.get("model", ""))
    given = body.get("input")
    texts = given if isinstance(given, list) else [given]
    if given is None or not texts:
        message = "'input' is a required property"
        raise UnreadableError(message)
    size = body.get("dimensions") or _DIMENSIONS
    vectors = [_vector(f"{model}\x00{text}", int(size)) for text in texts]
    as_base64 = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if as_base64 else vector}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(str(text)) // _BYTES_PER_TOKEN + 1 for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}


def _vector(text: str, size: int) -> list[float]:
    noise = hashlib.shake_256(text.encode()).digest(2 * size)
    raw = [value / 32768 for value in struct.unpack(f">{size}h", noise)]
    length = math.hypot(*raw) or 1.0
    return [value / length for value in raw]


def _base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
