"""Secrets that a model spells out: a few letters in each event of a stream.

What stands in the same place of one event after the other (the text of one choice, the arguments of one call of a tool)
is put together, cleaned, and written back letter for letter, so that each event stays as long as it was.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Protocol
from zlib import crc32

import msgspec

# An event on one line: of server-sent events (WHATWG HTML, 9.2.6), or of JSON by the line
_LINE: Final = re.compile(rb"^(?:data:[ ]?)?(\{[^\r\n]*\})[ ]*\r?$", re.MULTILINE)
_CODED: Final = re.compile(rb'\A\{"bytes":"([A-Za-z0-9+/]+=*)"')  # an event of a model behind InvokeModel of Bedrock
_STRING: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*:)?')
_LETTER: Final = re.compile(rb"\\u[dD][89abAB]..\\u....|\\u....|\\.|[\x00-\x7f]|[\xc0-\xff][\x80-\xbf]*", re.DOTALL)
_MEMBER: Final = re.compile(rb'"([^"\\]+)"\s*:\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"')
_OF_NAME: Final = rb'"%s"\s*:\s*"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_BEGUN: Final = re.compile(rb'"[^"\\]+": ?"')
_PLAINLY_BEGUN: Final = re.compile(rb'"[\w.$-]++": ?"')
_SPREAD: Final = (b'" :', b":  ", b":\t", b":\n", b":\r")  # JSON with more space around colons than others write
_NUMBER: Final = re.compile(rb'ndex"\s*:\s*(\d+)')
_UNUSUAL: Final = re.compile(rb"\\u00[2-7]|\\/")
_INDEX: Final = "ndex"  # how the names end of what says which of several texts a piece is of
_SAMPLE: Final = 2048
_WORTH: Final = 32  # bytes
_FRAME: Final = 12  # bytes of a frame's lengths and their CRC
_CRC: Final = 4

_decode = msgspec.json.Decoder().decode


class Cleaner(Protocol):
    """Who knows the secrets, see `vault.Vault`."""

    def clean(self, data: bytes) -> bytes:
        """The same without secrets, as long as it was."""

    def discover(self, data: bytes) -> None:
        """Learns what in it is one."""

    def stands_in(self, data: bytes) -> bool:
        """Whether something in it stands for a secret."""


class _Event(NamedTuple):
    """Where the JSON of one event stands; `coded`: in base64."""

    start: int
    end: int
    coded: bool = False


class _Piece(NamedTuple):
    """A string in the event of that number, the how manieth of its strings, and what it says."""

    event: int
    at: int
    text: bytes


def clean_events(stream: bytes, cleaner: Cleaner) -> bytes:
    """A stream of events without the secrets that are spelled in it, as long as it was."""
    framed = [*_framed(stream, _frames(stream))]
    if not _may_spell(b"\n".join(_json(stream, event) for event in framed) if framed else stream, cleaner):
        return stream
    events = framed or [*_lines(stream)]
    edits: dict[int, dict[int, bytes]] = {}
    for pieces in _texts(stream, events).values():
        whole = b"".join(piece.text for piece in pieces)
        cleaner.discover(whole)
        cleaned = cleaner.clean(whole)
        at = 0
        for piece in pieces if cleaned != whole else ():
            news = cleaned[at : at + len(piece.text)]
            at += len(piece.text)
            if news != piece.text:
                edits.setdefault(piece.event, {})[piece.at] = news
    out = bytearray(stream)
    for number, changed in edits.items():
        event = events[number]
        out[event.start : event.end] = _edited(_json(stream, event), changed, coded=event.coded)
    return bytes(out)


def spelled_in(stream: bytes) -> Iterator[bytes]:
    """The texts that the events of a stream spell."""
    events = [*_framed(stream, _frames(stream))] or [*_lines(stream)]
    for pieces in _texts(stream, events).values():
        yield b"".join(piece.text for piece in pieces)


def is_of_whole_events(stream: bytes) -> bool:
    """Whether it ends with one."""
    frames = _frames(stream)
    return frames[-1][1] == len(stream) if frames else stream.endswith((b"\n", b"\r")) or not stream


def checked(stream: bytes, before: bytes, cleaner: Cleaner) -> bytes:
    """Frames of AWS that are not as before, or in which something stands for a secret, with checksums that fit."""
    out = bytearray(stream)
    for start, end in _frames(stream):
        sum_ = crc32(out[start : end - _CRC]).to_bytes(_CRC, "big")
        changed = stream[start:end] != before[start:end]
        if out[end - _CRC : end] != sum_ and (changed or cleaner.stands_in(stream[start:end])):
            out[end - _CRC : end] = sum_
    return bytes(out)


# Events


def _lines(stream: bytes) -> Iterator[_Event]:
    return (_Event(*match.span(1)) for match in _LINE.finditer(stream))


def _frames(stream: bytes) -> list[tuple[int, int]]:
    """Where the frames of `application/vnd.amazon.eventstream` stand, the whole ones; none in others."""
    found, at = [], 0
    while at + _FRAME + _CRC <= len(stream):
        size = int.from_bytes(stream[at : at + 4], "big")
        if crc32(stream[at : at + 8]) != int.from_bytes(stream[at + 8 : at + _FRAME], "big"):
            break
        if not _FRAME + _CRC <= size <= len(stream) - at:
            break
        found.append((at, at + size))
        at += size
    return found


def _framed(stream: bytes, frames: list[tuple[int, int]]) -> Iterator[_Event]:
    for start, end in frames:
        begin = start + _FRAME + int.from_bytes(stream[start + 4 : start + 8], "big")
        coded = _CODED.match(stream[begin : end - _CRC])
        if coded is not None:
            yield _Event(begin + coded.start(1), begin + coded.end(1), coded=True)
        else:
            yield _Event(begin, end - _CRC)


def _json(stream: bytes, event: _Event) -> bytes:
    data = stream[event.start : event.end]
    if not event.coded:
        return data
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return b""


# The texts that they spell


def _may_spell(together: bytes, cleaner: Cleaner) -> bool:
    """Whether a closer look is worth its time: members of one name, put together without being unpacked, hold a secret.

    Of several texts that come at once, and of letters that are written by their number, this cannot tell.
    """
    refrain = _refrain(together)
    brief = _said_once(together, refrain)
    if _are_several(brief) and _are_mixed(together):
        return True
    if b"\\" in together and _UNUSUAL.search(together) is not None:
        return True
    for name in _varying(brief):
        sources, again = [brief], refrain.rfind(b'"%s"' % name)
        if again >= 0:  # it holds a piece of this text, or another one, which stands in between
            sources.append(_said_once(together, refrain[:again]))
        for source in sources:
            whole = b"".join(_of_name(name).findall(source))
            cleaner.discover(whole)
            if cleaner.clean(whole) != whole:
                return True
    return False


def _refrain(together: bytes) -> bytes:
    """What most events begin with, up to the last text in it, which may go on in other words; empty if it is short."""
    first, second = (_line_at(together, len(together) * part // 8) for part in (4, 5))
    size = min(len(first), len(second))
    differing = int.from_bytes(first[:size]) ^ int.from_bytes(second[:size])
    alike = first[: size - (differing.bit_length() + 7) // 8]
    last = max(alike.rfind(b'": "'), alike.rfind(b'":"'), 0)
    refrain = alike[: max(alike.rfind(b'"', 0, last), 0)]
    return refrain if len(refrain) > _WORTH else b""


def _said_once(together: bytes, refrain: bytes) -> bytes:
    """All of it with the refrain at its beginning alone: that leaves little to look through."""
    if not refrain:
        return together
    return refrain + b"\n".join([line.removeprefix(refrain) for line in together.split(b"\n")])


def _line_at(together: bytes, at: int) -> bytes:
    """The line with the event there."""
    start = together.rfind(b"\n", 0, max(together.rfind(b'"', 0, at), 0)) + 1
    end = together.find(b"\n", start)
    return together[start : end if end >= 0 else len(together)]


def _are_several(together: bytes) -> bool:
    """Whether what says of which text a piece is may name more than the first."""
    return together.count(b'ndex": 0') != together.count(b"ndex")


def _are_mixed(together: bytes) -> bool:
    """Whether several texts come at once."""
    numbers = [*map(int, _NUMBER.findall(together))]
    return numbers != sorted(numbers)


@functools.lru_cache(256)
def _of_name(name: bytes) -> re.Pattern[bytes]:
    """The texts of all members of a name, of which there are not many in all the streams of a run."""
    return re.compile(_OF_NAME % re.escape(name))


def _varying(together: bytes) -> Iterator[bytes]:
    """The names of members that are not the same text wherever they stand."""
    if any(unusual in together[:_SAMPLE] for unusual in _SPREAD):  # who writes so does it everywhere
        values: dict[bytes, int] = {}
        for name, _ in set(_MEMBER.findall(together)):
            values[name] = values.get(name, 0) + 1
        yield from (name for name, times in values.items() if times > 1)
        return
    begun = _PLAINLY_BEGUN.findall(together)
    if len(begun) != (together.count(b'": "') or together.count(b'":"')):
        begun = _BEGUN.findall(together)
    for before, times in Counter(begun).items():
        first = together.index(before)
        end = together.find(b'"', first + len(before)) + 1
        if times > 1 and together.count(together[first:end]) != times:
            yield before[1:].partition(b'"')[0]


def _texts(stream: bytes, events: list[_Event]) -> dict[str, list[_Piece]]:
    """The strings of all events by the place in which they stand; not those that are the same in each."""
    found: dict[str, list[_Piece]] = {}
    for number, event in enumerate(events):
        strings: list[tuple[str, str]] = []
        try:
            _walk(_decode(_json(stream, event)), "", strings)
        except (ValueError, RecursionError):  # also where it is no UTF-8
            continue
        for at, (where, text) in enumerate(strings):
            if text:
                found.setdefault(where, []).append(_Piece(number, at, text.encode()))
    return {where: pieces for where, pieces in found.items() if any(one.text != pieces[0].text for one in pieces)}


def _walk(value: Any, where: str, found: list[tuple[str, str]]) -> None:
    """The strings of a document in their order, each with its place: names, numbers in lists, and what is an index."""
    sort = type(value)
    if sort is str:
        found.append((where, value))
    elif sort is dict:
        for name, item in value.items():
            if type(item) is int and name.endswith(_INDEX):
                where = f"{where}#{name}{item}"
        for name, item in value.items():
            kind = type(item)
            if kind is str or kind is dict or kind is list:
                _walk(item, f"{where}/{name}", found)
    elif sort is list:
        for at, item in enumerate(value):
            _walk(item, f"{where}/{at}", found)


# Writing back


def _edited(text: bytes, changed: dict[int, bytes], *, coded: bool) -> bytes:
    out = bytearray(text)
    spans = [match.span(1) for match in _STRING.finditer(text) if match[2] is None]
    for at, news in changed.items():
        start, end = spans[at]
        out[start:end] = _spelled(text[start:end], news)
    return base64.b64encode(out) if coded else bytes(out)


def _spelled(written: bytes, news: bytes) -> bytes:
    """A string as JSON writes it, with other letters that are written as long as those before."""
    out, at = [], 0
    for match in _LETTER.finditer(written):
        one = match[0]
        size = len(_decode(b'"%s"' % one).encode()) if one.startswith(b"\\") else len(one)
        new = news[at : at + size]
        at += size
        if not one.startswith(b"\\"):
            out.append(new)
        elif one.startswith(b"\\u") and size == 1:
            out.append(b"\\u%04x" % new[0])
        else:
            out.append(one)  # a sign, which stays in what stands for a secret
    return b"".join(out)
