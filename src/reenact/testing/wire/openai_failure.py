"""Errors and headers as OpenAI and those who follow it send them."""

from __future__ import annotations

from reenact.testing.reply import Fail
from reenact.testing.response import Headers, Response
from reenact.testing.wire import sse
from reenact.testing.wire.failure import retry_headers
from reenact.testing.wire.stamp import Stamp

_SERVER_ERROR = 500
_RATE = 10_000
_KINDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}
_MESSAGES = {
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later.",
}


def openai_headers(stamp: Stamp) -> Headers:
    """Headers of every answer."""
    return (
        ("date", stamp.date),
        ("openai-organization", "org-testing"),
        ("openai-processing-ms", "12"),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-limit-requests", str(_RATE)),
        ("x-ratelimit-remaining-requests", str(max(0, _RATE - 1 - stamp.index))),
        ("x-request-id", stamp.hex("req_", 32)),
    )


def openai_error(fail: Fail, stamp: Stamp) -> Response:
    """The failure as `{"error": {...}}`."""
    default = ("server_error", None) if fail.status >= _SERVER_ERROR else ("invalid_request_error", None)
    kind, code = _KINDS.get(fail.status, default)
    message = fail.message or _MESSAGES.get(fail.status, f"The request failed with status {fail.status}.")
    error = {"message": message, "type": kind, "param": None, "code": code}
    return sse.document({"error": error}, (*openai_headers(stamp), *retry_headers(fail)), fail.status)
