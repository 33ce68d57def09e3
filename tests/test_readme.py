"""Whatever the pages tell their reader to type works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from types import MappingProxyType

import click
import pytest

from reenact.cli.main import cli
from reenact.engine import normalize
from reenact.launch.settings import Settings
from reenact.testing import ModelServer, Say

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/normalizers.md",
    "docs/errors.md",
    "docs/marks.md",
    "docs/tools.md",
    "ARCHITECTURE.md",
    "SECURITY.md",
)
FIRST_SCREEN = 20  # lines


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def typed(page: str, program: str) -> list[list[str]]:
    """The commands of a page that begin with `program`, without their comments."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line for line in words if line and line[0] == program]


def test_the_first_screen_has_the_two_commands() -> None:
    top = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:FIRST_SCREEN])
    assert "./task demo" in top
    assert "./task test" in top


@pytest.mark.parametrize("page", PAGES)
def test_the_verbs_of_the_task_file_exist(page: str) -> None:
    task = (ROOT / "task").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^(\w+)\)$", task, re.MULTILINE))
    assert {"demo", "test", "check"} <= verbs
    told = (ROOT / page).read_text(encoding="utf-8")
    assert set(re.findall(r"\./task (\w+)", told)) <= verbs


@pytest.mark.parametrize("words", typed("README.md", "reenact"), ids=" ".join)
def test_its_commands_are_understood(words: list[str]) -> None:
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None
    command.make_context(words[1], words[2:])


@pytest.fixture
def model() -> Iterator[dict[str, str]]:
    """The environment in which the examples find a model."""
    with ModelServer(lambda turn: Say(f"The {turn.index}. thing.")) as server:
        yield {"OPENAI_BASE_URL": server.openai, "OPENAI_API_KEY": "any"}


def example(page: str, name: str, folder: Path) -> None:
    """Writes a program of a page, which names itself in its first line."""
    (source,) = (block for block in blocks(page, "python") if block.startswith(f"# {name}\n"))
    (folder / name).write_text(source, encoding="utf-8")


def test_its_commands_do_what_they_say_one_after_the_other(tmp_path: Path, model: dict[str, str]) -> None:
    example("README.md", "agent.py", tmp_path)
    first, *others = typed("README.md", "reenact")
    record = run(first, tmp_path, model)
    assert "thing." in record.stdout
    told = {words[1]: run(words, tmp_path).stdout for words in others}
    assert told["replay"] == record.stdout
    assert "agent-" in told["runs"]
    assert "The 0. thing." in told["show"]
    assert "3 of 3" in told["verify"]
    assert list((tmp_path / ".reenact").glob("*.tape")) == []


def test_its_example_in_code_records_a_function_and_a_block(tmp_path: Path, model: dict[str, str]) -> None:
    example("README.md", "service.py", tmp_path)
    run(["service.py"], tmp_path, model)
    for name in ("answer", "evening"):
        assert "1 of 1" in run(["reenact", "verify", name], tmp_path).stdout
    run(["service.py"], tmp_path, {**model, "REENACT_ENABLED": "false"})
    assert len(list((tmp_path / ".reenact").glob("*.tape"))) == 2
    run(["service.py"], tmp_path, {**model, "REENACT_RECORD": "1"})
    assert "2 of 2" in run(["reenact", "verify", "service"], tmp_path).stdout


def test_the_examples_of_marks_do_what_their_page_says(tmp_path: Path, model: dict[str, str]) -> None:
    page = "docs/marks.md"
    for name in ("team.py", "service.py"):
        example(page, name, tmp_path)
    said = run(["service.py"], tmp_path, model).stdout.splitlines()
    first, shown, one, as_json, session, tag, other = typed(page, "reenact")
    assert first == ["reenact", "record", "team.py"]
    run(first, tmp_path, model)
    tree = run(shown, tmp_path).stdout
    for told in ("[supervisor]", "  [planner] ", "    find flights", "plans the trip", "[supervisor > critic]\nStep "):
        assert told in tree, tree
    planner = run(one, tmp_path).stdout
    assert "[supervisor > planner] find a hotel" in planner
    assert "critic" not in planner
    steps = json.loads(run(as_json[: as_json.index("|")], tmp_path).stdout)["steps"]
    assert sorted(step["agent"] for step in steps) == ["critic", "planner", "planner"]
    assert "3 of 3" in run(["reenact", "verify", "last"], tmp_path).stdout
    for words in (session, tag):
        found = {row["id"] for row in json.loads(run([*words, "--json"], tmp_path).stdout)}
        assert len(found) == 2
        assert all(any(repr(run_id) in line for line in said) for run_id in found)
    run(other, tmp_path, model)
    assert len(json.loads(run([*session, "--json"], tmp_path).stdout)) == 3


def run(words: list[str], cwd: Path, more: Mapping[str, str] = MappingProxyType({})) -> CompletedProcess[str]:
    """Runs a script, or reenact; it has to succeed. Without `more` there is no model to be found."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "REENACT_"))}
    command = [sys.executable, *(["-m", *words] if words[0] == "reenact" else words)]
    done = subprocess.run(
        command, cwd=cwd, env={**env, **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done


@pytest.mark.parametrize("page", ["README.md", "docs/normalizers.md", "docs/marks.md"])
def test_its_settings_are_accepted(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalize, "_imported", lambda _target: lambda request: request)
    found = [Settings(None, tomllib.loads(settings)["tool"]["reenact"]) for settings in blocks(page, "toml")]
    assert found
    for settings in found:
        normalize.load(settings.table)
        assert settings.boundaries or settings.tags or "normalizers" in settings.table
        assert settings.sample in (1, 0.05)


def test_the_example_of_the_model_server_runs(tmp_path: Path) -> None:
    (source,) = (block for block in blocks("README.md", "python") if "ModelServer" in block)
    # in a process of its own: nobody in it closes the client, whose socket is the collector's to find
    (tmp_path / "example.py").write_text(source, encoding="utf-8")
    assert run(["example.py"], tmp_path).stdout == "weather\n"


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_somewhere(page: str) -> None:
    source = ROOT / page
    targets = re.findall(r"\]\(([^)]+)\)", source.read_text(encoding="utf-8"))
    for target in targets:
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        found = source.parent / path if path else source
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}, target
