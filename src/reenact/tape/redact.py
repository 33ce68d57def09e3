"""What never reaches the disk: credentials. Replay compares without them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from urllib.parse import quote_plus, unquote_plus, urlsplit, urlunsplit

REDACTED = "[redacted]"

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
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")


def redact_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers with the values of credentials replaced."""
    return tuple([(name, REDACTED if is_secret_header(name) else value) for name, value in headers])


@cache
def is_secret_header(name: str) -> bool:
    """Whether a header of this name holds a credential."""
    lowered = name.lower()
    named = lowered in _SECRET_HEADERS or _SECRET_HEADER.search(lowered) is not None
    return named and not lowered.endswith(_NO_SECRET_HEADERS)


def redact_url(url: str) -> str:
    """The URL without a password and with the values of secret query parameters replaced."""
    if "?" not in url and "@" not in url:
        return url
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{quote_plus(REDACTED)}@{host}" if "@" in parts.netloc else host
    pairs = [pair.partition("=") for pair in parts.query.split("&")] if parts.query else []
    query = "&".join(
        f"{name}={quote_plus(REDACTED)}" if unquote_plus(name).lower() in _SECRET_QUERY else name + equals + value
        for name, equals, value in pairs
    )
    return urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name is likely to hold a secret."""
    upper = name.upper()
    return upper not in _HARMLESS_NAMES and any(mark in upper for mark in _SECRET_NAMES)


@cache
def is_credential_name(name: str) -> bool:
    """Whether an argument or attribute of this name is a credential: narrower, since a word such as key says little."""
    snake = re.sub(r"(?<=[a-z\d])(?=[A-Z])|-", "_", name).lower()
    return _CREDENTIAL.search(snake) is not None


def redact_value(value: str) -> str:
    """The value of an environment variable, with the user and password of URLs in it replaced: it stays a URL."""
    return _USER_IN_URL.sub("reenact-placeholder-credential", value)
