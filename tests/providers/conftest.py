"""The recorded traffic, as the readers are given it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from reenact.providers import Wire

TRAFFIC = Path(__file__).parents[3] / "shared" / "traffic"


def body_of(message: dict[str, Any]) -> bytes:
    if "body_b64" in message:
        return base64.b64decode(message["body_b64"])
    return str(message.get("body") or "").encode()


def wire_of(exchange: dict[str, Any]) -> Wire:
    request, response = exchange["request"], exchange["response"]
    return Wire(
        method=request["method"],
        url=request["url"],
        request_headers=tuple(request["headers"].items()),
        request_body=body_of(request),
        status=response["status"],
        response_headers=tuple(response["headers"].items()),
        response_body=body_of(response),
    )


@pytest.fixture(scope="session")
def cassettes() -> dict[str, list[Wire]]:
    """Every cassette by `file:name`, with its exchanges in order."""
    files = sorted(TRAFFIC.glob("*.jsonl"))
    if not files:
        pytest.skip("no recorded traffic: expected ../shared/traffic/*.jsonl beside the repository")
    found: dict[str, list[Wire]] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            cassette = json.loads(line)
            found[f"{file.name}:{cassette['cassette']}"] = [wire_of(exchange) for exchange in cassette["exchanges"]]
    return found


@pytest.fixture(scope="session")
def wires(cassettes: dict[str, list[Wire]]) -> list[tuple[str, Wire]]:
    """Every exchange with a label that finds it again."""
    return [(f"{name}#{at}", wire) for name, exchanges in cassettes.items() for at, wire in enumerate(exchanges)]
