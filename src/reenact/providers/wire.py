"""What a reader is given: one HTTP exchange as bytes, with framing and content encoding already removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Wire:
    """One exchange. `status` is None where no answer came; `response_body` may be cut anywhere."""

    method: str
    url: str
    request_headers: Headers
    request_body: bytes
    status: int | None
    response_headers: Headers
    response_body: bytes


def header(headers: Headers, name: str) -> str:
    """Return the first value of the header `name` in any case, else the empty string."""
    for key, value in headers:
        if key.lower() == name:
            return value
    return ""
