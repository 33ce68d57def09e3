"""Which values are secrets by the place in which they stand: headers, cookies, URLs, members and options by name.

A value that is met there once is a secret from then on, wherever it stands.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

from reenact.tape.redact import (
    NAMED_VALUE,
    PRIVATE_KEY,
    is_secret_file,
    is_secret_header,
    is_secret_name,
    is_secret_query,
)

_lstat = os.lstat  # not as a seam makes it
LEAST: Final = 8  # bytes: a shorter value stands in many a text without being a secret
_LONG: Final = 32
_SCHEME: Final = re.compile(r"(?:[A-Za-z][\w-]*[ \t]+)?(\S+)\Z")
_WORD: Final = re.compile(rb"[A-Za-z]+\Z|[a-z]+(?:[-_ .][a-z]+)*\Z")
_USER: Final = re.compile(r"://([^/\s@:]*)(?::([^/\s@]+))?@")
# A piece of each name, and what follows on it, from a letter on that is rare: so far a text is gone through by memchr
_PIECES: Final = (
    re.compile(rb"k(?:(?<=ok)en|(?<=ook)ie)(?=[\"'\\=>: ,])").search,  # token, cookie
    re.compile(rb"w(?:(?<=sw)ord|(?<=ssw)d)(?=[\"'\\=>: ,])").search,  # password, passwd
    re.compile(rb"ecret(?=[\"'\\=>: ,])").search,  # secret
    re.compile(rb"phrase(?=[\"'\\=>: ,])").search,  # passphrase
    re.compile(rb"y(?<=ey)(?:\\?\"|=|>)").search,  # key
)
_BEGINNING: Final = re.compile(rb"[\w-]*\Z")
_REACH: Final = 42  # bytes from where a name begins to such a piece of it
# A member of JSON (also of JSON in a text of JSON), a pair of headers, a field of a form, an element of XML
_NAMED: Final = re.compile(
    rb"(?:(?:[\w-]*[_-])?(?:(?:api|access|secret|private|signing|encryption|account|master)[_-]?key|secretaccesskey"
    rb"|(?:api|access|auth|bearer|refresh|id|session|security|csrf|xsrf)[_-]?token"
    rb"|client[_-]?secret|pass(?:word|wd|phrase))|token|secret)"
    rb"(?:\\?[\"']\s*[:,]\s*\\?[\"'](?P<quoted>[^\"'\\\s]{8,})\\?[\"']"
    rb"|=(?P<field>[\w.~+/%=-]{8,})|>(?P<element>[^<\s]{8,})<)",
    re.IGNORECASE,
)
_SET_COOKIE: Final = re.compile(rb"set-cookie\"?\s*[,:]\s*\"?([^=;,\s\"]+=)([^;\"\s\r\n]{4,})", re.IGNORECASE)
_OPTION: Final = re.compile(r"--?(?P<name>[\w-]+)(?:=(?P<value>.+))?", re.DOTALL)
_URL: Final = re.compile(r"[\w+.-]+://[^\s\"'<>]+")
_BARE: Final = re.compile(rb"[^\s\"',:={}\[\]]{8,}")
_ADDRESS: Final = re.compile(rb"https?://[^@?]*$")


def is_long(value: bytes) -> bool:
    """Whether a value that is secret by its name is long enough to be looked for elsewhere."""
    return len(value) >= LEAST


def is_worth(value: bytes) -> bool:
    """The same, of a value that may have been written to stand for none, as a word that stands in many texts."""
    return is_long(value) and (len(value) >= _LONG or _WORD.match(value) is None)


def is_random(value: bytes) -> bool:
    """The same, of a value that only the name beside it says to be one: it looks as nobody would write it."""
    if len(value) < LEAST or not any(at in b"0123456789" for at in value):
        return len(value) >= 2 * LEAST and value.lower() != value != value.upper() and b" " not in value
    return value.lower() != value.upper()


def of_environment(environment: Mapping[str, str]) -> Iterator[bytes]:
    """The secret values of an environment, and what is one in its URLs."""
    for name, value in environment.items():
        if is_secret_name(name):
            yield from of_variable(value)
        elif "://" in value:
            yield from of_url(value)


def of_variable(value: str) -> Iterator[bytes]:
    """What is secret in a value whose name says that it is: not a path, and of an address what signs on."""
    if value.startswith("/") and (_is_there(value) or _is_there(value.rpartition("/")[0] or "-")):
        return
    if "://" in value:
        yield from of_url(value)
    elif value.startswith("{") and value.rstrip().endswith("}"):
        yield from _of_members(os.fsencode(value))
    else:
        yield os.fsencode(value)


def _is_there(path: str) -> bool:
    try:
        _lstat(path)
    except (OSError, ValueError):
        return False
    return True


def of_url(text: str) -> Iterator[bytes]:
    """Passwords and secret parameters of the URLs in a text."""
    for match in _URL.finditer(text):
        url = match[0]
        for user, password in _USER.findall(url):
            secret = password or user
            yield os.fsencode(secret)
            yield os.fsencode(unquote(secret))
        try:
            query = urlsplit(url).query
        except ValueError:
            continue
        for pair in query.split("&"):
            name, _, value = pair.partition("=")
            if value and is_secret_query(unquote_plus(name).lower()):
                yield os.fsencode(value)
                yield os.fsencode(unquote_plus(value))


def of_header(name: str, value: str) -> Iterator[bytes]:
    """What is secret in the value of a header that is secret by its name."""
    if name.lower() in ("cookie", "cookie2"):
        for pair in value.split(";"):
            yield pair.partition("=")[2].strip().strip('"').encode("latin-1", "replace")
        return
    if value.startswith("AWS4-"):
        return  # a signature, which holds for this request alone
    match = _SCHEME.match(value)
    if match is None:
        return
    yield match[1].encode("latin-1", "replace")
    if value[:6].lower() == "basic ":
        try:
            user, _, password = base64.b64decode(match[1], validate=True).partition(b":")
        except (binascii.Error, ValueError):
            return
        yield password or user


def of_headers(headers: Iterable[tuple[str, str]]) -> Iterator[bytes]:
    """What is secret in the headers of a request."""
    for name, value in headers:
        if is_secret_header(name):
            yield from of_header(name, value)


def of_arguments(words: Sequence[str]) -> Iterator[bytes]:
    """The values of options that are secret by their names, and what is secret in URLs of a command line."""
    for at, word in enumerate(words):
        option = _OPTION.fullmatch(word)
        if option is not None and is_secret_name(option["name"].replace("-", "_")):
            value = option["value"] or (words[at + 1] if at + 1 < len(words) else "")
            if value and not value.startswith("-"):
                yield os.fsencode(value)
        if "://" in word:
            yield from of_url(word)


def of_text(text: bytes) -> list[bytes]:
    """What stands in a text beside a name that says that it is a secret, and cookies that are set in it."""
    values: list[bytes] = []
    for search in _PIECES:
        found = search(text)
        while found is not None:
            value = _named_at(text, found.start())
            if value is not None:
                values.append(value)
            found = search(text, found.end())
    return values


def _named_at(text: bytes, at: int) -> bytes | None:
    """The secret that stands beside the name of which there is a piece at that place."""
    begins = _BEGINNING.search(text, max(at - _REACH, 0), at)
    start = begins.start() if begins is not None else at
    cookie = _SET_COOKIE.match(text, start)
    if cookie is not None:
        pair, value = cookie[1] + cookie[2], cookie[2]
        return None if _WORD.match(value) else value if len(value) >= LEAST else pair
    named = _NAMED.match(text, start)
    value = (named["quoted"] or named["field"] or named["element"]) if named is not None else b""
    return value if is_random(value) else None


def of_file(path: str, content: bytes) -> Iterator[bytes]:
    """What is secret in a file whose name says that it holds credentials; where nothing is named, every long word."""
    if not is_secret_file(path):
        return
    found = list(_of_members(content))
    yield from found or filter(is_worth, (match[0] for match in _BARE.finditer(content)))


def _of_members(content: bytes) -> Iterator[bytes]:
    """The values that have a secret name, and private keys."""
    for key in PRIVATE_KEY.finditer(content):
        yield key[0].strip()
    for match in NAMED_VALUE.finditer(content):
        value = match["double"] or match["single"] or match["bare"] or b""
        if is_secret_name(match["name"].decode("ascii", "replace")) and _ADDRESS.match(value) is None:
            yield value
