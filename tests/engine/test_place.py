"""Where a call comes from: the agent's own line, never the library's, and the same name on every machine."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import typing
from pathlib import Path
from types import ModuleType

import httpx
import pytest

import reenact.engine.session
from reenact import _real
from reenact.engine import place
from reenact.engine.place import Place, agent_place, is_library, name_of


def here() -> Place | None:
    return agent_place(_real.getframe(1))


def run(source: str, filename: str, module: str, **names: object) -> dict[str, typing.Any]:
    """The names that a source text defines, run as if it stood in that file and module."""
    space: dict[str, typing.Any] = {"__name__": module, **names}
    exec(compile(source, filename, "exec"), space)
    return space


@pytest.mark.parametrize(
    "path",
    [
        json.__file__,
        threading.__file__,
        httpx.__file__,
        reenact.engine.session.__file__,
        "/home/a/venv/lib/python3.12/site-packages/openai/_client.py",
        "/usr/lib/python3/dist-packages/requests/api.py",
        "C:\\Users\\a\\venv\\Lib\\site-packages\\openai\\_client.py",
        "<frozen importlib._bootstrap>",
    ],
)
def test_a_file_of_a_library_is_known(path: str) -> None:
    assert is_library(path)


@pytest.mark.parametrize(
    "path",
    [__file__, "/home/a/agent.py", "agent.py", "<string>", "<stdin>", "/home/a/json/__init__.py", "/srv/site/a.py"],
)
def test_a_file_of_the_agents_own_is_known(path: str) -> None:
    assert not is_library(path)


def test_the_innermost_line_of_the_agent_is_taken() -> None:
    space = run(
        "def outer(): return inner()\ndef inner():\n    return here()\n", "/home/a/agent.py", "agent", here=here
    )
    assert space["outer"]() == Place("/home/a/agent.py", 3, "agent:inner")


def test_lines_of_libraries_are_passed_over() -> None:
    library = run("def get(): return here()", "/v/site-packages/sdk.py", "sdk", here=here)
    space = run("\ndef ask():\n    return get()\n", "/home/a/agent.py", "agent", get=library["get"])
    assert space["ask"]() == Place("/home/a/agent.py", 3, "agent:ask")


def test_a_callback_from_a_library_is_the_agents() -> None:
    found: list[Place | None] = []
    json.loads("{}", object_hook=lambda _pairs: found.append(here()))
    (place,) = found
    assert place is not None
    assert place.file == __file__
    assert place.function.endswith("test_a_callback_from_a_library_is_the_agents.<locals>.<lambda>")


def test_a_stack_without_a_line_of_the_agent_has_none() -> None:
    library = run("def get(): return here()", "/v/site-packages/sdk.py", "sdk", here=here)
    found: list[object] = []
    # from a thread, whose stack has nothing of this test on it
    thread = threading.Thread(
        target=run("def go(): add(get())", "/v/site-packages/b.py", "b", add=found.append, **library)["go"]
    )
    thread.start()
    thread.join()
    assert found == [None]
    assert agent_place(None) is None


def test_the_line_that_turns_the_loop_is_not_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the loop the stack belongs to whoever called `asyncio.run`, whatever task is running."""
    monkeypatch.setattr(place, "BOTTOM", {})
    place.is_bottom(asyncio.base_events.BaseEventLoop._run_once.__code__)  # type: ignore[attr-defined]
    library = run("async def get(): return here()", "/v/site-packages/sdk.py", "sdk", here=here)

    async def main() -> object:
        return await asyncio.create_task(library["get"]())

    assert asyncio.run(main()) is None


def test_a_coroutine_of_the_agent_that_awaits_a_library_is_found() -> None:
    library = run("async def get(): return here()", "/v/site-packages/sdk.py", "sdk", here=here)
    space = run("async def ask():\n    return await get()\n", "/home/a/agent.py", "agent", get=library["get"])
    assert asyncio.run(space["ask"]()) == Place("/home/a/agent.py", 2, "agent:ask")


SOURCE = """
def plain(): return frame()
class Planner:
    def step(self): return frame()
    async def later(self): return frame()
    many = staticmethod(lambda: [frame() for _ in "x"][0])
def outer():
    def inner(): return frame()
    return inner()
"""


def names(module: str) -> list[str]:
    space = run("\n" * len(module) + SOURCE, f"/{module}/x.py", module, frame=lambda: name_of(_real.getframe(1)))
    planner = space["Planner"]()
    return [space["plain"](), planner.step(), asyncio.run(planner.later()), space["outer"]()]


def test_a_place_is_named_by_module_and_qualified_name() -> None:
    assert names("agent.plan") == [
        "agent.plan:plain",
        "agent.plan:Planner.step",
        "agent.plan:Planner.later",
        "agent.plan:outer.<locals>.inner",
    ]


def test_a_frame_without_a_module_has_a_name() -> None:
    space: dict[str, typing.Any] = {"frame": lambda: name_of(_real.getframe(1))}
    exec(compile("def lost(): return frame()", "<string>", "exec"), space)
    assert space["lost"]() == "?:lost"


def test_a_name_does_not_depend_on_where_the_program_lies(tmp_path: Path) -> None:
    told = []
    for folder in ("one", "another/deeper"):
        path = tmp_path / folder / "agent.py"
        path.parent.mkdir(parents=True)
        path.write_text(
            "import sys\nfrom reenact.engine.place import agent_place\nprint(agent_place(sys._getframe()).function)\n"
        )
        told.append(subprocess.run([sys.executable, path], capture_output=True, text=True, check=True).stdout)
    assert told == ["__main__:<module>\n"] * 2


def test_two_modules_of_one_source_keep_their_names() -> None:
    """The names are remembered by code object, which two modules never share."""
    one, two = (ModuleType(name) for name in ("one", "two"))
    for module in (one, two):
        exec(
            "def f(): return name_of(getframe())",
            {**vars(module), "name_of": name_of, "getframe": _real.getframe},
            vars(module),
        )
    assert [module.f() for module in (one, two)] == ["one:f", "two:f"]
