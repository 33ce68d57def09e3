"""Cassettes of vcrpy, in its format 1: YAML or JSON, a list of interactions with a request and a response each.

The bytes of a body are a text in UTF-8, or `!!binary`. vcrpy takes off the framing of bodies and not their
compression, and says nothing of times.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from reenact.errors import ForeignError
from reenact.foreign.exchange import Answer, Exchange, Headers, header_pairs
from reenact.foreign.fields import Fields

_FORMAT = 1


def is_cassette(document: Any) -> bool:
    """Whether a document may be one."""
    return isinstance(document, dict) and "interactions" in document


def exchanges(document: Any) -> list[Exchange]:
    """The exchanges of a cassette.

    Raises:
        ForeignError: it is none.
    """
    whole = Fields(document, "it")
    version = whole.any("version")
    if version != _FORMAT:
        raise ForeignError(f"it is a cassette of version {version!r}; version {_FORMAT} can be read")
    return [_exchange(each) for each in whole.items("interactions", "interaction")]


def _exchange(interaction: Fields) -> Exchange:
    request, response = interaction.of("request"), interaction.of("response")
    headers = _headers(request)
    return Exchange(
        request.text("method"), request.text("uri"), headers, _request_body(request, headers), _answer(response)
    )


def _answer(response: Fields) -> Answer:
    if response.has("status_code"):  # what vcrpy wrote of httpx before its version 6
        body = _bytes(response.any("content"), response.place)
        return Answer(response.status("status_code"), "", _headers(response), body)
    status = response.of("status")
    return Answer(status.status("code"), status.text("message", ""), _headers(response), _response_body(response))


def _response_body(response: Fields) -> bytes:
    body = response.any("body")
    if isinstance(body, dict):
        body = body.get("string")
    return _bytes(body, f"{response.place}.body")


def _request_body(request: Fields, headers: Headers) -> bytes:
    body = request.any("body")
    if isinstance(body, dict | list) and not (isinstance(body, list) and all(isinstance(one, bytes) for one in body)):
        # what was given to aiohttp as `json` or `data`
        if any(name.lower() == "content-type" and "urlencoded" in value for name, value in headers):
            return urlencode(body, doseq=True).encode()
        try:
            return json.dumps(body).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ForeignError(f"{request.place}.body cannot be made JSON: {error}") from error
    return _bytes(body, f"{request.place}.body")


def _bytes(body: Any, place: str) -> bytes:
    match body:
        case None:
            return b""
        case bytes():
            return body
        case str():
            return body.encode("utf-8", "surrogateescape")
        case list() | tuple():
            return b"".join(_bytes(one, place) for one in body)
    raise ForeignError(f"{place} is of type {type(body).__name__}, and should be a text or bytes")


def _headers(message: Fields) -> Headers:
    """Each name has a value, or a list of them."""
    given = message.any("headers") or {}
    if not isinstance(given, dict):
        raise ForeignError(f"{message.place}.headers is of type {type(given).__name__}, and should be an object")
    return header_pairs(
        (_text(name), _text(value))
        for name, values in given.items()
        for value in (values if isinstance(values, list | tuple) else [values])
    )


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
