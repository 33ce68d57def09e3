"""`reenact dap`, as an editor has it: over its standard streams and over a port, each message checked by the schema."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reenact.testing import Call, ModelServer, Reply, Say, Turn
from tests.debugger.editor import Editor, Message
from tests.runs import Bench, environment, settings

PLAIN = """
import subprocess
import sys

class OverError(Exception):
    pass

def fetch(n):
    command = [sys.executable, "-S", "-c", f"print({n})"]
    return subprocess.run(command, capture_output=True, text=True).stdout

def check(n):
    if n == 5:
        raise OverError("five is too many")
    return n

def main():
    messages = []
    for n in range(7):
        text = fetch(n)
        messages.append({"n": n, "text": text})
        print("fetched", n)
        if n == 3:
            messages[0]["text"] = "corrupted"
        try:
            check(n)
        except OverError:
            pass
    long = list(range(1000))
    print(len(long), "in the end")

main()
"""
ASKS = """
import asyncio

import openai

client = openai.AsyncOpenAI()
tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}]

async def ask(city, messages):
    answer = await client.chat.completions.create(model="any-model", messages=messages, tools=tools)
    said = answer.choices[0].message
    if said.tool_calls:
        messages.append(said.model_dump())
        messages.append({"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "sunny in " + city})
    return said.content

async def visit(city):
    messages = [{"role": "user", "content": "How is " + city + "?"}]
    while not (text := await ask(city, messages)):
        await asyncio.sleep(0.01)
    print(city, text)
    return text

async def main():
    async with asyncio.TaskGroup() as group:
        for city in ("Oslo", "Rome"):
            group.create_task(visit(city), name="visit " + city)

asyncio.run(main())
"""


def line(text: str, program: str = PLAIN) -> int:
    """The line of a program that holds this."""
    return next(at for at, one in enumerate(program.splitlines(), 1) if text in one)


class Desk:
    """Editors that work on the runs of a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.agent = str(bench.folder / "agent.py")
        self.killed = False

    @contextmanager
    def start(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """The server; it has to end by itself."""
        process = subprocess.Popen(
            [self.bench.python, "-m", "reenact", "dap", *options],
            cwd=self.bench.folder,
            env=environment(self.bench.folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            yield process
            assert process.wait(30) == (-signal.SIGKILL if self.killed else 0)
        finally:
            process.kill()
            with process:
                pass

    @contextmanager
    def launched(self, **given: Any) -> Iterator[Editor]:
        """An editor that has launched the last run, and may still be configured."""
        with self.start() as process:
            editor = Editor.of_process(process)
            editor.ask("initialize", adapterID="reenact")
            editor.ask("launch", **{"run": "last", **given})
            editor.event("initialized")
            yield editor
            editor.ask("disconnect")
            editor.gone()
        self.nobody_stays()

    @contextmanager
    def at_entry(self, **given: Any) -> Iterator[Editor]:
        """The same, standing at the first line."""
        with self.launched(stopOnEntry=True, **given) as editor:
            editor.ask("configurationDone")
            assert editor.event("stopped")["reason"] == "entry"
            yield editor

    def stops_at(self, editor: Editor, *lines: int, **given: Any) -> list[Message]:
        wanted = [{"line": one, **given} for one in lines]
        found: list[Message] = editor.ask("setBreakpoints", source={"path": self.agent}, breakpoints=wanted)[
            "breakpoints"
        ]
        return found

    def nobody_stays(self) -> None:
        """No process works in the folder any more."""
        deadline = time.monotonic() + 10
        while left := self._there():
            assert time.monotonic() < deadline, left
            time.sleep(0.05)

    def _there(self) -> list[str]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if str((entry / "cwd").readlink()) == str(self.bench.folder):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


@pytest.fixture
def desk(bench: Bench) -> Desk:
    return Desk(bench)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The run of a program without a model."""
    desk = Desk(Bench(tmp_path_factory.mktemp("plain")))
    run = desk.bench.record(PLAIN)
    assert run.status == 0, run.stderr
    return desk


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The run of an agent with two tasks, each of two steps."""
    desk = Desk(Bench(tmp_path_factory.mktemp("asking")))
    with ModelServer(policy) as server:
        run = desk.bench.record(ASKS, env=settings(server))
    assert run.status == 0, run.stderr
    return desk


def policy(turn: Turn) -> Reply:
    return Say("It is fine.") if turn.results else Call("weather", {})


def top(editor: Editor, thread: int = 1) -> Message:
    frames: list[Message] = editor.ask("stackTrace", threadId=thread)["stackFrames"]
    return frames[0]


def moved(editor: Editor, command: str) -> tuple[str, int]:
    """Moves; why it stands then, and at which line."""
    editor.ask(command, threadId=1)
    stopped = editor.event("stopped")
    return stopped["reason"], top(editor, stopped["threadId"])["line"]


def variables(editor: Editor, frame: Message, scope: str = "Locals") -> dict[str, Message]:
    scopes = editor.ask("scopes", frameId=frame["id"])["scopes"]
    reference = next(one["variablesReference"] for one in scopes if one["name"] == scope)
    return {one["name"]: one for one in editor.ask("variables", variablesReference=reference)["variables"]}


def test_steps_forward_and_back(plain: Desk) -> None:
    with plain.at_entry() as editor:
        plain.stops_at(editor, line("messages = []"))
        assert moved(editor, "continue") == ("breakpoint", line("messages = []"))
        plain.stops_at(editor)
        assert moved(editor, "next") == ("step", line("for n in range(7)"))
        assert moved(editor, "next") == ("step", line("text = fetch(n)"))
        assert moved(editor, "stepIn") == ("step", line("command = "))
        assert moved(editor, "stepOut")[1] in (line("text = fetch(n)"), line("messages.append"))
        assert moved(editor, "stepBack")[0] == "step"
        while top(editor)["line"] != line("messages = []"):
            assert moved(editor, "stepBack")[0] == "step"
        assert "messages" not in variables(editor, top(editor))


def test_a_condition_holds_both_ways(plain: Desk) -> None:
    with plain.at_entry() as editor:
        (told,) = plain.stops_at(editor, line('print("fetched"'), condition="n in (2, 4)")
        assert told["verified"]
        assert told["line"] == line('print("fetched"')
        seen = []
        for command in ("continue", "continue", "reverseContinue", "continue"):
            assert moved(editor, command) == ("breakpoint", told["line"])
            seen.append(variables(editor, top(editor))["n"]["value"])
        assert seen == ["2", "4", "2", "4"]
        assert moved(editor, "continue")[0] == "pause"
        assert "the end of the run" in top(editor)["name"]
        assert moved(editor, "reverseContinue") == ("breakpoint", told["line"])
        assert variables(editor, top(editor))["n"]["value"] == "4"
        said = editor.told()
        assert said.startswith("replaying agent-")
        assert "\nfetched 0\nfetched 1\n" in said
        assert said.count("1000 in the end\n") == 1


def test_what_the_program_writes_is_told_forward_and_not_back(plain: Desk) -> None:
    def written(editor: Editor) -> list[tuple[str, str]]:
        bodies = [one["body"] for one in editor.log if one.get("event") == "output"]
        return [(one["category"], one["output"]) for one in bodies if one["category"] != "console"]

    with plain.at_entry() as editor:
        plain.stops_at(editor, line("   check(n)"), condition="n in (1, 2)")
        moved(editor, "continue")
        assert written(editor) == [("stdout", "fetched 0\nfetched 1\n")]
        moved(editor, "continue")
        moved(editor, "reverseContinue")
        assert written(editor)[1:] == [("stdout", "fetched 2\n")]
        assert "fetched 1" in editor.ask("evaluate", expression="output", context="repl")["result"]
        assert "fetched 2" not in editor.ask("evaluate", expression="output", context="repl")["result"]
        assert "fetched" not in editor.ask("evaluate", expression="j end", context="repl")["result"]
        editor.event("stopped")
        assert "".join(text for _, text in written(editor)[2:]).count("fetched") == 5


def test_a_breakpoint_moves_to_the_next_line_with_code(plain: Desk) -> None:
    with plain.launched() as editor:
        found = plain.stops_at(editor, 1, line("import sys") + 1, 10_000)
        assert [one.get("line") for one in found] == [2, line("class OverError"), None]
        assert [one["verified"] for one in found] == [True, True, False]
        assert found[2]["message"]
        lines = editor.ask("breakpointLocations", source={"path": plain.agent}, line=1, endLine=6)["breakpoints"]
        assert [one["line"] for one in lines] == [2, 3, 5, 6]


def test_counts_hits(plain: Desk) -> None:
    with plain.at_entry() as editor:
        plain.stops_at(editor, line("return n"), hitCondition="3")
        assert moved(editor, "continue") == ("breakpoint", line("return n"))
        assert editor.ask("evaluate", expression="n", frameId=top(editor)["id"])["result"] == "2"


def test_stops_at_exceptions_and_tells_of_them(plain: Desk) -> None:
    with plain.at_entry() as editor:
        editor.ask("setExceptionBreakpoints", filters=["raised"])
        assert moved(editor, "continue") == ("exception", line("raise OverError"))
        info = editor.ask("exceptionInfo", threadId=1)
        assert info["exceptionId"] == "OverError"
        assert "five is too many" in info["description"]
        assert info["breakMode"] == "always"
        editor.ask("setExceptionBreakpoints", filters=["uncaught"])
        assert moved(editor, "continue")[0] == "pause"
        editor.ask(
            "setExceptionBreakpoints", filters=[], filterOptions=[{"filterId": "raised", "condition": "ValueError"}]
        )
        assert moved(editor, "reverseContinue")[0] == "entry"


def test_stops_in_functions(plain: Desk) -> None:
    with plain.at_entry() as editor:
        (told,) = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "check", "condition": "n == 1"}])[
            "breakpoints"
        ]
        assert told["verified"]
        assert moved(editor, "continue") == ("function breakpoint", line("if n == 5"))


def test_a_change_is_found_from_both_sides(plain: Desk) -> None:
    corrupts = line('"corrupted"')
    with plain.at_entry() as editor:
        plain.stops_at(editor, line('print("fetched"'), condition="n == 1")
        moved(editor, "continue")
        messages = variables(editor, top(editor))["messages"]
        info = editor.ask("dataBreakpointInfo", name="[0]", variablesReference=messages["variablesReference"])
        assert info["description"] == "messages[0]"
        (told,) = editor.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])["breakpoints"]
        assert told["verified"]
        plain.stops_at(editor)
        editor.ask("continue", threadId=1)
        stopped = editor.event("stopped")
        assert stopped["reason"] == "data breakpoint"
        assert stopped["hitBreakpointIds"] == [told["id"]]
        assert "corrupted" in stopped["text"]
        assert f"agent.py:{corrupts}" in stopped["text"]
        plain.stops_at(editor, line("in the end"))
        assert moved(editor, "continue") == ("breakpoint", line("in the end"))
        plain.stops_at(editor)
        assert moved(editor, "reverseContinue") == ("data breakpoint", corrupts)
        assert "corrupted" not in variables(editor, top(editor))["messages"]["value"]


def test_values_open_page_by_page(plain: Desk) -> None:
    with plain.at_entry() as editor:
        plain.stops_at(editor, line("in the end"))
        moved(editor, "continue")
        frame = top(editor)
        long = variables(editor, frame)["long"]
        assert long["indexedVariables"] == 1000
        assert long["type"] == "list"
        page = editor.ask("variables", variablesReference=long["variablesReference"], start=990, count=10)["variables"]
        assert [one["name"] for one in page] == [f"[{at}]" for at in range(990, 1000)]
        assert page[-1]["value"] == "999"
        assert page[-1]["evaluateName"] == "long[999]"
        first = editor.ask("variables", variablesReference=long["variablesReference"])["variables"]
        assert first[-1]["value"] == "800 more"
        rest = editor.ask("variables", variablesReference=first[-1]["variablesReference"])["variables"]
        assert rest[0]["name"] == "[200]"
        messages = editor.ask("evaluate", expression="messages", frameId=frame["id"], context="hover")
        (inner,) = editor.ask("variables", variablesReference=messages["variablesReference"], start=0, count=1)[
            "variables"
        ]
        held = editor.ask("variables", variablesReference=inner["variablesReference"])["variables"]
        assert [(one["name"], one["value"], one["evaluateName"]) for one in held] == [
            ("['n']", "0", "messages[0]['n']"),
            ("['text']", "'corrupted'", "messages[0]['text']"),
        ]
        assert "OverError" in variables(editor, frame, "Globals")
        moved(editor, "stepBack")
        assert "gone on" in editor.refused("variables", variablesReference=10_000)


def test_evaluates_and_refuses_what_reaches_outside(plain: Desk) -> None:
    with plain.at_entry() as editor:
        plain.stops_at(editor, line("in the end"))
        moved(editor, "continue")
        frame = top(editor)["id"]
        for context in ("hover", "watch", "repl"):
            assert (
                editor.ask("evaluate", expression="len(messages) * 2", frameId=frame, context=context)["result"] == "14"
            )
        assert "NameError" in editor.refused("evaluate", expression="nothing", frameId=frame)
        assert "refused" in editor.refused("evaluate", expression="fetch(1)", frameId=frame)
        editor.ask("evaluate", expression="messages.clear()", frameId=frame)
        plain.stops_at(editor)
        assert moved(editor, "next")[0] in ("step", "pause")
        assert moved(editor, "stepBack")[0] == "step"
        assert variables(editor, top(editor))["messages"]["indexedVariables"] == 7
        found = editor.ask("completions", text="len(mess", column=9, frameId=frame)["targets"]
        assert found == [{"label": "messages"}]
        assert editor.ask("evaluate", expression="n", frameId=frame, context="repl")["result"] == "6"
        assert "jump, j" in editor.ask("evaluate", expression="help", context="repl")["result"]
        editor.ask("evaluate", expression="when messages[0]", context="repl")
        assert editor.event("continued")
        assert editor.event("stopped")["reason"] == "data breakpoint"
        assert top(editor)["line"] == line('"corrupted"')


def test_tasks_are_threads_and_steps_are_places(asking: Desk) -> None:
    with asking.at_entry() as editor:
        targets = editor.ask("gotoTargets", source={"path": asking.agent}, line=line("chat.completions", ASKS))[
            "targets"
        ]
        steps = [one for one in targets if one["label"].startswith("step ")]
        assert len(steps) == 4
        assert all("any-model" in one["label"] for one in steps)
        third = next(one for one in steps if one["label"].startswith("step 3:"))
        editor.ask("goto", threadId=1, targetId=third["id"])
        stopped = editor.event("stopped")
        assert stopped["reason"] == "goto"
        assert "step 3" in stopped["description"]
        threads = editor.ask("threads")["threads"]
        names = {one["name"].partition(" ·")[0] for one in threads}
        assert {"0 main"} < names
        assert sum(" visit" in name for name in names) == 2
        frames = editor.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
        own = [one["name"] for one in frames if "presentationHint" not in one]
        assert own[:2] == ["ask", "visit"]
        assert any(one.get("presentationHint") == "subtle" for one in frames)
        ask = next(one for one in frames if one["name"] == "ask")
        step = variables(editor, ask, "Step")
        assert step["step"]["value"] == "3"
        assert step["model"]["value"].startswith("any-model of openai")
        assert " in, " in step["tokens"]["value"]
        said = editor.told()
        assert [one in said for one in ("step 1: any-model", "step 2: any-model", "step 4: any-model")] == [
            True,
            True,
            False,
        ]
        assert "calls weather(" in said
        for thread in threads:
            assert editor.ask("stackTrace", threadId=thread["id"])["totalFrames"] >= 1
        editor.ask("evaluate", expression="j 2", context="repl")
        editor.event("continued")
        assert "step 2" in editor.event("stopped")["description"]
        assert "no step 9" in editor.refused("evaluate", expression="j 9", context="repl")
        editor.ask("evaluate", expression="find sunny in Rome", context="repl")
        assert "step " in editor.event("stopped")["description"]


def test_begins_at_a_step(asking: Desk) -> None:
    with asking.launched(step=2) as editor:
        editor.ask("configurationDone")
        stopped = editor.event("stopped")
        assert stopped["reason"] == "entry"
        assert "step 2" in stopped["description"]
        (told,) = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "step 4"}])["breakpoints"]
        assert told["verified"]
        assert moved(editor, "continue")[0] == "function breakpoint"
        (told,) = editor.ask("setFunctionBreakpoints", breakpoints=[{"name": "tool nothing"}])["breakpoints"]
        assert not told["verified"]
        assert "weather" in told["message"]


def test_a_session_may_end_with_the_run(plain: Desk) -> None:
    with plain.launched(stopAtEnd=False) as editor:
        editor.ask("configurationDone")
        assert editor.event("exited")["exitCode"] == 0
        editor.event("terminated")
        assert editor.told().endswith("1000 in the end\n")


def test_goes_on_from_the_end_only_to_end(plain: Desk) -> None:
    with plain.launched() as editor:
        editor.ask("configurationDone")
        assert "end of the run" in editor.event("stopped")["description"]
        editor.ask("continue", threadId=1)
        editor.event("terminated")
        editor.ask("restart")
        assert "end of the run" in editor.event("stopped")["description"]


def test_gives_the_source_of_what_is_no_file(desk: Desk) -> None:
    program = "total = 1\nprint(total)"
    desk.bench.run("-m", "reenact", "record", "-q", "--", sys.executable, "-c", program)
    with desk.at_entry() as editor:
        source = top(editor)["source"]
        assert "path" not in source
        content = editor.ask("source", sourceReference=source["sourceReference"], source=source)["content"]
        assert content == program
        assert "no source" in editor.refused("source", sourceReference=99)


SLOW = """
total = 0
for n in range(60_000):
    total += n
print(total)
"""


def test_what_is_asked_while_it_runs_is_answered(desk: Desk) -> None:
    desk.bench.record(SLOW)
    with desk.at_entry() as editor:
        desk.stops_at(editor, line("total += n", SLOW), condition="n == 5")
        assert moved(editor, "continue")[0] == "breakpoint"
        never = desk.stops_at(editor, line("total += n", SLOW), condition="n == -1")
        assert never[0]["verified"]
        editor.ask("continue", threadId=1)
        assert editor.ask("threads")["threads"] == [{"id": 1, "name": "0 main"}]
        assert "pause it first" in editor.refused("stackTrace", threadId=1)
        assert "pause it first" in editor.refused("next", threadId=1)
        editor.ask("pause", threadId=1)
        assert editor.event("stopped")["reason"] == "pause"
        assert int(editor.ask("evaluate", expression="n", frameId=top(editor)["id"])["result"]) >= 5
        editor.ask("restart")
        editor.event("stopped")
        editor.ask("continue", threadId=1)
        desk.stops_at(editor, line("total += n", SLOW), condition="n == 59_000")
        assert editor.event("stopped")["reason"] == "breakpoint"
        assert editor.ask("evaluate", expression="n", frameId=top(editor)["id"])["result"] == "59000"


def test_a_request_is_taken_back(plain: Desk) -> None:
    with plain.at_entry() as editor:
        frame = top(editor)["id"]
        first = editor.send("evaluate", {"expression": "sum(range(20_000_000))", "frameId": frame})
        second = editor.send("evaluate", {"expression": "1", "frameId": frame})
        editor.ask("cancel", requestId=second)
        assert editor.answer(second)["message"] == "cancelled"
        assert editor.answer(first)["success"]


@pytest.mark.parametrize(
    "arguments", [{"run": "nothing-0000"}, {"run": "last", "step": 7}, {"run": "last", "store": "/nowhere"}, {}]
)
def test_a_launch_that_cannot_be_is_refused(plain: Desk, arguments: Message) -> None:
    with plain.start() as process:
        editor = Editor.of_process(process)
        editor.ask("initialize", adapterID="reenact")
        assert "launched" in editor.refused("threads")
        assert editor.refused("launch", **arguments)
        assert "launch" in editor.refused("attach")
        editor.ask("disconnect")
        editor.gone()


def test_restarts_while_it_runs(desk: Desk) -> None:
    desk.bench.record(SLOW)
    with desk.at_entry() as editor:
        desk.stops_at(editor, line("total += n", SLOW), condition="n == -1")
        editor.ask("continue", threadId=1)
        editor.ask("restart")
        assert editor.event("stopped")["reason"] == "pause"
        assert editor.event("stopped")["reason"] == "entry"
        editor.ask("continue", threadId=1)
        editor.ask("terminate")
        editor.event("terminated")
        editor.ask("continue", threadId=1)


def test_an_editor_that_goes_leaves_nobody(plain: Desk) -> None:
    with plain.start() as process:
        editor = Editor.of_process(process)
        editor.ask("initialize", adapterID="reenact")
        editor.ask("launch", run="last", stopOnEntry=True)
        editor.ask("configurationDone")
        editor.event("stopped")
        assert process.stdin is not None
        process.stdin.close()
    plain.nobody_stays()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("moving", [False, True])
def test_a_server_that_is_killed_leaves_nobody(desk: Desk, number: signal.Signals, moving: bool) -> None:
    desk.bench.record(SLOW)
    with desk.start() as process:
        editor = Editor.of_process(process)
        editor.ask("initialize", adapterID="reenact")
        editor.ask("launch", run="last", stopOnEntry=True)
        editor.event("initialized")
        editor.ask("configurationDone")
        editor.event("stopped")
        if moving:
            desk.stops_at(editor, line("total += n", SLOW), condition="n == -1")
            editor.ask("continue", threadId=1)
        process.send_signal(number)
        desk.killed = number == signal.SIGKILL
    desk.nobody_stays()


def test_serves_editors_at_a_port(plain: Desk, tmp_path: Path) -> None:
    log = tmp_path / "dap.log"
    with plain.start("--port", "0", "--log", str(log)) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(b":")[2])
        editors = []
        for _ in range(2):
            editor, end = Editor.of_port(port)
            editor.ask("initialize", adapterID="reenact")
            editor.ask("launch", run="last", stopOnEntry=True)
            editor.event("initialized")
            editor.ask("configurationDone")
            editor.event("stopped")
            editors.append((editor, end))
        assert moved(editors[0][0], "next") == moved(editors[1][0], "next")
        editors[0][0].ask("disconnect")
        editors[0][0].gone()
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}")
            assert browser.recv(100) == b""
        process.terminate()
        editors[1][0].gone()
        for _, end in editors:
            end.close()
    assert '"command":"disconnect"' in log.read_text()
    plain.nobody_stays()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"seq": 7, "type": "request"}', "no request"),
        (b'{"seq": 7, "type": "response", "command": "x"}', "no request"),
        (b'{"seq": 7, "type": "request", "command": "dance"}', "none of what"),
        (b'{"seq": 7, "type": "request", "command": "launch", "arguments": [1]}', "arguments of launch"),
        (b'{"seq": 7, "type": "request", "command": "launch", "arguments": {"run": 5}}', "arguments of launch"),
    ],
)
def test_what_is_no_request_is_answered_with_why(desk: Desk, body: bytes, told: str) -> None:
    with desk.start() as process:
        editor = Editor.of_process(process)
        editor.raw(body)
        answer = editor.answer(7)
        assert not answer["success"]
        assert told in answer["body"]["error"]["format"]
        editor.raw(b"no JSON at all")
        assert "no request" in editor.event("output")["output"]
        editor.ask("initialize", adapterID="reenact")
        editor.bytes(b"Content-Length: many\r\n\r\n")
        editor.gone()
