"""Amazon Bedrock InvokeModel: the body is in the format of the model's maker, of which Anthropic's is read."""

from __future__ import annotations

from reenact.providers import anthropic
from reenact.providers.call import Usage
from reenact.providers.loose import Doc, count, text
from reenact.providers.message import Message, Other, Text
from reenact.providers.reader import Question, Reader, Reply


def question(body: Doc) -> Question:
    """Read a request: Anthropic's, or the text given to one of Amazon's embedding models."""
    if isinstance(body.get("messages"), list):
        return anthropic.question(body)
    given = text(body, "inputText")
    return Question(messages=(Message("user", (Text(given),)),) if given else ())


def reply(body: Doc) -> Reply:
    """Read an answer. Of other formats no more is known than that something came, and perhaps the count of tokens."""
    if isinstance(body.get("content"), list):
        return anthropic.reply(body)
    kind = "embedding" if body.keys() & {"embedding", "embeddings"} else "answer of another format"
    tokens = count(body, "inputTextTokenCount")
    return Reply(
        message=Message("assistant", (Other(kind),)) if body else None,
        usage=Usage(input=tokens) if tokens else None,
    )


READER = Reader("bedrock.invoke", question, reply, anthropic.fold)
