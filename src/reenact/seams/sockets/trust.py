"""The seam in whom TLS trusts: nothing connects in a replay, so the certificates of all the world are not loaded there.

To load them takes long, and each client that an SDK makes does it. They are loaded when somebody asks for them, or
when a context is used: by a run that has gone live, say.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from reenact import _real
from reenact.engine.session import Session
from reenact.seams.patch import Patches

_Real = Callable[..., Any]
_USES = ("_wrap_socket", "_wrap_bio", "get_ca_certs", "cert_store_stats")


def install(session: Session, patches: Patches) -> None:
    """Meets `ssl.SSLContext` in a replay."""
    kind = ssl.SSLContext
    locations, defaults = kind.load_verify_locations, kind.set_default_verify_paths
    later: WeakKeyDictionary[ssl.SSLContext, list[tuple[_Real, tuple[Any, ...]]]] = WeakKeyDictionary()

    @functools.wraps(locations)
    def load_verify_locations(self: Any, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if session.live or cadata is not None or not (_is_there(cafile) or _is_there(capath)):
            locations(self, cafile, capath, cadata)
        else:
            later.setdefault(self, []).append((locations, (cafile, capath)))

    @functools.wraps(defaults)
    def set_default_verify_paths(self: Any) -> None:
        if session.live:
            defaults(self)
        else:
            later.setdefault(self, []).append((defaults, ()))

    def used(real: _Real) -> _Real:
        @functools.wraps(real)
        def use(self: Any, *args: Any, **kwargs: Any) -> Any:
            for load, paths in later.pop(self, ()):
                load(self, *paths)
            return real(self, *args, **kwargs)

        return use

    patches.set(kind, "load_verify_locations", load_verify_locations)
    patches.set(kind, "set_default_verify_paths", set_default_verify_paths)
    for name in _USES:
        patches.set(kind, name, used(getattr(kind, name)))


def _is_there(path: str | bytes | None) -> bool:
    """What is missing is missed at once."""
    try:
        return path is not None and bool(_real.stat(path))
    except (OSError, TypeError, ValueError):
        return False
