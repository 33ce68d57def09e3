"""What stands on a tape in the place of a secret: a text of the same length and shape, made from a key of the run.

Of the same length, so that what counts bytes still counts them, and of the same shape, so that a program that looks at
the form of its key takes it. Who has the tape but not the key, which is on no tape, cannot try values out.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any, Final

_SAID: Final = "redacted"  # what the letters of a placeholder say where there is room, for those who read it, and so
# that it packs better than the secret: in its last letters and its digits it differs from others
_ROOM: Final = 2 * len(_SAID)
_HEAD: Final = re.compile(
    r"(?:[A-Za-z]{2,4}[-_]|(?:AKIA|ASIA|AIza|ghp_|gho_|xox[abpr]-|lsv2_|Bearer |Basic ))(?=.{12})"
)
_HEX: Final = re.compile(r"(?:[0-9a-f-]+|[0-9A-F-]+)\Z")
_PEM: Final = re.compile(r"-----[A-Z ]+-----")
_JWT: Final = re.compile(r"(eyJ[\w-]+)\.(eyJ[\w-]+)\.([\w-]+)\Z")
_SAID_OPENLY: Final = frozenset({"alg", "typ", "iat", "exp", "nbf"})


def placeholder(secret: bytes, key: bytes) -> bytes:
    """What stands for `secret` under `key`: always the same, of the same length, and never the secret itself."""
    text = secret.decode("utf-8", "surrogateescape")
    for attempt in range(8):
        stream = hashlib.shake_256(key + bytes([attempt]) + secret).digest(len(secret) + 1)
        made = _shaped(text, stream).encode("utf-8", "surrogateescape")
        if made != secret:
            return made
    return b"x" * len(secret)  # it holds nothing but signs


def _shaped(text: str, stream: bytes) -> str:
    token = _JWT.match(text)
    if token is not None:
        head, claims = (_reshaped_claims(part, stream) for part in token.groups()[:2])
        return f"{head}.{claims}.{_letters(token[3], stream, said=False)}"
    if "-----BEGIN " in text:
        return _around(_PEM, text, lambda part: _letters(part, stream, said=False))
    known = _HEAD.match(text)
    kept = known[0] if known is not None else ""
    return kept + _letters(text[len(kept) :], stream, said=True)


def _around(kept: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for match in kept.finditer(text):
        parts += [change(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, change(text[end:])])


def _letters(text: str, stream: bytes, *, said: bool) -> str:
    """Letters for letters, digits for digits; what is neither stays, so that every way to write it is as long."""
    hexadecimal = _HEX.match(text) is not None and any(one.isdigit() for one in text)
    letters = "abcdef" if hexadecimal else "abcdefghijklmnopqrstuvwxyz"
    room = sum(map(_is_letter, text)) if said and not hexadecimal else 0
    begin = (_SAID * room)[: room - len(_SAID)] if room >= _ROOM else ""
    spoken = chain(begin, repeat(""))
    made = []
    for one, number in zip(text, chain(stream, repeat(0)), strict=False):
        if _is_letter(one):
            other = next(spoken) or letters[number % len(letters)]
            made.append(other.upper() if one.isupper() else other)
        else:
            made.append(str(number % 10) if one.isascii() and one.isdigit() else one)
    return "".join(made)


def _is_letter(one: str) -> bool:
    return one.isascii() and one.isalpha()


def _reshaped_claims(part: str, stream: bytes) -> str:
    """A part of a JSON web token, which programs read: its members stay, and what its texts say does not."""
    try:
        claims = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        if not isinstance(claims, dict):
            return _letters(part, stream, said=False)
    except (ValueError, binascii.Error):
        return _letters(part, stream, said=False)
    kept = {name: value if name in _SAID_OPENLY else _hidden(value, stream) for name, value in claims.items()}
    text = json.dumps(kept, separators=(",", ":"))
    made = urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return made if len(made) == len(part) else _letters(part, stream, said=False)


def _hidden(value: Any, stream: bytes) -> Any:
    match value:
        case str():
            return _letters(value, stream, said=False)
        case list():
            return [_hidden(item, stream) for item in value]
        case dict():
            return {name: _hidden(item, stream) for name, item in value.items()}
        case _:
            return value
