"""Real recorded traffic through every official SDK: recorded, then replayed with the server gone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reenact.testing import CassetteServer
from reenact.testing.cassette import Exchange
from tests.runs import PROGRAMS, Bench, answer_of

AGENT = PROGRAMS / "cassettes.py"


def asked(exchange: dict[str, dict[str, str]]) -> dict[str, str]:
    request = exchange["request"]
    url = urlsplit(request["url"])
    raw = base64.b64decode(request["body_b64"]) if "body_b64" in request else request.get("body", "").encode()
    return {
        "method": request["method"],
        "host": url.netloc,
        "path": url.path,
        "query": url.query,
        "kind": dict(request["headers"]).get("content-type", ""),
        "raw": base64.b64encode(raw).decode(),
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("provider", "through"),
    [
        ("openai_chat", "through_openai"),
        ("openai_responses", "through_openai"),
        ("openai_other", "through_openai"),
        ("groq", "through_groq"),
        ("anthropic", "through_anthropic"),
        ("google", "through_google"),
        ("bedrock", "through_boto3"),
        ("mixed", "through_plain"),
        ("mcp_mixed", "through_plain"),
    ],
)
def test_every_recorded_exchange_comes_back(bench: Bench, recorded_traffic: Path, provider: str, through: str) -> None:
    lines = (recorded_traffic / f"{provider}.jsonl").read_text(encoding="utf-8").splitlines()
    cassettes = [json.loads(line)["exchanges"] for line in lines]
    halves = {"sync": [e for c in cassettes[::2] for e in c], "async": [e for c in cassettes[1::2] for e in c]}
    work = bench.folder / "work.json"
    work.write_text(json.dumps({name: [asked(exchange) for exchange in half] for name, half in halves.items()}))
    answers = [Exchange.read(exchange) for half in halves.values() for exchange in half]

    run = bench.unchanged(AGENT, lambda port: CassetteServer(answers, port=port), through, str(work))

    assert run.status == 0, run.stderr.decode()
    assert len(run.http) == len(answers)
    assert sorted(map(answer_of, run.http)) == sorted(answer.body for answer in answers)
    run.reproduced()
