"""Plain HTTP libraries against everything that may come over a wire: seen as ever, and replayed to the byte."""

from __future__ import annotations

import pytest

from tests.runs import PROGRAMS, Bench
from tests.sdk.wire import Wire


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "program",
    [
        "wire_httpx.py httpx",
        "wire_httpx.py httpx2",
        "wire_async_httpx.py httpx",
        "wire_async_httpx.py httpx2",
        "wire_requests.py",
        "wire_urllib3.py",
        "wire_aiohttp.py",
        "below_httpx.py",
    ],
)
def test_whatever_comes_is_seen_as_ever_and_comes_back(bench: Bench, program: str) -> None:
    script, *args = program.split()
    run = bench.unchanged(PROGRAMS / script, Wire, *args)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()
    if script not in ("wire_urllib3.py", "below_httpx.py"):
        assert "second, on time" in run.text
