"""What texts look like that differ from run to run, and where such a text comes from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_DAY: Final = r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b)(?:,?\s+\d{{4}})?"
_TIME: Final = r"\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[AP]M\b|\s(?:GMT|UTC)\b)?"
_ISO: Final = r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_EPOCH: Final = r"(?<![\w.])(?:\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19})(?![\w.])"
_CLOCK: Final = (
    rf"{_ISO}|\b20\d\d[01]\d[0-3]\d(?:T\d{{6}}Z?)?\b|(?:{_DAY},?\s+)?{_DATE}(?:,?\s+{_TIME})?|{_DAY}|{_TIME}"
    rf"|\b\d+\.\d{{2,}}\s?(?:ms|s|sec|seconds)\b|{_EPOCH}"
)
_PATH_END: Final = r"""[^\s"'`<>()\[\]{},;:]+"""
_ELEVEN_YEARS: Final = 11 * 366 * 86_400


@dataclass(frozen=True, slots=True)
class Leak:
    """A kind of text that differs from run to run. `agree` tells whether two of them differ as such texts do."""

    slug: str
    pattern: re.Pattern[str]
    what: str
    advice: str
    mask: str = ""  # the expression to offer for a normalizer; "" to offer the pattern itself
    agree: Callable[[str, str], bool] = lambda _before, _after: True


def _is_time(before: str, after: str) -> bool:
    """Whether two numbers can be times since 1970 in the same unit, some years apart; true of anything else."""
    if re.fullmatch(_EPOCH, before) is None or re.fullmatch(_EPOCH, after) is None:
        return True
    units = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}
    lengths = [len(text.partition(".")[0]) for text in (before, after)]
    old, new = (float(text) / units[length] for text, length in zip((before, after), lengths, strict=True))
    return lengths[0] == lengths[1] and min(old, new) >= 10**9 and abs(old - new) < _ELEVEN_YEARS


def _is_random(before: str, after: str) -> bool:
    """Whether two words of one length differ in a segment that looks drawn and not written."""
    if all(re.fullmatch(r"0\.\d+", text) for text in (before, after)):
        return True
    if len(before) != len(after):
        return False
    segments = zip(re.split(r"[-_.]", before), re.split(r"[-_.]", after), strict=False)
    differing = [text for pair in segments if pair[0] != pair[1] for text in pair]
    return bool(differing) and all(map(_looks_drawn, differing))


def _looks_drawn(text: str) -> bool:
    """Whether it is long, and hexadecimal, a number, or letters and digits that change places more than once."""
    if len(text) < 8 or not re.search(r"\d", text):
        return False
    return re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", text) is not None or len(re.findall(r"\d+|\D+", text)) > 2


LEAKS: Final = (
    Leak(
        "address",
        re.compile(r"\b0x[0-9a-fA-F]{8,16}\b|\b1[34]\d{13}\b"),
        "memory address",
        "Give the model a stable name in place of repr(obj) or id(obj), or define __repr__ on the class.",
        "0x[0-9a-fA-F]{8,16}",
    ),
    Leak(
        "temp-path",
        re.compile(rf"(?:/private)?/(?:tmp|var/tmp|var/folders)/{_PATH_END}|\\Temp\\{_PATH_END}|\btmp[a-z0-9_]{{8}}\b"),
        "temporary path",
        "Show the model a path relative to the directory, or use a directory with a fixed name.",
        r'/tmp/[^\s"\\]+',  # noqa: S108 - an expression, no file of ours
    ),
    Leak(
        "path",
        re.compile(rf"/(?:home|Users|root|workspace|builds?)/{_PATH_END}|\b[A-Z]:\\Users\\{_PATH_END}"),
        "path of this machine",
        "Show the model paths relative to the project.",
    ),
    Leak(
        "uuid",
        re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        "UUID",
        "It was not drawn through Python's uuid or os.urandom, which the tape answers, but in native code (uuid_utils, "
        "fastuuid) or another process. Draw it in Python.",
        "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    ),
    Leak(
        "process",
        re.compile(
            r"(?i)\bp?pid\W{1,3}\d+|(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\bport)[\s:=]{1,3}\d{2,5}"
            r"|\b(?:rss|memory|heap)\W{1,3}\d[\d.,]*"
        ),
        "number of this process (its pid, port or memory)",
        "Leave it out of what the model sees, or fix it (a port, say).",
    ),
    Leak(
        "clock",
        re.compile(_CLOCK),
        "clock value",
        "The clock was read past the seams: in native code, by another process, from the times of a file or by a "
        "database. Read it in Python (time, datetime), which the tape answers.",
        agree=_is_time,
    ),
    Leak(
        "random",
        re.compile(r"\b0\.\d{8,}\b|[\w-]{8,}[\w+/=-]*"),
        "random value, or the hash of something that differs",
        "It was drawn past the seams, in native code or by another process. Draw it in Python (random, secrets, uuid), "
        "which the tape answers.",
        agree=_is_random,
    ),
)
