"""OpenAI embeddings: which texts were embedded and what that cost."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.providers.call import Usage
from reenact.providers.loose import Doc, count, doc, docs, text
from reenact.providers.message import Message, Other, Part, Text
from reenact.providers.reader import Question, Reader, Reply
from reenact.providers.stream import Chunk


def question(body: Doc) -> Question:
    """Read a request: one text, several, or lists of tokens."""
    given = body.get("input")
    several = given if isinstance(given, list) and not all(isinstance(token, int) for token in given) else [given]
    parts: list[Part] = [Text(item) if isinstance(item, str) else Other("tokens") for item in several]
    return Question(model=text(body, "model"), messages=(Message("user", tuple(parts)),))


def reply(body: Doc) -> Reply:
    """Read an answer: one part for each vector."""
    vectors = tuple(Other("embedding") for _ in docs(body, "data"))
    usage = doc(body, "usage")
    return Reply(
        message=Message("assistant", vectors) if vectors else None,
        usage=Usage(input=count(usage, "prompt_tokens")) if usage else None,
        served=text(body, "model") or None,
    )


def fold(chunks: Sequence[Chunk]) -> Doc:
    """Embeddings are not streamed; the last object is as good as any."""
    return chunks[-1].doc if chunks else {}


READER = Reader("openai.embeddings", question, reply, fold)
