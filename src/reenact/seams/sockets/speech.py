"""What the program says over one connection, as it may be on tape: without what signs it on, and without masks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reenact.engine.lane import current
from reenact.tape import nature
from reenact.tape.redact import REDACTED, is_secret_header, redact_url
from reenact.tape.vault import Vault

if TYPE_CHECKING:
    from reenact.tape.websocket import Sent

_HEAD = re.compile(rb"\A([A-Z]+) (\S+) (HTTP/1\.[01])\r\n(.*?)\r\n\r\n", re.DOTALL)
_UPGRADES = re.compile(rb"^upgrade:[ \t]*websocket[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_SIGN_ON = re.compile(rb"(?im)^(AUTH(?:ENTICATE)?[ \t]+(?:[A-Z][A-Z\d-]*[ \t]+)?|PASS[ \t]+)([^\s]+)")


class Speech:
    """One connection. `messages`: it is that of a WebSocket; else it becomes one where the program asks for that."""

    def __init__(self, *, messages: bool = False) -> None:
        self._messages = _messages() if messages else None

    def sent(self, data: bytes) -> bytes:
        """What was sent. To be asked of all that is, in its order."""
        head = _HEAD.match(data)
        if head is not None:
            self._messages = _messages() if _UPGRADES.search(head[4]) is not None else None
            return _asked(head, _vault()) + data[head.end() :]
        if self._messages is not None:
            return self._messages.plain(data)
        return signed_off(data)


def _messages() -> Sent:
    from reenact.tape.websocket import Sent

    return Sent()


def signed_off(data: bytes) -> bytes:
    """A text without what signs the program on in a line of its own."""
    vault = _vault()
    if vault is not None:
        vault.learn(found[2] for found in _SIGN_ON.finditer(data))
    return _SIGN_ON.sub(lambda found: found[1] + REDACTED.encode(), data)


def _vault() -> Vault | None:
    lane = current()
    return lane.session.vault if lane is not None and lane.session is not None else None


def _asked(head: re.Match[bytes], vault: Vault | None) -> bytes:
    method, url, version, lines = head.groups()
    if vault is not None:
        pairs = [line.decode("latin-1").partition(":") for line in lines.split(b"\r\n")]
        asked = f"http://_{url.decode('latin-1')}"
        vault.learn([*nature.of_headers((name, value.strip()) for name, _, value in pairs), *nature.of_url(asked)])
    kept = [method + b" " + redact_url(url.decode("latin-1")).encode("latin-1") + b" " + version]
    for line in lines.split(b"\r\n"):
        name, colon, _ = line.partition(b":")
        secret = colon and is_secret_header(name.decode("latin-1"))
        kept.append(name + b": " + REDACTED.encode() if secret else line)
    return b"\r\n".join(kept) + b"\r\n\r\n"
