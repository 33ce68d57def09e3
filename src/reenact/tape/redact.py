"""What never reaches the disk: credentials. Replay compares without them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import starmap
from pathlib import PurePath
from urllib.parse import quote_plus, unquote_plus, urlsplit, urlunsplit

REDACTED = "[redacted]"
PLACEHOLDER = "reenact-placeholder-credential"

_SECRET_HEADER = re.compile(
    r"((^|[-_])(x?-?api|access)?[-_]?(key|token|secret|auth|password|credential)s?|authorization|authentication|cookie)$"
)
_SECRET_HEADERS = frozenset({"x-csrftoken", "x-bt-auth"})
_NO_SECRET_HEADERS = ("idempotency-key",)
_SECRET_QUERY = frozenset(
    {
        "access_key",
        "access_token",
        "api-key",
        "api_key",
        "apikey",
        "appid",
        "auth",
        "auth_token",
        "client_secret",
        "hapikey",
        "id_token",
        "key",
        "password",
        "refresh_token",
        "sig",
        "signature",
        "subscription-key",
        "token",
        "x-amz-credential",
        "x-amz-security-token",
        "x-amz-signature",
        "x-goog-credential",
        "x-goog-signature",
    }
)
_SECRET_NAMES = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "SSHPASS",
    "CREDENTIAL",
    "PRIVATE",
    "AUTH",
    "COOKIE",
    "DSN",
)
_HARMLESS_NAMES = ("PWD", "OLDPWD")
_CREDENTIAL = re.compile(
    r"(^|_)((api|access|secret|private|signing|encryption)_?keys?|(api|access|auth|bearer|refresh|id|session)_?tokens?"
    r"|secrets?(_value)?|password|passwd|passphrase|credentials?)$"
)
_SECRET_WORD = re.compile(r"(^|_)(key|token|auth|authorization|cookie|pin|pwd|dsn|otp|passcode)$")
_LONGEST_NAME = 80
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_URL = re.compile(r"\w+://[^\s\"'<>]+")
_SECRET_FILE = re.compile(
    r"^(\.env(\..+)?|.+\.env|.*credentials?(\.(json|ini|toml|ya?ml|db))?|.*secrets?(\.(json|ini|toml|ya?ml|env))?"
    r"|\.?netrc|_netrc|\.pypirc|\.npmrc|\.git-credentials|\.pgpass|auth\.json|.*tokens?(\.(json|txt))?|hosts\.yml"
    r"|id_(rsa|dsa|ecdsa|ed25519)|.+\.(pem|key|p12|pfx|jks|keystore|kdbx))$",
    re.IGNORECASE,
)
_SECRET_FOLDERS = frozenset({".aws", ".azure", ".docker", ".gnupg", ".kube", ".ssh", "gcloud", "secrets"})
NAMED_VALUE = re.compile(
    rb"""(?P<name>[\w.-]+)(?P<between>["']?[ \t]*[:=][ \t]*|(?<=password)[ \t]+)"""
    rb"""(?:"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s"'#,{}\[\]]+))""",
    re.IGNORECASE,
)
_ADDRESS = re.compile(rb"https?://[^@?]*$")
PRIVATE_KEY = re.compile(rb"(?<=PRIVATE KEY-----)(\r?\n).*?(?=\r?\n-----END )", re.DOTALL)
_WORD = re.compile(rb"[^\s\"',:={}\[\]]{8,}")


def redact_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers with the values of credentials replaced."""
    return tuple(starmap(redact_header, headers))


def redact_header(name: str, value: str) -> tuple[str, str]:
    """The header with its value replaced if that is a credential."""
    return name, REDACTED if is_secret_header(name) else value


@cache
def is_secret_header(name: str) -> bool:
    """Whether a header of this name holds a credential."""
    lowered = name.lower()
    named = lowered in _SECRET_HEADERS or _SECRET_HEADER.search(lowered) is not None
    return named and not lowered.endswith(_NO_SECRET_HEADERS)


def is_telling(url: str) -> bool:
    """Whether there may be a credential in a URL."""
    return "?" in url or "@" in url


def redact_url(url: str) -> str:
    """The URL without a password and with the values of secret query parameters replaced."""
    if not is_telling(url):
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{quote_plus(REDACTED)}@{host}" if "@" in parts.netloc else host
    pairs = [pair.partition("=") for pair in parts.query.split("&")] if parts.query else []
    query = "&".join(
        f"{name}={quote_plus(REDACTED)}" if is_secret_query(unquote_plus(name).lower()) else name + equals + value
        for name, equals, value in pairs
    )
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))


def is_secret_query(lowered: str) -> bool:
    """Whether a query parameter of this lower-case name holds a credential."""
    return lowered in _SECRET_QUERY


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name is likely to hold a secret."""
    upper = name.upper()
    return upper not in _HARMLESS_NAMES and any(mark in upper for mark in _SECRET_NAMES)


@cache
def is_credential_name(name: str) -> bool:
    """Whether an argument or attribute of this name is a credential: narrower, since a word such as key says little."""
    return _CREDENTIAL.search(_snake(name)) is not None


@lru_cache(maxsize=8192)
def is_secret_variable(name: str) -> bool:
    """Whether a variable, attribute or member of this name may hold a secret, of which not even a digest is kept."""
    snake = _snake(name)
    return len(name) <= _LONGEST_NAME and bool(_CREDENTIAL.search(snake) or _SECRET_WORD.search(snake))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])|-", "_", name).lower()


def redact_value(value: str) -> str:
    """The value of an environment variable, with the user and password of URLs in it replaced: it stays a URL."""
    return _USER_IN_URL.sub(PLACEHOLDER, value)


def redact_urls(text: str) -> str:
    """A text without what is a credential in a URL."""
    return _URL.sub(_redacted_url, text) if "://" in text else text


def _redacted_url(match: re.Match[str]) -> str:
    try:
        return redact_url(match[0])
    except ValueError:  # it only looks like one
        return redact_value(match[0])


@cache
def is_secret_file(path: str) -> bool:
    """Whether a file of this name holds credentials."""
    pure = PurePath(path)
    return _SECRET_FILE.match(pure.name) is not None or not _SECRET_FOLDERS.isdisjoint(pure.parts[:-1])


def redact_file(path: str, content: bytes) -> bytes:
    """What a file holds without the values in it that its name says are credentials; any other file as it is.

    They are those that have a secret name; where there is none, every word that is long enough to be one.
    """
    placeholder = PLACEHOLDER.encode()
    if not is_secret_file(path):
        return content
    if b"-----BEGIN " in content:
        return PRIVATE_KEY.sub(lambda match: match[1] + placeholder, content)
    found = 0

    def replaced(match: re.Match[bytes]) -> bytes:
        nonlocal found
        name = match["name"].decode("ascii", "replace")
        value = match["double"] or match["single"] or match["bare"] or b""
        if not is_secret_name(name) or PLACEHOLDER in name or _ADDRESS.match(value) is not None:
            return match[0]
        found += 1
        quote = b'"' if match["double"] is not None else b"'" if match["single"] is not None else b""
        return match["name"] + match["between"] + quote + placeholder + quote

    redacted = NAMED_VALUE.sub(replaced, content)
    return redacted if found else _WORD.sub(placeholder, content)
