"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import reenact
from reenact import errors
from reenact.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "reenact"
PUBLIC = {"__version__", "agent", "current_run", "record", "session", "step", "tag", "tool"}
LANGUAGE = {"click", "msgspec"}  # what the command line and the values are written in
SEVERAL = {Path("providers/encoding.py")}  # content codings are one noun, and two of them are libraries
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

Imports = dict[str, set[Path]]


@pytest.fixture(scope="module")
def third_party() -> Imports:
    """The files that import each library that is neither ours nor Python's."""
    found: Imports = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            for name in {name.partition(".")[0] for name in names} - {"reenact", *sys.stdlib_module_names}:
                found.setdefault(name, set()).add(path.relative_to(SOURCE))
    return found


DISTRIBUTIONS = {"yaml": "pyyaml", "stdnum": "python-stdnum"}


def test_the_public_names_are_these() -> None:
    assert set(reenact.__all__) == PUBLIC
    assert len(PUBLIC) <= 15
    assert all(hasattr(reenact, name) for name in PUBLIC)


def test_the_version_is_said_once_and_the_same() -> None:
    assert PROJECT["project"]["version"] == reenact.__version__


def test_a_file_imports_one_third_party_library(third_party: Imports) -> None:
    libraries: dict[Path, set[str]] = {}
    for library, paths in third_party.items():
        for path in paths:
            libraries.setdefault(path, set()).add(library)
    assert {path for path, names in libraries.items() if len(names - LANGUAGE) > 1} == SEVERAL


def test_no_library_is_needed_that_is_not_declared(third_party: Imports) -> None:
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.split(r"[^\w-]", line)[0] for lines in lists for line in lines}
    # a seam imports the library that the agent has imported already
    outside = {name for name, paths in third_party.items() if any(path.parts[0] != "seams" for path in paths)}
    assert {DISTRIBUTIONS.get(name, name) for name in outside} - declared == set()


def test_importing_reenact_imports_no_third_party_library() -> None:
    code = "import sys; before = set(sys.modules); import reenact; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} - {"reenact", *sys.stdlib_module_names} == set()


@pytest.mark.parametrize("name", ["replay", "verify", "runs"])
def test_a_command_loads_no_seam_for_itself(name: str) -> None:
    """They belong into the process that replays, and bring an event loop along, which takes longer than all else."""
    code = f"import sys; import reenact.cli.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("reenact.seams")} | (loaded & {"asyncio", "ssl"}) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_module_of_its_own(name: str) -> None:
    command = importlib.import_module(f"reenact.cli.{name}").command
    assert command.help, "what it does is told by --help"


def test_every_error_has_a_section_in_the_docs() -> None:
    for module in pkgutil.walk_packages([str(SOURCE)], "reenact."):
        if not module.name.endswith(("__main__", "_hook")):
            importlib.import_module(module.name)
    slugs = {kind.slug for kind in (*_below(errors.ReenactError), *_below(errors.DivergenceError))}
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (\S+)$", page, re.MULTILINE)) == slugs


def _below(kind: type) -> list[type]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in _below(child))]


def test_the_page_about_the_tape_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("write_tape_page", ROOT / "docs" / "write_tape_page.py")
    assert spec is not None
    assert spec.loader is not None
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    assert writer.PAGE.read_text(encoding="utf-8") == writer.page(), "run: ./task docs"


@pytest.mark.parametrize("name", ["dev", "demo"])
def test_the_lock_holds_the_pins_with_hashes_and_names_no_index(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE))
    groups = PROJECT["dependency-groups"]
    pins = dict(pin.split("==") for group in ("build", "test", "check", "bench") for pin in groups[group])
    wanted = pins if name == "dev" else {name: pin for name, pin in pins.items() if name in locked}
    assert wanted.items() <= locked.items()
    assert text.count("--hash=sha256:") >= len(locked)
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@ file", text)


@pytest.mark.parametrize(("asked", "loaded"), [({}, False), ({"REENACT_RECORD": "0"}, True)])
def test_the_hook_loads_nothing_unless_the_environment_asks(asked: dict[str, str], loaded: bool) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("REENACT_")}
    code = "import sys; print('reenact._hook' in sys.modules, 'reenact' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**env, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(loaded)] * 2
