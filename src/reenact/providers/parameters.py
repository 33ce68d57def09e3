"""What a request sets besides its messages: temperature, limits, formats and the like, under one name each.

Providers call the same thing by several names, and some keep them one level deeper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_NESTED: Final = frozenset({"generation_config", "inference_config", "tool_config"})
_ELSEWHERE: Final = frozenset(
    {"model", "messages", "input", "contents", "system", "instructions", "system_instruction", "tools", "functions"}
    | {"stream", "stream_options", "previous_response_id", "conversation"}
)
_NAMES: Final = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "stop_sequences": "stop",
    "function_calling_config": "tool_choice",
    "function_call": "tool_choice",
}
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

EVERYWHERE: Final = ("temperature", "top_p", "top_k", "seed", "stop")
"""Those that mean the same with every provider, and need not be there with any."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def parameters(members: Mapping[str, msgspec.Raw]) -> dict[str, bytes]:
    """The parameters of a request, as JSON, from the members of its body. What reads otherwise is left out."""
    return dict(sorted(_all(members)))


def _all(members: Mapping[str, msgspec.Raw]) -> Iterator[tuple[str, bytes]]:
    for name, value in members.items():
        known = _HUMP.sub("_", name).lower()
        known = _NAMES.get(known, known)
        if known in _ELSEWHERE:
            continue
        if known not in _NESTED:
            yield known, bytes(value)
            continue
        try:
            yield from _all(_members(value))
        except (ValueError, RecursionError):
            yield known, bytes(value)
