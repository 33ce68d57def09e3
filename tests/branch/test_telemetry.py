"""Side traffic of a branch: it is not sent, unless that is allowed."""

from __future__ import annotations

import pytest

from reenact.testing import ModelServer
from tests.branch.test_fork import CHAT, Counting, fork, made, verified
from tests.runs import Bench, settings

POSTS = {
    "httpx": "httpx.post(url, json={'n': n}).status_code",
    "requests": "requests.post(url, json={'n': n}).status_code",
    "aiohttp": "asyncio.run(by_aiohttp(url, n))",
}
PROGRAM = (
    """
    import asyncio, os, aiohttp, httpx, requests
    url = os.environ["BASE"] + "/v1/traces/seen"

    async def by_aiohttp(url, n):
        async with aiohttp.ClientSession() as client, client.post(url, json={{"n": n}}) as answer:
            return answer.status, await answer.text()
"""
    + CHAT
)


@pytest.mark.parametrize("library", POSTS)
def test_telemetry_of_a_branch_stays_here(bench: Bench, library: str) -> None:
    (bench.folder / "pyproject.toml").write_text('[tool.reenact]\nside-traffic = ["127.0.0.1/v1/traces/*"]\n')
    program = PROGRAM.format(steps=3) + f"    for n in range(2):\n        print({POSTS[library]} is not None)\n"
    with ModelServer(Counting()) as server:

        def sent() -> int:
            return sum(request.path == "/v1/traces/seen" for request in server.requests)

        bench.record(program, env=settings(server))
        assert sent() == 2, "a recording sends it"
        done = fork(bench, "last@2", "--name", "first", server=server)
        branch = verified(made(bench, done))
        assert sent() == 2
        assert branch.text.endswith("True\nTrue\n")
        assert list(branch.tape.side_traffic.values()) == [2]
        assert b"2 requests of side traffic to 127.0.0.1" in done.stderr
        let = fork(bench, f"{branch.path.stem}@3", "--allow", "telemetry:*", server=server)
        verified(made(bench, let))
        assert sent() == 4
        assert b"side traffic to" not in let.stderr
