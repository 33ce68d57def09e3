"""What a client sent: one HTTP request, kept as it arrived."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `target` is the path with its query, `headers` have lower-case names.

    Repeated headers are joined with ", " (RFC 9110 section 5.3). The body is decoded from the
    chunked transfer coding and otherwise as sent.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query, percent-encoding kept."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the first `?` of the target, or an empty string."""
        return self.target.partition("?")[2]

    def json(self) -> Any:
        """The body parsed as JSON; raises ValueError when it is not JSON."""
        return json.loads(self.body)
