"""`python -m reenact.testing` serves other processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import reenact.testing
from reenact.testing import Call, ModelServer, Say
from reenact.testing.__main__ import main
from reenact.testing.demo import demo


def test_it_prints_its_urls_serves_the_demo_and_ends_on_an_interrupt() -> None:
    command = [sys.executable, "-m", "reenact.testing", "--seed", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(7)]
        told = dict(line.strip().split("=", 1) for line in lines if "=" in line)
        tools = [{"type": "function", "function": {"name": "clock"}}]
        messages = [{"role": "user", "content": "hello"}]
        url = told["OPENAI_BASE_URL"] + "/chat/completions"
        said = httpx.post(url, json={"model": "m", "messages": messages}).json()["choices"][0]["message"]
        called = httpx.post(url, json={"model": "m", "messages": messages, "tools": tools}).json()["choices"][0]
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == 0
    assert said["content"] == "You said: hello"
    assert called["message"]["tool_calls"][0]["function"]["name"] == "clock"
    assert told["ANTHROPIC_BASE_URL"] + "/v1" == told["OPENAI_BASE_URL"]


def test_the_demo_tells_what_the_tools_answered() -> None:
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "clock", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "noon"},
    ]
    with ModelServer(demo) as server:
        answer = httpx.post(f"{server.openai}/chat/completions", json={"model": "m", "messages": messages}).json()
    assert answer["choices"][0]["message"]["content"] == "The tools answered: clock: noon"


@pytest.mark.parametrize("policy", ["no_such_module:x", "reenact.testing:nothing", "reenact.testing:__doc__"])
def test_a_policy_that_cannot_be_loaded_is_misuse(policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--policy", policy]) == 2
    assert capsys.readouterr().err.startswith("reenact.testing: ")


def test_a_port_that_is_taken_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer(demo) as server:
        assert main(["--port", str(server.port)]) == 2
    assert "in use" in capsys.readouterr().err


def test_the_public_names_are_these() -> None:
    assert set(reenact.testing.__all__) == {
        *("Call", "Calls", "Say", "Fail", "Drop", "Raw", "ResetMidStream", "SlowFirstByte", "Usage", "Reply"),
        *("ModelServer", "CassetteServer", "Cut", "read_cassettes", "Policy", "Script", "Stochastic"),
        *("Turn", "Message", "Role", "ToolResult", "Provider", "Request"),
    }
    assert all(hasattr(reenact.testing, name) for name in reenact.testing.__all__)


def test_it_imports_nothing_else_of_reenact() -> None:
    folder = Path(reenact.testing.__file__).parent
    for path in folder.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("from reenact", "import reenact")):
                assert line.startswith("from reenact.testing"), f"{path}: {line}"


def test_calls_are_equal_and_hashed_by_what_they_say() -> None:
    assert {Call("f", {"a": 1, "b": 2}): 1}[Call("f", {"a": 1, "b": 2})] == 1
    assert Call("f", {"a": 1}) != Call("f", {"a": 2})
    assert Say("x") == Say("x")
