"""The forms in which a value may be written: as it is, escaped in JSON or a URL, in base64, in hexadecimal."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec

_LEAST: Final = 6  # bytes of a form: base64 of a short value is shorter where it is cut
_AT: Final = (0, 2, 3)  # where in base64 the first letter stands that is of the value alone, by its shift
_URLSAFE: Final = bytes.maketrans(b"-_", b"+/")
_STANDARD: Final = bytes.maketrans(b"+/", b"-_")


class Form(msgspec.Struct, frozen=True):
    """What stands for a value that is written in some form. In base64, the value begins `shift` bytes into a group."""

    stands: bytes
    value: bytes = b""
    plain: bytes = b""
    shift: int = -1

    def put(self, data: bytes, written: bytes) -> bytes:
        """`data` with this in the place of what is `written`."""
        if self.shift < 0:
            return data.replace(written, self.stands)
        at = data.find(written)
        while at >= 0:
            data = self._put_at(data, at, len(written))
            at = data.find(written, at + len(written))
        return data

    def _put_at(self, data: bytes, at: int, size: int) -> bytes:
        """In base64 letters at both ends are made of other bytes, too: the groups are unpacked, and packed anew."""
        start = at - _AT[self.shift]
        end = at + size + -(at + size - start) % 4
        group = data[max(start, 0) : end]
        safe = b"-" in group or b"_" in group
        text = group.translate(_URLSAFE).rstrip(b"=")
        try:
            plain = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            plain = b""
        made = base64.b64encode(plain.replace(self.value, self.plain))[: len(text)] if start >= 0 else b""
        if self.value not in plain or len(made) != len(text):
            return data[:at] + self.stands + data[at + size :]
        made = made.translate(_STANDARD) if safe else made
        return data[:start] + made + group[len(text) :] + data[end:]


def forms(value: bytes, stands: bytes) -> Iterator[tuple[bytes, Form]]:
    """A value in each of them, with what stands for it there, as long as it is."""
    found: dict[bytes, Form] = {value: Form(stands)}
    for write in _WRITTEN:
        try:
            found.setdefault(write(value), Form(write(stands)))
        except UnicodeDecodeError:  # it is no text
            continue
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            inside = Form(_inside(stands, shift, encode), value, stands, shift)
            found.setdefault(_inside(value, shift, encode), inside)
    for written, form in found.items():
        if len(written) == len(form.stands) and len(written) >= _LEAST and written != form.stands:
            yield written, form


def _inside(value: bytes, shift: int, encode: Callable[[bytes], bytes]) -> bytes:
    """What base64 makes of a value that begins at such a place, without the letters that others have a part in."""
    whole = encode(b"\0" * shift + value)
    return whole[_AT[shift] : (shift + len(value)) * 8 // 6]


def _text(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda value: change(value.decode()).encode()


def _html(text: str) -> str:
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        text = text.replace(sign, written)
    return text


_WRITTEN: Final[tuple[Callable[[bytes], bytes], ...]] = (
    _text(lambda text: json.dumps(text)[1:-1]),
    _text(lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1]),
    _text(lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
    _text(lambda text: repr(text)[1:-1]),
    _text(_html),
    _text(quote),
    _text(quote_plus),
    _text(lambda text: quote(text, safe="")),
    lambda value: value.hex().encode(),
)
