"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as browsers, Playwright and proxies write it.

A body stands there without its codings, as text or as base64. `_webSocketMessages`, `_error` and `_failureText` are
Chrome's and Playwright's own.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from reenact.errors import ForeignError
from reenact.foreign.exchange import Answer, Exchange, Headers, Message, header_pairs
from reenact.foreign.fields import Fields

ELSEWHERE = "its body is in another file ({name}), which is not opened: have bodies embedded in the HAR"
NOT_KEPT = "the file does not hold the body of the answer"
NO_ANSWER = "no answer came"

_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_TEXT, _BINARY = 1, 2  # opcodes of frames
_LONGEST_MS = 1e9  # eleven days
_NS_PER_MS, _NS_PER_S = 1_000_000, 1_000_000_000


def is_har(document: Any) -> bool:
    """Whether a document may be one."""
    return isinstance(document, dict) and "log" in document


def exchanges(document: Any) -> list[Exchange]:
    """The exchanges of a HAR.

    Raises:
        ForeignError: it is none.
    """
    return [_exchange(each) for each in Fields(document, "it").of("log").items("entries", "entry")]


def _exchange(entry: Fields) -> Exchange:
    request, response = entry.of("request"), entry.of("response")
    headers = _headers(request)
    answer, why = _answer(entry, response)
    timings = entry.any("timings")
    waited = 0.0
    if isinstance(timings, dict):
        before = Fields(timings, f"{entry.place}.timings")
        waited = sum(max(before.number(name, 0), 0) for name in ("blocked", "dns", "connect", "send", "wait"))
    took = max(entry.number("time", 0), waited, 0)
    return Exchange(
        request.text("method"),
        request.text("url"),
        headers,
        _request_body(request),
        answer,
        why,
        _moment(entry),
        _ns(waited),
        _ns(took),
        tuple(_message(each) for each in entry.items("_webSocketMessages")),
    )


def _ns(milliseconds: float) -> int:
    return int(min(milliseconds, _LONGEST_MS) * _NS_PER_MS)


def _answer(entry: Fields, response: Fields) -> tuple[Answer | None, str]:
    if response.number("status") <= 0:
        told = response.text("_error", "") or response.text("_failureText", "") or entry.text("_failureText", "")
        return None, f"{NO_ANSWER}: {told}" if told else NO_ANSWER
    body, why = _response_body(response)
    version = response.text("httpVersion", "").upper()
    version = version if re.fullmatch(r"HTTP/\d(\.\d)?", version) else "HTTP/1.1"
    return Answer(response.status("status"), response.text("statusText", ""), _headers(response), body, version), why


def _response_body(response: Fields) -> tuple[bytes | None, str]:
    if not response.has("content"):
        return b"", ""
    content = response.of("content")
    if content.has("_file"):
        return None, ELSEWHERE.format(name=content.text("_file"))
    if not content.has("text"):
        # Chrome leaves a body out that it no longer had; of what never had one, the size is none
        return (None, NOT_KEPT) if content.number("size", 0) > 0 else (b"", "")
    return _bytes(content, content.text("mimeType", "")), ""


def _request_body(request: Fields) -> bytes:
    if not request.has("postData"):
        return b""
    data = request.of("postData")
    if data.has("_file"):
        raise ForeignError(f"{request.place}: {ELSEWHERE.format(name=data.text('_file'))}")
    if data.has("text"):
        return _bytes(data, data.text("mimeType", ""))
    return urlencode([(each.text("name"), each.text("value", "")) for each in data.items("params")]).encode()


def _bytes(content: Fields, kind: str) -> bytes:
    text = content.text("text")
    if content.text("encoding", "") == "base64":
        try:
            return base64.b64decode(text)
        except (binascii.Error, ValueError) as error:
            raise ForeignError(f"{content.place}.text is no base64: {error}") from error
    charset = _CHARSET.search(kind)
    try:
        return codecs.lookup(charset[1]).encode(text)[0] if charset is not None else text.encode()
    except (LookupError, UnicodeError, TypeError, AttributeError):
        return text.encode("utf-8", "surrogatepass")


def _headers(message: Fields) -> Headers:
    """The headers, without what HTTP/2 has in the place of a first line."""
    pairs = ((each.text("name"), each.text("value", "")) for each in message.items("headers"))
    return header_pairs((name, value) for name, value in pairs if not name.startswith(":"))


def _message(message: Fields) -> Message:
    opcode = int(message.number("opcode", _TEXT))
    data = message.text("data", "")
    raw = data.encode("utf-8", "surrogatepass")
    if opcode == _BINARY:
        try:
            raw = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ForeignError(f"{message.place}.data is no base64: {error}") from error
    return Message(message.text("type") == "send", int(message.number("time", 0) * _NS_PER_S), opcode & 0xF, raw)


def _moment(entry: Fields) -> int | None:
    text = entry.text("startedDateTime", "")
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1_000_000) * 1_000
    except (ValueError, OverflowError):
        return None
