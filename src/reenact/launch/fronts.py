"""What stands in front of a program in a command line (`env`, `timeout 10`, `bash -c`, `uv run`), and what is behind.

Nothing is started to find out. Options are those of the GNU tools and of util-linux, and of what the runners of Python
projects tell of themselves; where one is not known, nothing behind it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from reenact.launch import command
from reenact.launch.shell import Word

SHELLS = ("sh", "bash", "dash", "ksh", "zsh")

ALL = range(-128, 256)
"""Exit statuses of a child that are those of the Python in it, where nothing stands in front."""

NONE, OF_SHELL, _BELOW_TIMEOUT = range(0), range(129), range(124)
DECIDE = ("PATH", "PYTHONHASHSEED", "PYTHONHOME", "LC_CTYPE", "REENACT_")
"""How variables begin by which another Python is started, or in another way than we know here."""

_METADATA = re.compile(rb"(?m)^# /// script\s*$")  # PEP 723

NOT_SEEN = "what `{name}` starts is not seen through"
OPTION_UNKNOWN = "an option of `{name}` in front of it is not known"
EXPANDED = "what stands in front of it in the command line is known to the shell alone"
NOT_IN_RUNNER = "`{name}` starts it by a way of its own; with `{name} python …` it would be recorded"
NO_ENVIRONMENT = "which Python `uv run` starts is not known: there is no environment yet"
OWN_ENVIRONMENT = "`{name}` makes an environment of its own for it"
NOT_PLAIN = "its command line is not plain enough to find it"


class Options(msgspec.Struct, frozen=True):
    """The options of a program: letters and names that stand alone, and those with a value."""

    plain: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()

    def end(self, words: Sequence[Word], at: int) -> tuple[int, dict[str, str]] | None:
        """Where the options that begin there end, and what they are; None where one is not known."""
        given: dict[str, str] = {}
        while at < len(words):
            text = words[at].value
            if text is None:
                return None if not words[at].sets else (at, given)
            if text in ("", "-") or text[0] != "-":
                break
            if text == "--":
                return at + 1, given
            names, value = self._read(text)
            if names is None:
                return None
            at += 1
            if value is None:
                value = words[at].value if at < len(words) else None
                if value is None:
                    return None
                at += 1
            given.update(dict.fromkeys(names[:-1], ""), **{names[-1]: value})
        return at, given

    def _read(self, text: str) -> tuple[list[str] | None, str | None]:
        """The options in a word, and the value of the last; None where that is the next word."""
        if text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            if name in self.long_valued:
                return [name], value if equals else None
            return ([name], value) if name in self.long else (None, "")
        for index, letter in enumerate(text[1:], 1):
            if letter in self.valued:
                return [*text[1 : index + 1]], text[index + 1 :] or None
            if letter not in self.plain:
                return None, ""
        return [*text[1:]], ""


class Front(msgspec.Struct, frozen=True):
    """A program that does no more than start another, with its own environment.

    `own` words of it stand before that one's. `statuses` are the exit statuses that it has from it.
    """

    options: Options
    own: int = 0
    statuses: range = ALL


_ENV = Options(
    "i0",
    "uC",
    frozenset({"ignore-environment", "null", "block-signal", "default-signal", "ignore-signal"}),
    frozenset({"unset", "chdir"}),
)
_TIME = Options("apq", "fo", frozenset({"append", "portability", "quiet"}), frozenset({"format", "output"}))
_FRONTS = {
    "nohup": Front(Options()),
    "nice": Front(Options("0123456789", "n", long_valued=frozenset({"adjustment"}))),
    "ionice": Front(Options("t", "cn", frozenset({"ignore"}), frozenset({"class", "classdata"}))),
    "taskset": Front(Options("ac", long=frozenset({"all-tasks", "cpu-list"})), own=1),
    "stdbuf": Front(Options("", "ioe", long_valued=frozenset({"input", "output", "error"}))),
    "timeout": Front(
        Options("fp", "ks", frozenset({"foreground", "preserve-status"}), frozenset({"kill-after", "signal"})),
        own=1,
        statuses=_BELOW_TIMEOUT,
    ),
    "time": Front(_TIME, statuses=OF_SHELL),
    # it goes on at once, without waiting, where it has to fork
    "setsid": Front(Options("cfw", long=frozenset({"ctty", "fork", "wait"})), statuses=NONE),
}
_BUILT_IN = {"exec": Options(), "command": Options("vV"), "time": Options("p")}
_SHELL = Options("cefhlmuB", "oO", frozenset({"norc", "noprofile", "posix", "login"}))
_SHOWS_COMMANDS = ("xtrace", "verbose")
_STARTERS = (
    *("sudo", "doas", "su", "runuser", "xargs", "parallel", "find", "watch", "strace", "ltrace", "perf", "valgrind"),
    *("gdb", "script", "unbuffer", "flock", "chroot", "unshare", "nsenter", "systemd-run", "docker", "podman", "ssh"),
    *("conda", "mamba", "micromamba", "pixi", "rye", "tox", "nox", "make", "chrt", "entr", "busybox"),
)

_UV_PLAIN = (
    "all-extras no-dev only-dev no-default-groups all-groups module no-editable exact no-env-file isolated active "
    "no-sync locked frozen script all-packages no-project no-index upgrade no-sources reinstall compile-bytecode "
    "no-build-isolation no-build no-binary require-build-hashes no-require-build-hashes no-cache refresh "
    "managed-python no-managed-python no-python-downloads quiet system-certs offline no-progress no-config native-tls "
    "no-color dev"
)
_UV_VALUED = (
    "extra no-extra group no-group only-group no-editable-package env-file with with-editable with-requirements "
    "package python-platform index default-index index-url extra-index-url find-links index-strategy keyring-provider "
    "upgrade-package upgrade-group resolution prerelease prerelease-package fork-strategy exclude-newer "
    "exclude-newer-package no-sources-package reinstall-package link-mode config-setting config-settings-package "
    "no-build-isolation-package no-build-package no-binary-package cache-dir refresh-package python color "
    "allow-insecure-host directory project config-file python-preference"
)
_UV = Options("msUnq", "wifPCp", frozenset(_UV_PLAIN.split()), frozenset(_UV_VALUED.split()))
_RUNNERS = {
    "poetry": Options(
        "qnP",
        "C",
        frozenset({"quiet", "no-interaction", "no-ansi", "no-cache", "no-plugins"}),
        frozenset({"directory"}),
    ),
    "pdm": Options("qns", "pc", frozenset({"quiet", "site-packages"}), frozenset({"project", "config", "venv"})),
    "hatch": Options(
        "q", "ep", frozenset({"quiet", "no-color"}), frozenset({"env", "project", "data-dir", "cache-dir"})
    ),
    "pipenv": Options("q", "", frozenset({"quiet", "site-packages"}), frozenset({"python"})),
}
_IN_ENVIRONMENTS_OF_THEIR_OWN = ("uvx", "pipx")


class Seen(msgspec.Struct):
    """What is behind all that stands in front.

    `at` is where its words begin, and `words` are those in front and its own. Variables that it is to have are given
    `since`: to the command as a whole at 0, else before that word; `within_env` says that those there are of `env`.
    `sure`: that the name means what it means here. `text` is the word that is the command line of `shell`, -1 for none.
    `runner`: one of those that start what belongs to a project is in front. `python`: it is started as `python` and
    these words. `why` says why nothing behind is known. `statuses` are as of `Front`.
    """

    words: Sequence[Word]
    cwd: str
    search: str
    at: int = 0
    since: int = 0
    within_env: bool = False
    sure: bool = True
    shell: int = -1
    text: int = -1
    statuses: range = ALL
    why: str = ""
    runner: bool = False
    python: bool = False

    @property
    def own(self) -> list[str]:
        """The words of what is behind; what the shell expands is empty."""
        name = ["python"] if self.python else []
        return [*name, *(word.value or "" for word in self.words[self.at :])]

    @property
    def shown(self) -> list[str]:
        """What the shell is called, and what it calls itself where that is another name."""
        return [word.value or "" for word in (self.words[self.shell], *self.words[self.text + 1 : self.text + 2])]


def behind(words: Sequence[Word], cwd: str, env: dict[str, str], *, line: bool = False) -> Seen:
    """What these words start in the end. `line`: they are in a command line of a shell."""
    seen = Seen(words, cwd, env.get("PATH", os.defpath))
    while not seen.why and seen.at < len(words):
        name = words[seen.at].value
        further = _step(seen, Path(name).name, env, line=line) if name is not None else _unknown(seen, "")
        if not further:
            break
    return seen


def _step(seen: Seen, name: str, env: dict[str, str], *, line: bool) -> bool:
    """Goes past one program; False where there is none to go past."""
    if line and seen.at == 0 and name in _BUILT_IN:
        return _past(seen, name, _BUILT_IN[name], given_before=False)
    if name == "env":
        return _env(seen)
    if name in _FRONTS:
        front = _FRONTS[name]
        return _past(seen, name, front.options, front.own, front.statuses)
    if name in SHELLS:
        return _shell(seen, name, env)
    if name == "uv" or name in _RUNNERS:
        return _runner(seen, name, env)
    if name in _IN_ENVIRONMENTS_OF_THEIR_OWN:
        return _stop(seen, OWN_ENVIRONMENT.format(name=name))
    if name in _STARTERS and any(_names_python(word) for word in seen.words[seen.at + 1 :]):
        return _stop(seen, NOT_SEEN.format(name=name))
    return False


def _stop(seen: Seen, why: str) -> bool:
    seen.why = why
    return False


def _past(
    seen: Seen, name: str, options: Options, own: int = 0, statuses: range = ALL, *, given_before: bool = True
) -> bool:
    """Past a program with these options. Not `given_before`: what is given before it does not reach what is behind."""
    found = options.end(seen.words, seen.at + 1)
    if found is None:
        return _unknown(seen, name)
    at, given = found
    if name == "setsid" and not {"w", "wait"}.isdisjoint(given):
        statuses = OF_SHELL
    if any(word.value is None for word in seen.words[at : at + own]):
        return _unknown(seen, name)
    if not {"v", "V"}.isdisjoint(given):
        own = len(seen.words)  # `command -v` asks where it is, and starts nothing
    seen.at = at + own
    seen.statuses = both(seen.statuses, statuses)
    if not given_before:
        seen.since, seen.within_env = seen.at, False
    return seen.at < len(seen.words)


def _unknown(seen: Seen, name: str) -> bool:
    """Nothing is known of what is behind, which is told where that looks like a Python."""
    if not any(map(_names_python, seen.words[seen.at + 1 :])):
        return False
    expanded = any(word.value is None for word in seen.words[seen.at :])
    return _stop(seen, EXPANDED if expanded else OPTION_UNKNOWN.format(name=name))


def _env(seen: Seen) -> bool:
    found = _ENV.end(seen.words, seen.at + 1)
    if found is None:
        return _unknown(seen, "env")
    at, given = found
    others = not {"i", "ignore-environment", "u", "unset"}.isdisjoint(given)
    if _value(seen.words, at) == "-":
        at, others = at + 1, True
    seen.sure = seen.sure and not others
    seen.cwd = os.path.join(seen.cwd, given.get("C", given.get("chdir", "")))  # noqa: PTH118  it is text
    while at < len(seen.words) and seen.words[at].sets:
        seen.sure = seen.sure and not seen.words[at].sets.startswith(DECIDE)
        at += 1
    seen.at = seen.since = at
    seen.within_env = True
    return at < len(seen.words)


def _shell(seen: Seen, name: str, env: dict[str, str]) -> bool:
    """A shell that is given its command line."""
    found = _SHELL.end(seen.words, seen.at + 1)
    if found is None or found[1].get("o") in _SHOWS_COMMANDS:
        told = any(mentions_python(word.value or "") for word in seen.words[seen.at + 1 :])
        return _stop(seen, OPTION_UNKNOWN.format(name=name)) if told else False
    at, given = found
    if "c" not in given or at >= len(seen.words):
        return False
    seen.sure = seen.sure and not reads_first(name, env) and {"l", "login"}.isdisjoint(given)
    seen.statuses = both(seen.statuses, OF_SHELL)
    seen.shell, seen.text = seen.at, at
    return False


def _runner(seen: Seen, name: str, env: dict[str, str]) -> bool:
    """`uv run` and its like: which Python they start is known when they have started it."""
    options = _UV if name == "uv" else _RUNNERS[name]
    at, given = options.end(seen.words, seen.at + 1) or (-1, {})
    if at < 0:
        return _unknown(seen, name)
    verb = [_value(seen.words, at), _value(seen.words, at + 1)]
    if verb[0] != "run":
        return _stop(seen, OWN_ENVIRONMENT.format(name="uv tool run")) if verb == ["tool", "run"] else False
    at, further = options.end(seen.words, at + 1) or (-1, {})
    if at < 0:
        return _unknown(seen, name)
    first = _value(seen.words, at)
    if first is None:
        return False
    seen.at = seen.since = at
    seen.sure, seen.runner, seen.within_env = False, True, False
    seen.statuses = both(seen.statuses, OF_SHELL)
    seen.cwd = os.path.join(seen.cwd, given.get("directory", ""))  # noqa: PTH118  it is text
    if Path(first).name in (*_FRONTS, *SHELLS, "env"):
        return True
    why = _why_not_by_uv(seen, first, given | further, env) if name == "uv" else ""
    if name != "uv" and not command.names_interpreter(first):
        why = NOT_IN_RUNNER.format(name=f"{name} run")
    return _stop(seen, why) if why else True


def _why_not_by_uv(seen: Seen, first: str, given: dict[str, str], env: dict[str, str]) -> str:
    """Why what `uv run` starts by that first word does not join. It is changed to words that are Python's own."""
    project = Path(seen.cwd, given.get("project", ""))
    environments = list(_environments(project, env, project="no-project" not in given))
    seen.python = "m" in given or first.lower().endswith(".py")
    if "m" in given:
        seen.at = seen.since = seen.at - 1  # the -m that is before it is for Python, too
    elif seen.python and _needs_its_own(Path(seen.cwd, first)):
        return OWN_ENVIRONMENT.format(name="uv run")
    elif not seen.python and not command.names_interpreter(first):
        there = any(command.is_script(folder / "bin" / first) for folder in environments)
        return "" if there else NOT_IN_RUNNER.format(name="uv run")
    if not {"s", "script", "module"}.isdisjoint(given) or (seen.python and "m" in given) != (seen.own[1:2] == ["-m"]):
        return NOT_IN_RUNNER.format(name="uv run")
    return NO_ENVIRONMENT if not environments and {"with", "w", "isolated"}.isdisjoint(given) else ""


def _environments(cwd: Path, env: dict[str, str], *, project: bool) -> Iterator[Path]:
    """The virtual environments that `uv run` may take, or make, there."""
    for folder in (cwd, *cwd.parents):
        if (folder / ".venv" / "pyvenv.cfg").is_file() or (project and (folder / "pyproject.toml").is_file()):
            yield folder / ".venv"
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT"):
        if env.get(name):
            yield Path(cwd, env[name])


def _needs_its_own(script: Path) -> bool:
    """Whether a script says what it needs, for which `uv run` makes an environment; or cannot be looked at."""
    try:
        return _METADATA.search(script.read_bytes()) is not None
    except OSError:
        return True


def _value(words: Sequence[Word], at: int) -> str | None:
    return words[at].value if at < len(words) else None


def _names_python(word: Word) -> bool:
    return word.value is not None and command.names_interpreter(word.value)


def reads_first(shell: str, env: dict[str, str]) -> bool:
    """Whether a shell of that name reads a file before its command line, which may say what `python` is."""
    return shell == "zsh" or (shell == "bash" and bool(env.get("BASH_ENV")))


def both(one: range, other: range) -> range:
    """What is in both."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def mentions_python(text: str) -> bool:
    """Whether a text may have to do with a Python."""
    return "python" in text
