"""A command line of the shell, as far as it is plain: where its simple commands begin, and what their words are.

What the shell expands (`$x`, `*.py`) is known only when it runs. POSIX, Shell Command Language, 2.3 and 2.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_OPERATOR = re.compile(r"&&|\|\||;|\|&?|&(?!>)|\n")
_REDIRECTION = re.compile(r"\d*(<>|>>|>\||[<>]&|<|>)|&>>?")
_BLANK = re.compile(r"[ \t]+|\\\n")
_PIECE = re.compile(
    r"""'(?P<single>[^']*)' | "(?P<double>[^"$`\\]*)" | \\(?P<escaped>[^\n]) | (?P<bare>[^\s'"\\;|&<>()$`*?\[~]+)""",
    re.VERBOSE,
)
_EXPANDED = re.compile(
    r"""\$(?:\w+|\{\w+\}|[?$!\#@*-]) | [*?\[~] | (?P<quoted>"(?:[^"`\\$]|\\.|\$\w+|\$\{\w+\})*") """, re.VERBOSE
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_RESERVED = (
    *("!", "{", "}", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in"),
    *("select", "then", "until", "while"),
)


class Word(NamedTuple):
    """A word of a command. In the text of a shell it stands from `at` to `end`; one that the shell expands is None.

    `sets` is NAME where it reads NAME=… and stays one word whatever the shell makes of it.
    """

    value: str | None
    sets: str = ""
    at: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Simple:
    """One command, and the operator that ends it. `sets` are the variables that are set before its words."""

    words: list[Word]
    sets: list[str]
    operator: str


def word(value: str) -> Word:
    """A word that no shell gets to see."""
    return Word(value, value.partition("=")[0] if "=" in value else "")


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
        at += len(simple.operator)
    return found


def _command(text: str, at: int) -> tuple[Simple | None, int]:
    """The command that begins there, and where it ends."""
    at = _after_blanks(text, at)
    words: list[Word] = []
    sets: list[str] = []
    redirected = False
    while at < len(text) and not _OPERATOR.match(text, at):
        redirection = _REDIRECTION.match(text, at)
        if redirection is not None and not text.startswith("<<", at):
            redirected, at = True, _after_blanks(text, redirection.end())
            continue
        found = _word(text, at)
        if found.end == at or (not words and not redirected and found.value in _RESERVED):
            return None, at
        assignment = _ASSIGNMENT.match(text, at)
        if redirected:
            redirected = False
        elif not words and assignment is not None:
            sets.append(assignment[1])
        else:
            words.append(found)
        at = _after_blanks(text, found.end)
    operator = _OPERATOR.match(text, at)
    return Simple(words, sets, operator[0] if operator is not None else ""), at


def _word(text: str, start: int) -> Word:
    """The word that begins there; it ends there, too, if it is none that is understood."""
    at, pieces, expanded, one = start, [], False, True
    nothing = Word(None, "", start, start)
    if text[at] == "#":
        return nothing
    while at < len(text):
        piece = _PIECE.match(text, at)
        unknown = _EXPANDED.match(text, at) if piece is None else None
        if piece is not None:
            pieces.append(next(value for value in piece.groups() if value is not None))
            at = piece.end()
        elif unknown is not None:
            expanded, one = True, one and unknown["quoted"] is not None
            at = unknown.end()
        elif text[at] in " \t\n;|&<>" or text.startswith("\\\n", at):
            break
        else:
            return nothing
    if not expanded:
        return word("".join(pieces))._replace(at=start, end=at)
    assignment = _ASSIGNMENT.match(text, start) if one else None
    return Word(None, assignment[1] if assignment is not None else "", start, at)


def _after_blanks(text: str, at: int) -> int:
    while blank := _BLANK.match(text, at):
        at = blank.end()
    return at
