"""`python -m tests.debugger.dap_session`: writes the session of docs/dap.md, of the agent that docs/debug.md has."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from reenact.testing import ModelServer
from tests.debugger.editor import Editor, Message
from tests.runs import Bench, environment, settings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "dap.md"
SESSION = re.compile(r"(?<=<!-- session -->\n).*(?=<!-- end of session -->)", re.DOTALL)
LONGEST = 330


def transcript() -> str:
    """What an editor and the server say to each other."""
    agent = runpy.run_path(str(DOCS / "write_debug_page.py"))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder).resolve())
        with ModelServer(agent["_answer"]) as server:
            bench.record(agent["AGENT"], env=settings(server))
        command = [sys.executable, "-m", "reenact", "dap"]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=bench.folder, env=environment(bench.folder), stdin=pipe, stdout=pipe
        ) as process:
            editor = Editor.of_process(process)
            _drive(editor, str(bench.folder / "agent.py"), agent["AGENT"])
            editor.gone()
        said = "".join(_said(message).replace(str(bench.folder), "/home/ada") for message in editor.log)
        said = re.sub(r"agent-[0-9a-f]{4}", "agent-7f3a", said.replace(sys.executable, "/home/ada/venv/bin/python"))
        return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1", said)


def _drive(editor: Editor, path: str, source: str) -> None:
    def line(text: str) -> int:
        return next(at for at, one in enumerate(source.splitlines(), 1) if text in one)

    def stopped() -> Message:
        editor.event("stopped")
        frames: list[Message] = editor.ask("stackTrace", threadId=1, levels=2)["stackFrames"]
        return frames[0]

    editor.ask("initialize", adapterID="reenact")
    editor.ask("launch", run="last")
    editor.event("initialized")
    wanted = [{"line": line("message = reply"), "condition": "len(messages) > 6"}]
    editor.ask("setBreakpoints", source={"path": path}, breakpoints=wanted)
    editor.ask("configurationDone")
    frame = stopped()
    scopes = editor.ask("scopes", frameId=frame["id"])["scopes"]
    for scope in (scopes[0], scopes[-1]):
        editor.ask("variables", variablesReference=scope["variablesReference"])
    found = editor.ask("evaluate", expression="messages[1]", frameId=frame["id"], context="hover")
    info = editor.ask("dataBreakpointInfo", name="['content']", variablesReference=found["variablesReference"])
    editor.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
    editor.ask("reverseContinue", threadId=1)
    frame = stopped()
    editor.ask("evaluate", expression='messages[1]["content"]', frameId=frame["id"], context="watch")
    editor.ask("stepBack", threadId=1)
    frame = stopped()
    editor.ask("evaluate", expression="len(messages)", frameId=frame["id"], context="repl")
    editor.ask("evaluate", expression="j 1", frameId=frame["id"], context="repl")
    editor.event("stopped")
    editor.ask("disconnect")


def _said(message: Message) -> str:
    match message["type"]:
        case "request":
            return f"→ {message['command']}{_shown(message.get('arguments'))}\n"
        case "response":
            return f"← {message['command']}{_shown(message.get('body'))}\n"
        case _:
            return f"! {message['event']}{_shown(message.get('body'))}\n"


def _shown(body: Any) -> str:
    text = json.dumps(body, ensure_ascii=False) if body else ""
    return "" if not text else f" {text if len(text) <= LONGEST else text[:LONGEST] + '…'}"


def write() -> None:
    """Puts it into the page."""
    page = PAGE.read_text(encoding="utf-8")
    session = f"```\n{transcript()}```\n"
    PAGE.write_text(SESSION.sub(lambda _: session, page), encoding="utf-8")


if __name__ == "__main__":
    write()
