"""The seam between the server and a wire format."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from reenact.testing.reply import Answer, Fail
from reenact.testing.request import Request
from reenact.testing.response import Response
from reenact.testing.turn import Turn
from reenact.testing.wire.stamp import Stamp

Json: TypeAlias = dict[str, Any]


class UnreadableError(ValueError):
    """The request is not one that this wire format allows; answered with status 400."""


class Dialect(Protocol):
    """One wire format. Implementations may be called from several threads at once."""

    def read(self, request: Request, index: int) -> Turn:
        """The request in neutral terms; raises UnreadableError."""

    def write(self, turn: Turn, answer: Answer, stamp: Stamp) -> Response:
        """The answer in this format, streamed when the turn asks for it; raises ValueError for what it cannot say."""

    def error(self, fail: Fail, stamp: Stamp) -> Response:
        """The failure in this format."""


def body_object(request: Request) -> Json:
    """The body of a request, which every format requires to be a JSON object; raises UnreadableError."""
    try:
        body = request.json()
    except ValueError as error:
        message = f"could not parse the JSON body of the request: {error}"
        raise UnreadableError(message) from error
    if not isinstance(body, dict):
        message = "the body of the request must be a JSON object"
        raise UnreadableError(message)
    return body
