"""The environments that frameworks run in: pinned, with this checkout of reenact in them, kept between runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = Path(__file__).parent / "environments"
_ASK = "import importlib.metadata as m, sys; print(*(m.version(name) for name in sys.argv[1:]), sep='\\n')"


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtual environment. `python` is its interpreter."""

    name: str
    python: Path

    def versions(self, *packages: str) -> list[str]:
        """Their versions."""
        done = subprocess.run([self.python, "-c", _ASK, *packages], check=True, capture_output=True, text=True)
        return done.stdout.split()


def make(name: str, base: Path, folder: Path) -> Environment:
    """The environment `environments/NAME.txt` on the interpreter `base`; what is there already is used again.

    All but reenact: that is installed anew, so that what is tried is always this checkout as it is.

    Raises:
        subprocess.CalledProcessError: something cannot be installed.
    """
    lock = LOCKS / f"{name}.txt"
    home = folder / f"{name}-{base.parent.parent.name}"
    stamp, python = home / "set-up", home / "bin" / "python"
    wanted = lock.read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        sys.stderr.write(f"fidelity: installing {lock.name} for {base}\n")
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([str(base), "-m", "venv", str(home)], check=True)
        _install(python, "--require-hashes", "-r", str(lock))
        stamp.write_text(wanted, encoding="utf-8")
    _install(python, "--no-deps", "--force-reinstall", str(ROOT))
    return Environment(name, python)


def _install(python: Path, *words: str) -> None:
    """By uv, which is many times quicker; by pip where uv does not get at the packages that pip is set up to find."""
    uv = [sys.executable, "-m", "uv", "--quiet", "--system-certs", "pip", "install", "--python", str(python), *words]
    env = {**os.environ, "UV_HTTP_TIMEOUT": "15", "UV_HTTP_RETRIES": "1"}
    if subprocess.run(uv, env=env, stderr=subprocess.DEVNULL, check=False).returncode:
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([str(python), *pip, *words], check=True)
