"""Another model, or another place where it is asked, in the same API."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from reenact.edits.asked import Asked
from reenact.errors import EditError
from reenact.providers.route import place_of

# What of a path is the API's own, after the base URL as its SDK takes it.
_OWN_PATHS = {
    "openai.chat": re.compile(r"/chat/completions$"),
    "openai.responses": re.compile(r"/responses(?:/compact)?$"),
    "anthropic.messages": re.compile(r"/v1/messages$"),
    "google.gemini": re.compile(r"/v\d\w*/.*$"),
    "bedrock.converse": re.compile(r"/model/.*$"),
    "bedrock.invoke": re.compile(r"/model/.*$"),
}
_KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "x-amz-security-token")
_KEY_OF = {"anthropic.messages": "x-api-key", "google.gemini": "x-goog-api-key"}


@dataclass(frozen=True, slots=True)
class ModelRule:
    """Every request asks this model. Where the URL names it (Gemini, Bedrock, Azure), the URL changes."""

    model: str

    def apply(self, asked: Asked) -> Asked:
        """See Rule."""
        place = place_of(asked.method, asked.url)
        if place is not None and place.model:
            asked = replace(asked, url=_with_model(asked.url, place.model, self.model))
        document = asked.document()
        if document.get("model", self.model) == self.model:
            return asked
        return asked.saying({**document, "model": self.model})


def _with_model(url: str, old: str, new: str) -> str:
    """The URL with another model where the path has that one, as a part of it or before a colon."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    for at, segment in enumerate(segments):
        name, colon, verb = segment.partition(":") if unquote(segment) != old else (segment, "", "")
        if unquote(name) == old:
            segments[at] = quote(new, safe="") + colon + verb
    return urlunsplit(parts._replace(path="/".join(segments)))


@dataclass(frozen=True, slots=True)
class BaseUrlRule:
    """Every request goes to this base URL, which is what the SDK of its API would be given as one.

    Keys of the place that it was for do not go there: `key`, if any, stands where the API wants one.
    """

    url: str
    key: str = ""

    def __post_init__(self) -> None:
        """Raises EditError where the URL is none."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EditError(f"{self.url!r} is no base URL: it has to begin with http:// or https://, and a host")

    def apply(self, asked: Asked) -> Asked:
        """See Rule."""
        api, parts, base = asked.api, urlsplit(asked.url), urlsplit(self.url)
        own = _OWN_PATHS[api].search(parts.path)
        if own is None:
            raise EditError(f"{asked.url} cannot be sent elsewhere: its path is not one of the API's own")
        query = urlencode(
            [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "key"]
        )
        path = base.path.rstrip("/") + own[0]
        if asked.url == (url := urlunsplit((base.scheme, base.netloc, path, query, ""))):
            return asked
        headers = [(name, value) for name, value in asked.headers if name.lower() not in _KEYS]
        headers = [(name, base.netloc if name.lower() == "host" else value) for name, value in headers]
        if self.key:
            name = _KEY_OF.get(api, "authorization")
            headers.append((name, self.key if api in _KEY_OF else f"Bearer {self.key}"))
        return replace(asked, url=url, headers=tuple(headers))
