"""The seam in the semaphores of multiprocessing: locks, conditions, events and bounded queues are made of them."""

from __future__ import annotations

import _multiprocessing  # type: ignore[import-not-found]
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from reenact import _real
from reenact.seams.patch import Patches
from reenact.tape.event import Kind

if TYPE_CHECKING:
    from reenact.seams.concurrency.channels import Channels

_COUNT = itertools.count()
_RECURSIVE = 0  # the kind that its owner may acquire again

_decode = msgspec.msgpack.Decoder(int).decode


def install(module: ModuleType, patches: Patches, channels: Channels) -> None:
    """Meets the semaphores that `multiprocessing.synchronize` makes from now on."""
    patches.set(module._multiprocessing, "SemLock", type("SemLock", (_SemLock,), {"_channels": channels}))


class _SemLock(_multiprocessing.SemLock):  # type: ignore[misc]
    """As the real one. In a run it is counted here who has it: in replay nobody else gives it back."""

    _channels: Channels
    _held = 0
    _owner = 0
    _known_as = ""

    @classmethod
    def _rebuild(cls, handle: int, kind: int, maxvalue: int, name: str) -> _SemLock:
        """That of another process, in a fresh one. In replay that may have ended by now, and nobody needs it."""
        if not cls._channels.replaying:
            return super()._rebuild(handle, kind, maxvalue, name)  # type: ignore[no-any-return]
        made = cls(kind, 1, maxvalue, f"/reenact-{_real.getpid()}-{next(_COUNT)}", True)  # noqa: FBT003  it has no name
        made._known_as = name
        return made

    @property
    def name(self) -> str | None:
        return self._known_as or super().name

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:  # noqa: FBT001, FBT002  as the real one
        if self._channels.lane() is None:
            return bool(super().acquire(block, timeout))
        if not self._ask("acquire a semaphore", lambda: super(_SemLock, self).acquire(block, timeout)):
            return False
        self._held += 1
        self._owner = _real.get_ident()
        return True

    def release(self) -> None:
        if self._channels.lane() is None:
            super().release()
            return
        if self.kind == _RECURSIVE and not self._is_mine():
            raise AssertionError("attempt to release recursive lock not owned by thread")
        self._channels.leaves()
        self._ask("release a semaphore", super().release)
        self._held -= 1

    def _count(self) -> int:
        return int(super()._count()) if self._channels.lane() is None else self._held

    def _is_mine(self) -> bool:
        if self._channels.lane() is None:
            return bool(super()._is_mine())
        return self._held > 0 and self._owner == _real.get_ident()

    def _after_fork(self) -> None:
        self._held = 0
        super()._after_fork()

    def _get_value(self) -> int:
        return self._ask("ask a semaphore for its value", super()._get_value)

    def _is_zero(self) -> bool:
        return bool(self._ask("ask a semaphore whether it is taken", super()._is_zero))

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_exc: object) -> None:
        self.release()

    def _ask(self, what: str, real: Callable[[], Any]) -> int:
        lane = self._channels.lane()
        if lane is None:
            return int(real())
        return _decode(self._channels.ask(lane, Kind.WAIT, what, lambda: int(real() or 0)))
