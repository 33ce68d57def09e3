"""Which requests are side traffic: telemetry that is sent and forgotten, whose answer the program does not use.

A pattern is `host/path` with `*` for anything, as `docs/side-traffic.md` tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from reenact.errors import UsageError

_SENDING = ("POST", "PUT", "PATCH")
_PORTS = {"http": 80, "https": 443}
_KNOWN = 1024  # requests of which is kept whether they are: an agent asks the same few addresses again and again


class Pattern(msgspec.Struct, frozen=True):
    """One entry of the list. `off` takes what it fits off the list; a host that begins with `*` is any that ends so.

    `methods` and `port` are empty for any.
    """

    off: bool
    methods: tuple[str, ...]
    host: str
    port: int | None
    path: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """The pattern that is written so.

        Raises:
            UsageError: it is none.
        """
        method, _, rest = text.removeprefix("!").strip().rpartition(" ")
        try:
            parts = urlsplit(f"//{rest}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host or "*" in host[1:] or "://" in rest or "?" in rest or not re.fullmatch("[A-Z]*", method):
            raise UsageError(
                f"[tool.reenact] side-traffic: {text!r} is no pattern: write it as telemetry.example.com/v1/*, with a "
                "method before it where that is not POST, PUT or PATCH, and ! at the beginning to take it off the list"
            )
        path = _expression(parts.path.rstrip("/")) + "/?" if parts.path else ".*"
        off = text.startswith("!")
        methods = (method,) if method else () if off else _SENDING
        return cls(off, methods, host, port, re.compile(path))

    def fits(self, method: str, host: str, port: int | None, path: str) -> bool:
        """Whether a request is such a one."""
        if self.host[0] == "*":
            if not host.endswith(self.host[1:]):
                return False
        elif host != self.host:
            return False
        alike = self.port in (None, port) and (not self.methods or method in self.methods)
        return alike and self.path.fullmatch(path) is not None


def _expression(path: str) -> str:
    """The path as a regular expression, which never tries a second place for what stands between two stars."""
    first, *rest = map(re.escape, path.split("*"))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>.*?{one})" for one in middle) + ".*" + last


class SideTraffic:
    """The list of one run. Of the patterns that fit a request, the last one decides."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._texts = patterns
        self._patterns: list[Pattern] | None = None
        self._known: dict[str, str | None] = {}

    def host(self, request: str) -> str | None:
        """Where a request goes if it is side traffic, else None. `request` is its method and URL."""
        if not self._texts:
            return None
        if request not in self._known:
            if len(self._known) == _KNOWN:
                self._known.clear()
            self._known[request] = self._find(request)
        return self._known[request]

    def _find(self, request: str) -> str | None:
        if self._patterns is None:
            self._patterns = [Pattern.parse(text) for text in reversed(self._texts)]
        method, _, url = request.partition(" ")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
        except ValueError:
            return None
        found = next((one for one in self._patterns if one.fits(method, host, port, parts.path or "/")), None)
        return None if found is None or found.off else parts.netloc.rpartition("@")[2]
