"""AWS Signature Version 4 of a request that was changed after it was signed, as the SDK would have signed it.

The time, the scope and the signed headers stay; only what they are of is new. So nothing is needed but the secret, and
whether it is the right one shows in the signature that was there. Algorithm: "Signature Version 4 signing process",
AWS.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlsplit

from reenact.edits.asked import Asked
from reenact.errors import EditError

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), ?SignedHeaders=(?P<names>[^,]+), ?"
    r"Signature=(?P<signature>[0-9a-f]{64})"
)


def access_key(asked: Asked) -> str | None:
    """Whose key a request is signed with; None for one that is not signed so."""
    found = _AUTHORIZATION.fullmatch(_header(asked, "authorization"))
    return found["key"] if found is not None else None


def resigned(before: Asked, after: Asked, secret: str) -> Asked:
    """The changed request, signed as the one before it. Raises EditError where that was signed with another secret."""
    found = _AUTHORIZATION.fullmatch(_header(before, "authorization"))
    if found is None:
        return after
    if not hmac.compare_digest(_signature(before, found, secret), found["signature"]):
        raise EditError(f"the request is signed with {found['key']}, and the secret that is known is not that key's")
    digest = hashlib.sha256(after.body).hexdigest()
    old = hashlib.sha256(before.body).hexdigest()
    headers = tuple(
        (name, digest if name.lower() == "x-amz-content-sha256" and value == old else value)
        for name, value in after.headers
    )
    after = replace(after, headers=headers)
    new = found[0].replace(found["signature"], _signature(after, found, secret))
    signed = tuple((name, new if name.lower() == "authorization" else value) for name, value in after.headers)
    return replace(after, headers=signed)


def _signature(asked: Asked, found: re.Match[str], secret: str) -> str:
    parts = urlsplit(asked.url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    query = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in given)
    names = found["names"].split(";")
    lines = [
        asked.method,
        quote(parts.path or "/", safe="/-_.~"),
        "&".join(f"{name}={value}" for name, value in query),
        *(f"{name}:{_signed(asked, name)}" for name in names),
        "",
        found["names"],
        _header(asked, "x-amz-content-sha256") or hashlib.sha256(asked.body).hexdigest(),
    ]
    canonical = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", _header(asked, "x-amz-date"), found["scope"], canonical))
    key = b"AWS4" + secret.encode()
    for word in found["scope"].split("/"):
        key = hmac.digest(key, word.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _signed(asked: Asked, name: str) -> str:
    """A header as it is signed. Clients that add the host themselves leave it out of what they hand on."""
    value = _header(asked, name)
    if name == "host" and not value:
        return urlsplit(asked.url).netloc
    return " ".join(value.split())


def _header(asked: Asked, name: str) -> str:
    return ",".join(value for key, value in asked.headers if key.lower() == name)
