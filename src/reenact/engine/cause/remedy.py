"""The normalizer to offer for a leak."""

from __future__ import annotations

import re

import msgspec

from reenact.diff.change import Change, Mark, Part
from reenact.diff.pointer import steps
from reenact.engine.cause.pattern import Leak
from reenact.engine.cause.scene import Scene
from reenact.engine.divergence import Request
from reenact.engine.normalize import SHIPPED_NAMES


def normalizer(leak: Leak, change: Change, pair: tuple[str, str], scene: Scene) -> str:
    """An entry of pyproject.toml that takes the leak out of both sides; "" where none can be offered."""
    name = next((step for step in reversed(steps(change.pointer)) if not step.isdecimal()), leak.slug)
    if not isinstance(scene.actual, Request) or change.part not in (Part.BODY, Part.HEADER, Part.QUERY):
        return ""
    if change.part is not Part.BODY:
        line = f"{change.part.value} = {_toml(name)}"
    elif change.pointer and scene.document is None:
        return ""  # a form field: its text stands encoded in the body
    elif pair == (change.before, change.after) and change.pointer:
        path = "/".join("*" if step.isdecimal() else step for step in change.pointer.split("/"))
        line = f"pointer = {_toml(path)}"
    else:
        name = leak.slug
        lead = _lead(change, pair) if leak.slug in ("clock", "random") else ""
        known = leak.mask and all(re.fullmatch(leak.mask, text) for text in pair)
        expression = leak.mask if known else _expression(leak, pair)
        if not all(re.fullmatch(expression, text) for text in pair):
            return ""
        line = f"regex = '{_escaped(lead)}{expression}'\nreplace = {_toml(lead + leak.slug.upper())}"
    label = f"my-{name}" if name in SHIPPED_NAMES else name
    return f"[[tool.reenact.normalizers]]\nname = {_toml(label)}\n{line}"


def _lead(change: Change, pair: tuple[str, str]) -> str:
    """The words before it, which keep the normalizer from other texts of the same form."""
    text = change.hunks[0].text(Mark.REMOVED) if change.hunks else change.before or ""
    found = re.search(r"(?:[A-Za-z]+[ :=]+){1,2}\Z", text.partition(pair[0])[0])
    return found[0] if found else ""


def _expression(leak: Leak, pair: tuple[str, str]) -> str:
    """An expression for texts such as these two."""
    old, new = pair
    if all(re.fullmatch(r"0\.\d+", text) for text in pair):
        return r"0\.\d+"
    if leak.slug == "random" and len(old) == len(new):
        shared = next(index for index, letter in enumerate(old) if letter != new[index])
        start = max(old.rfind("-", 0, shared), old.rfind("_", 0, shared)) + 1
        letters = "[0-9a-f]" if all(re.fullmatch("[0-9a-f]+", text[start:]) for text in pair) else "[A-Za-z0-9+/=_-]"
        return f"{_escaped(old[:start])}{letters}{{{len(old) - start}}}"
    runs = [re.findall(r"\d+|[A-Za-z]+|[^A-Za-z\d]+", text) for text in pair]
    if len(runs[0]) != len(runs[1]):
        return _escaped(old)
    return "".join(_run(was, now, words=leak.slug == "clock") for was, now in zip(*runs, strict=True))


def _run(old: str, new: str, *, words: bool) -> str:
    if old.isdigit() and new.isdigit():
        # Parts of dates and whole times have a fixed number of digits; fractions, pids and ports have not.
        return rf"\d{{{len(old)}}}" if len(old) == len(new) and len(old) in (2, 4, 10, 13, 15) else r"\d+"
    if (words or old != new) and old.isalpha() and new.isalpha() and len(old) > 1:
        return "[A-Za-z]+"
    return _escaped(old)


def _escaped(text: str) -> str:
    # re.escape would escape blanks and hyphens too, which nobody wants to read. A quote cannot stand in TOML's '...',
    # and a line break or double quote stands escaped in the body, which is what the expression is for.
    special = {"'": ".", "\n": r"\\n", '"': r"\\" + '"'}
    return re.sub(r"""[.^$*+?{}\[\]\\|()'"\n]""", lambda match: special.get(match[0], "\\" + match[0]), text)


def _toml(text: str) -> str:
    return msgspec.json.encode(text).decode()
