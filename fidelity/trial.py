"""One program on one interpreter: recorded with the model there, verified with the model gone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fidelity.case import PROGRAMS, SHARED, Case
from fidelity.environment import Environment
from fidelity.policy import policy
from reenact.testing import ModelServer

PATIENCE = 300.0  # seconds after which a program that should have ended is taken to hang


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. `asked` is how often the model was; `changed` are files that the replay has changed.

    `calls` is as the certificate says; `trouble` what went wrong, empty when nothing did.
    """

    asked: int
    calls: str = ""
    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def passed(self) -> bool:
        """Verified, with no effect."""
        return not self.changed and not self.trouble


def run(case: Case, environment: Environment, folder: Path) -> Trial:
    """Records and verifies the program in a new folder with a home of its own."""
    work, home = folder / "work", folder / "home"
    for each in (work, home):
        each.mkdir(parents=True)
    for name in (case.program, *SHARED):
        shutil.copy(PROGRAMS / name, work)
    bare = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "LANG": "C.UTF-8"}
    with ModelServer(policy) as server:
        recorded = _reenact(environment, work, bare | _settings(server), "record", "--quiet", case.program)
        asked = len(server.requests)
    if recorded.returncode != 0 or recorded.stderr.count("reenact:") > 0:
        return Trial(asked, trouble=f"record ended with {recorded.returncode}\n{_end(recorded.stderr)}")
    before = _files(folder)
    verified = _reenact(environment, work, bare, "verify", "last", "--json")
    after = _files(folder)
    changed = tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))
    if verified.returncode not in (0, 1):
        return Trial(asked, trouble=f"verify ended with {verified.returncode}\n{_end(verified.stderr)}")
    said: dict[str, Any] = json.loads(verified.stdout)
    counts = said["boundaries"]
    calls = f"{counts['identical']} of {counts['recorded']}"
    wrong = "" if verified.returncode == 0 else json.dumps(said["divergences"][:1], indent=1)[:2000]
    short = "" if asked == case.steps else f"the model was asked {asked} times, not {case.steps}"
    return Trial(asked, calls, changed, tuple(said["not_restored"]), wrong or short)


def _reenact(
    environment: Environment, work: Path, env: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    command = [str(environment.python), "-m", "reenact", *words]
    try:
        return subprocess.run(
            command, cwd=work, env=dict(env), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"{words[0]} hangs")


def _settings(server: ModelServer) -> dict[str, str]:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    return {
        "OPENAI_BASE_URL": server.openai,
        "OPENAI_API_BASE": server.openai,
        "ANTHROPIC_BASE_URL": server.anthropic,
        "GOOGLE_GEMINI_BASE_URL": server.gemini,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.bedrock,
        "AWS_REGION": "us-east-1",
        **dict.fromkeys(keys, "any"),
    }


def _files(folder: Path) -> dict[str, str]:
    """Every file by its content, less what reenact itself keeps."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and ".reenact" not in path.parts and "__pycache__" not in path.parts
    }


def _end(text: str) -> str:
    return text[-2000:]
