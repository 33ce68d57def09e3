"""A text that is looked for in others: as it is, or written in another form, or a part of it."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from enum import StrEnum
from typing import Final

import msgspec

from reenact.diff.pointer import step
from reenact.diff.value import container

AROUND: Final = 120  # characters of a text that are kept on each side of what was found in it
_LONG: Final = 4_000  # letters of a text that is looked for in other forms, too
_LARGE: Final = 4 << 20  # letters of a text that is looked through for parts
_OFTEN: Final = 4  # places in one text
_TOKEN: Final = re.compile(r"\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*|\s+|[^\W\d]+|.", re.DOTALL)
_WORD: Final = re.compile(r"\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*|\w+")
_NUMBER: Final = re.compile(r"\d+(?:[.,'\u2019_\u00a0\u202f]\d+)*")
_EDGES: Final = " \t\r\n\"'`.,;:!?()[]{}<>*$€£¥%\u201c\u201d\u201e\u2018\u2019"
_ESCAPES: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", '"': '"', "\\": "\\", "/": "/"}
_SEPARATOR: Final = r"[,.'\u2019_ \u00a0\u202f]?"
_LEAST: Final = 4  # letters of a part that says anything


class Grade(StrEnum):
    """How well a text was found in another."""

    EXACT = "exact"  # letter by letter
    NORMALIZED = "normalized"  # the same, written in another form
    PARTIAL = "partial"  # some of it


class Match(msgspec.Struct, frozen=True):
    """Where a text was found: what stands before it, as it stands there, and what stands after.

    `forms` are the ways in which it is written otherwise. `pointer` is where it is in a text that is JSON, `at` where
    in the text, counted in letters; `score` is how many letters of what was looked for are there.
    """

    grade: Grade
    before: str
    text: str
    after: str
    at: int
    score: int
    pointer: str = ""
    forms: tuple[str, ...] = ()


class Sought:
    """What is looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._core = text.strip(_EDGES) or text.strip() or text
        self._pattern = re.compile(_pattern_of(_nfkc(self._core)), re.IGNORECASE) if len(text) <= _LONG else None
        self._words = [_key(word) for word in _WORD.findall(_nfkc(text))]
        self._at: defaultdict[str, list[int]] = defaultdict(list)
        for at, word in enumerate(self._words):
            self._at[word].append(at)

    def find(self, text: str) -> list[Match]:
        """The places where all of it is, as far as they are of interest: exact ones, or else in another form."""
        value = container(text) if len(text) <= _LARGE else None
        found = [self._match(Grade.EXACT, text, at, at + len(self.text)) for at in self._exact(text, value is not None)]
        if found or self._pattern is None:
            return [self._in_json(match, value) for match in found]
        leaves = _Leaves(value) if value is not None else None
        plain = _nfkc(leaves.text if leaves is not None else text)
        for place in self._pattern.finditer(plain):
            if _is_whole(plain, *place.span(), listed=leaves is not None):
                match = self._match(Grade.NORMALIZED, plain, *place.span())
                pointer = leaves.pointer(place.start()) if leaves is not None else ""
                found.append(msgspec.structs.replace(match, pointer=pointer, forms=self._forms(text, place[0])))
                if len(found) == _OFTEN:
                    break
        return found

    def part(self, text: str) -> Match | None:
        """The longest run of its words that stands in a text; None where that says nothing."""
        text = _nfkc(text[:_LARGE])
        if _NUMBER.fullmatch(self._core):
            return self._near(text)
        best = (0, 0, 0, 0)
        runs: dict[int, tuple[int, int]] = {}
        for found in _WORD.finditer(text):
            ending: dict[int, tuple[int, int]] = {}
            for at in self._at.get(_key(found[0]), ()):
                start, letters = runs.get(at - 1, (found.start(), 0))
                ending[at] = start, letters + len(self._words[at])
                best = max(best, (letters + len(self._words[at]), -start, start, found.end()))
            runs = ending
        score, _, start, end = best
        if score < _LEAST or score * 5 < sum(map(len, self._words)):
            return None
        return msgspec.structs.replace(self._match(Grade.PARTIAL, text, start, end), score=score)

    def _near(self, text: str) -> Match | None:
        """A number that is rounded to the one that is looked for, or has its digits in another order."""
        sought = _key(self._core)
        decimals = len(sought.partition(".")[2])
        for found in _NUMBER.finditer(text):
            key = _key(found[0])
            forms = {
                "digits in another order": len(key) > 2 and sorted(key) == sorted(sought),
                "rounded": len(key) > len(sought) and _rounded(key, decimals) == sought,
            }
            told = tuple(name for name, so in forms.items() if so)
            if told and key != sought and _is_whole(text, *found.span(), listed=False):
                return msgspec.structs.replace(self._match(Grade.PARTIAL, text, *found.span()), forms=told)
        return None

    def _exact(self, text: str, listed: bool) -> Iterator[int]:  # noqa: FBT001  private, and named where it is called
        at, count = text.find(self.text), 0
        while at >= 0 and count < _OFTEN:
            if _is_whole(text, at, at + len(self.text), listed=listed):
                count += 1
                yield at
            at = text.find(self.text, at + 1)

    def _match(self, grade: Grade, text: str, start: int, end: int) -> Match:
        before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
        return Match(grade, before, text[start:end], after, start, len(self.text))

    def _in_json(self, match: Match, value: object) -> Match:
        """With the pointer to it, where one value holds all of it."""
        pointer = next((at for at, leaf in _leaves(value, "") if self.text in leaf), "") if value is not None else ""
        return msgspec.structs.replace(match, pointer=pointer)

    def _forms(self, text: str, found: str) -> tuple[str, ...]:
        """In what the text that was found is written otherwise."""
        sought, there = (re.sub(r"(?<=\d)[ \u00a0\u202f](?=\d{3})", "'", side) for side in (self._core, found))
        told = [
            ("JSON", container(text) is not None and found not in text),
            ("escapes", "\\" in there and "\\" not in sought),
            ("case", [c for c in sought if c.isalpha()] != [c for c in there if c.isalpha()] and "\\" not in there),
            ("white space", re.findall(r"\s+", sought) != re.findall(r"\s+", there)),
            ("number format", _numbers(sought) != _numbers(there) and _keys(sought) == _keys(there)),
            ("Unicode form", not text.isascii() and _nfkc(text) != text),
            ("what is around it", self._core != self.text),
        ]
        return tuple(name for name, so in told if so)


class _Leaves:
    """The texts and numbers of a JSON value, one on a line."""

    def __init__(self, value: object) -> None:
        leaves = list(_leaves(value, ""))
        self.text = "\n".join(text for _, text in leaves)
        self._leaves = leaves

    def pointer(self, at: int) -> str:
        """Where the value stands that has that letter."""
        for pointer, text in self._leaves:
            at -= len(text) + 1
            if at < 0:
                return pointer
        return ""


def _leaves(value: object, pointer: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list) and depth < 100:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, item in pairs:
            yield from _leaves(item, pointer + step(str(name)), depth + 1)
    elif isinstance(value, str):
        yield pointer, value
    elif value is not None:
        yield pointer, msgspec.json.encode(value).decode()


def _nfkc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _pattern_of(text: str) -> str:
    """An expression for all forms of a text."""
    return "".join(map(_form, _TOKEN.findall(text)))


def _form(token: str) -> str:
    if token[0].isdigit():
        return _number_pattern(token)
    if token.isspace():
        return r"(?:\s|\\[nrt])+"
    return "".join(map(_letter, token))


def _letter(letter: str) -> str:
    forms = [re.escape(letter)]
    if letter in _ESCAPES:
        forms.append(re.escape(f"\\{_ESCAPES[letter]}"))
    if not letter.isascii() or letter in "<>&'\"":
        forms.append("".join(rf"\\u{unit:04x}" for unit in _units(letter)))
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def _units(letter: str) -> list[int]:
    data = letter.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def _number_pattern(token: str) -> str:
    whole, _, rest = _key(token).partition(".")
    if not whole.isdigit() or (rest and not rest.isdigit()):
        return re.escape(token)
    head = len(whole) % 3 or 3
    groups = [whole[:head], *(whole[at : at + 3] for at in range(head, len(whole), 3))]
    decimals = rf"[.,]{rest}0*" if rest else r"(?:[.,]0+(?!\d))?"
    return _SEPARATOR.join(groups) + decimals


def _key(word: str) -> str:
    """A word as it is compared: a number without the choices of its format (1,234.50: 1234.5), others without case."""
    if not word[0].isdigit():
        return word.casefold()
    digits = re.sub(r"['\u2019_\u00a0\u202f]", "", word)
    last = max(digits.rfind(","), digits.rfind("."))
    if last < 0:
        return digits
    mark, whole, rest = digits[last], digits[:last], digits[last + 1 :]
    other = "," if mark == "." else "."
    grouped = mark in whole or (mark == "," and len(rest) == 3 and other not in whole and len(whole) <= 3)
    if grouped:  # 1,234,567 or 1,234: thousands
        return re.sub(r"[.,]", "", digits) if all(len(g) == 3 for g in re.split(r"[.,]", digits)[1:]) else digits
    rest = rest.rstrip("0")
    return whole.replace(other, "") + (f".{rest}" if rest else "")


def _rounded(key: str, decimals: int) -> str:
    """A number with so many decimals, as it is compared; empty for what is no number."""
    try:
        return _key(str(Decimal(key).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)))
    except InvalidOperation:
        return ""


def _keys(text: str) -> list[str]:
    return [_key(word) for word in _WORD.findall(text)]


def _numbers(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word[0].isdigit()]


def _is_whole(text: str, start: int, end: int, *, listed: bool) -> bool:
    """Whether that is no piece of a longer word or number. In a list of JSON, a comma is no part of a number."""
    if start == end:
        return False
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum()):
        return False
    marks = "." if listed else ".,"
    goes_on = text[end - 1].isdigit() and after and after in marks and text[end + 1 : end + 2].isdigit()
    if goes_on and text[end - 3 : end - 2] != ":":  # of a time, fractions of a second may be left out
        return False
    return not (text[start].isdigit() and before and before in marks and text[max(0, start - 2) : start - 1].isdigit())
