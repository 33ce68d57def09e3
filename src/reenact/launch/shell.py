"""A command line of the shell, as far as it is plain: where its simple commands begin, and what their words are.

What the shell expands (`$x`, `*.py`) is known only when it runs. POSIX, Shell Command Language, 2.3 and 2.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPERATOR = re.compile(r"&&|\|\||;|\|&?|&(?!>)|\n")
_REDIRECTION = re.compile(r"\d*(<>|>>|>\||[<>]&|<|>)|&>>?")
_BLANK = re.compile(r"[ \t]+|\\\n")
_PIECE = re.compile(
    r"""'(?P<single>[^']*)' | "(?P<double>[^"$`\\]*)" | \\(?P<escaped>[^\n]) | (?P<bare>[^\s'"\\;|&<>()$`*?\[~]+)""",
    re.VERBOSE,
)
_EXPANDED = re.compile(r"""\$(?:\w+|\{\w+\}|[?$!\#@*-]) | [*?\[~] | "(?:[^"`\\$]|\\.|\$\w+|\$\{\w+\})*" """, re.VERBOSE)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_RESERVED = frozenset(
    "! { } [[ case coproc do done elif else esac fi for function if in select then time until while".split()  # noqa: SIM905  as one writes them
)


@dataclass(frozen=True, slots=True)
class Simple:
    """One command. It begins `at` that character; a word that the shell expands is None. `sets` are variables."""

    at: int
    words: list[str | None]
    sets: list[str]


def commands(text: str) -> list[Simple] | None:
    """The simple commands of `text`, in their order; None where it has anything that is not plain."""
    found: list[Simple] = []
    at = 0
    while at < len(text):
        simple, at = _command(text, at)
        if simple is None:
            return None
        if simple.words or simple.sets:
            found.append(simple)
        operator = _OPERATOR.match(text, at)
        at = operator.end() if operator is not None else at
    return found


def _command(text: str, at: int) -> tuple[Simple | None, int]:
    """The command that begins there, and where it ends."""
    at = _after_blanks(text, at)
    simple, redirected = Simple(at, [], []), False
    while at < len(text) and not _OPERATOR.match(text, at):
        redirection = _REDIRECTION.match(text, at)
        if redirection is not None and not text.startswith("<<", at):
            redirected, at = True, _after_blanks(text, redirection.end())
            continue
        word, end = _word(text, at)
        if end == at or (not simple.words and not redirected and word in _RESERVED):
            return None, at
        if redirected:
            redirected = False
        elif not simple.words and _ASSIGNMENT.match(text, at):
            simple.sets.append(text[at:end].partition("=")[0])
        else:
            simple.words.append(word)
        at = _after_blanks(text, end)
    return simple, at


def _word(text: str, at: int) -> tuple[str | None, int]:
    """The word that begins there, and where it ends: there, if it is none that is understood."""
    start, pieces, expanded = at, [], False
    if text[at] == "#":
        return None, start
    while at < len(text):
        piece = _PIECE.match(text, at)
        unknown = _EXPANDED.match(text, at) if piece is None else None
        if piece is not None:
            pieces.append(next(value for value in piece.groups() if value is not None))
        elif unknown is not None:
            expanded = True
        elif text[at] in " \t\n;|&<>" or text.startswith("\\\n", at):
            break
        else:
            return None, start
        at = (piece or unknown).end()  # type: ignore[union-attr]  # one of them is there
    return (None if expanded else "".join(pieces)), at


def _after_blanks(text: str, at: int) -> int:
    while blank := _BLANK.match(text, at):
        at = blank.end()
    return at
