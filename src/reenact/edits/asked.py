"""A request to a model as it is about to leave, and what may be done to it on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from reenact.edits.framing import dumped
from reenact.errors import EditError
from reenact.providers import Unreadable
from reenact.providers.encoding import decode_content
from reenact.providers.route import place_of

MESSAGES: Mapping[str, str] = {
    "openai.chat": "messages",
    "openai.responses": "input",
    "anthropic.messages": "messages",
    "google.gemini": "contents",
    "bedrock.converse": "messages",
    "bedrock.invoke": "messages",
}
"""Under which key of a request its messages stand, by API."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `body` is as it goes out."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def api(self) -> str:
        """The API that it speaks, of those whose requests can be edited. Raises EditError for any other."""
        place = place_of(self.method, self.url)
        if place is None or place.reader.api not in MESSAGES:
            raise EditError(f"{self.method} {self.url} is no request to a model that can be edited")
        return place.reader.api

    def document(self) -> dict[str, Any]:
        """Its JSON, made anew each time. Raises EditError where it is none."""
        plain = decode_content(self.headers, self.body)
        if isinstance(plain, Unreadable):
            raise EditError(f"the request cannot be read: {plain.reason}")
        try:
            value = json.loads(plain)
        except (ValueError, RecursionError) as problem:
            raise EditError(f"the request cannot be read: {problem}") from None
        if not isinstance(value, dict):
            raise EditError("the request cannot be read: it is not a JSON object")
        return value

    def saying(self, document: Mapping[str, object]) -> Asked:
        """The request with another JSON; it has no content coding then."""
        body = dumped(document)
        headers = tuple(
            (name, str(len(body)) if name.lower() == "content-length" else value)
            for name, value in self.headers
            if name.lower() != "content-encoding"
        )
        return replace(self, headers=headers, body=body)


class Rule(Protocol):
    """What is changed of the requests of a branch, of each that it fits. Pure, and to be applied to all of them."""

    def apply(self, asked: Asked) -> Asked:
        """The request as it shall leave; the very one where the rule does not fit it. Raises EditError."""
