"""How a provider says no: the error shapes of all of them, read in one place."""

from __future__ import annotations

from reenact.providers.call import ApiError
from reenact.providers.loose import Doc, as_json, count, either, load, text
from reenact.providers.stream import Chunk, stream_of
from reenact.providers.wire import Headers, header

_EXCERPT = 500
_LOWEST_ERROR, _NOT_A_STATUS = 400, 600


def of_answer(status: int, headers: Headers, body: bytes) -> ApiError:
    """Read an answer whose status is not a success. What is no JSON gives its first words as the message."""
    stream = stream_of(header(headers, "content-type"), body)
    for chunk in stream.chunks if stream else ():
        return _of_doc(chunk.doc, status)
    aws_type = header(headers, "x-amzn-errortype").partition(":")[0]
    try:
        value = load(body)
    except ValueError:
        return ApiError(status, aws_type, body[:_EXCERPT].decode("utf-8", "replace").strip())
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return ApiError(status, aws_type, as_json(value))
    found = _of_doc(value, status)
    return found if found.type or not aws_type else ApiError(found.status, aws_type, found.message)


def of_chunk(chunk: Chunk) -> ApiError:
    """Read an error that came inside a stream."""
    return _of_doc(chunk.doc, None)


def of_doc(doc: Doc) -> ApiError | None:
    """Read the error that a successful answer carries, if it does."""
    return _of_doc(doc, None) if doc.get("error") else None


def _of_doc(doc: Doc, status: int | None) -> ApiError:
    error = doc.get("error")
    inner = error if isinstance(error, dict) else doc
    if status is None:
        named = count(inner, "status_code", "code")
        status = named if _LOWEST_ERROR <= named < _NOT_A_STATUS else None
    kind = text(inner, "type") if inner is not doc else ""
    kind = kind or text(inner, "code", "status", "__type") or text(doc, "type")
    message = error if isinstance(error, str) else as_json(either(inner, "message", "Message", "detail", "msg"))
    return ApiError(status, kind.rpartition("#")[2], message)
