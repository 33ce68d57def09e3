"""Sessions of the Model Context Protocol: what a server's tools answer comes back, and no replay starts or asks one."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs import Bench

SERVER = """
    import pathlib, random, sys
    from mcp.server.mcpserver import MCPServer
    server = MCPServer("evenings", log_level="CRITICAL")
    told = pathlib.Path(__file__).with_name("told.log")
    @server.tool()
    def look_up(city: str) -> str:
        with told.open("a") as file:
            file.write(city + "\\n")
        return f"{city}: {random.random()}"
    @server.tool()
    def fails(city: str) -> str:
        raise ValueError(f"no such city: {city}")
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
"""
TALK = """
    async def talk(session):
        await session.initialize()
        print([tool.name for tool in (await session.list_tools()).tools])
        for city in ("Oslo", "Rome"):
            print((await session.call_tool("look_up", {"city": city})).content[0].text)
        many = await asyncio.gather(*(session.call_tool("look_up", {"city": f"city {n}"}) for n in range(4)))
        print([each.content[0].text for each in many])
        failed = await session.call_tool("fails", {"city": "Nowhere"})
        print(failed.content[0].text)
"""
STDIO = (
    """
    import asyncio, sys
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
"""
    + TALK
    + """
    async def main():
        server = StdioServerParameters(command=sys.executable, args=["server.py"])
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await talk(session)
    asyncio.run(main())
"""
)
HTTP = (
    """
    import asyncio, os
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client
"""
    + TALK
    + """
    async def main():
        async with streamable_http_client(os.environ["BASE"] + "/mcp") as (read, write, *_):
            async with ClientSession(read, write) as session:
                await talk(session)
    asyncio.run(main())
"""
)


@pytest.fixture
def server(bench: Bench) -> Path:
    """The program of a server, which writes down what it was asked."""
    bench.write(SERVER)
    return (bench.folder / "agent.py").rename(bench.folder / "server.py")


@pytest.fixture
def serving(bench: Bench, server: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The server over HTTP, and where it is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = bench.start(str(server), str(port))
    for _ in range(200):
        with socket.socket() as link:
            if link.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield process, f"http://127.0.0.1:{port}"
    process.kill()
    process.communicate()


def test_over_stdio_no_server_is_started_in_replay(bench: Bench, server: Path) -> None:
    run = bench.record(STDIO)
    assert run.status == 0, run.stderr.decode()
    asked = (server.parent / "told.log").read_text()
    assert asked.count("\n") == 6
    verified = run.reproduced()
    assert (server.parent / "told.log").read_text() == asked
    assert verified.document["processes"]["replayed"] == 1
    assert verified.document["boundaries"]["kinds"]["stdin"] >= asked.count("\n")


def test_a_server_that_answers_otherwise_is_told_by_its_lane(bench: Bench, server: Path) -> None:
    run = bench.record(STDIO)
    assert run.status == 0, run.stderr.decode()
    server.write_text(server.read_text().replace('f"{city}: ', 'f"{city} - '))
    verified = run.verify()
    assert verified.status == 1
    assert verified.divergences[0]["what"] == "output"
    assert all(one["lane"].startswith(run.tape.processes[0].main) for one in verified.divergences)


def test_over_http_no_server_is_asked_in_replay(
    bench: Bench, server: Path, serving: tuple[subprocess.Popen[bytes], str]
) -> None:
    process, base = serving
    run = bench.record(HTTP, env={"BASE": base})
    assert run.status == 0, run.stderr.decode()
    asked = (server.parent / "told.log").read_text()
    assert asked.count("\n") == 6
    run.verified()  # with the server there, which is not asked
    assert (server.parent / "told.log").read_text() == asked
    process.kill()
    process.wait()
    run.reproduced()


@pytest.mark.usefixtures("server")
def test_another_question_to_a_tool_is_a_divergence(bench: Bench) -> None:
    run = bench.record(STDIO)
    assert run.status == 0, run.stderr.decode()
    bench.write(STDIO.replace('"Rome"', '"Bonn"'))
    verified = run.verify()
    assert verified.status == 1
    first = verified.divergences[0]
    assert first["what"] == "mismatch"
    assert "Bonn" in str(first["actual"])
