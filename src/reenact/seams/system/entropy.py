"""The seam in entropy: `os.urandom`, what is seeded from it, uuids, and the Rust libraries that make their own.

Generators are not recorded draw by draw: what is kept is the entropy that they start from.
"""

from __future__ import annotations

import os
import random
import ssl
import sys
import uuid
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from reenact import _real
from reenact.engine.lane import MAX_PENDING, get_lane
from reenact.engine.session import Session
from reenact.seams.patch import Patches
from reenact.tape.event import DrawKind, Snapshot

_getframe = _real.getframe
_real_uuid4 = uuid.uuid4
_system_urandom = _real.urandom
_SEED_BYTES = 32
_ENTROPY = int(DrawKind.ENTROPY)
_RUST_UUIDS = ("uuid1", "uuid4", "uuid6", "uuid7", "uuid8", "uuid_v1mc")
_RUST_BULKS = ("uuid4_bulk", "uuid7_bulk", "uuid4_as_strings_bulk", "uuid7_as_strings_bulk")
_PLUMBING = frozenset({uuid.__file__, random.__file__, sys.modules["os"].__file__})


def install(patches: Patches) -> None:
    """Meets what reads entropy from the machine."""
    patches.function(os, "urandom", _urandom)
    patches.set(random, "_urandom", _bytes(_real.urandom, "urandom"))
    if hasattr(os, "getrandom"):
        patches.function(os, "getrandom", _bytes(os.getrandom, "getrandom"))
    patches.function(ssl, "RAND_bytes", _bytes(ssl.RAND_bytes, "RAND_bytes"))
    _install_seed(patches)
    patches.function(uuid, "uuid4", _uuid4)
    for name in ("uuid1", "uuid7"):
        if hasattr(uuid, name):
            patches.function(uuid, name, _uuid(getattr(uuid, name), lambda made: made.bytes, _uuid_from_bytes))


def start(session: Session) -> None:
    """Gives the interpreter's shared generator a recorded seed, as the machine would have given it one."""
    tape = session.plan.prefix
    seed = _real.urandom(_SEED_BYTES) if tape is None else tape.snapshots.get("random.seed")
    if seed is not None:
        session.keep(Snapshot("random.seed", seed))
        random.Random.seed(random._inst, seed)


def install_shared(patches: Patches) -> None:
    """Meets the shared generator draw by draw, for runs that are not the whole process and cannot own its state."""
    shared = random._inst
    patches.set(shared, "__class__", _Shared)
    patches.function(random, "random", shared.random)
    patches.function(random, "getrandbits", shared.getrandbits)


class _Shared(random.Random):
    """The generator behind the functions of `random`, when several runs and the rest of the process draw from it."""

    def random(self) -> float:
        lane = get_lane()
        if lane is None or lane.session is None or lane.session.exclusive:
            return super().random()
        return lane.session.draw(lane, DrawKind.RANDOM, super().random, _caller())  # type: ignore[return-value]

    def getrandbits(self, k: int, /) -> int:
        lane = get_lane()
        if lane is None or lane.session is None or lane.session.exclusive:
            return super().getrandbits(k)
        size = (k + 7) // 8
        real = super().getrandbits
        data = lane.session.draw(lane, DrawKind.GETRANDBITS, lambda: real(k).to_bytes(size), _caller())
        return int.from_bytes(data)  # type: ignore[arg-type]  # a GETRANDBITS draw is bytes


def meet_tempfile_shared(module: ModuleType, patches: Patches) -> None:
    """Names of temporary files come from a generator of the process's: each run gets one of its own."""
    names = module._RandomNameSequence
    real = names.rng
    own: WeakKeyDictionary[Session, random.Random] = WeakKeyDictionary()

    def rng(self: Any) -> random.Random:
        lane = get_lane()
        if lane is None or lane.session is None or lane.session.exclusive:
            return real.fget(self)  # type: ignore[no-any-return]
        if lane.session not in own:
            own[lane.session] = random.Random()  # noqa: S311  as tempfile itself
        return own[lane.session]

    patches.set(names, "rng", property(rng))


def install_uuid_utils(module: ModuleType, patches: Patches) -> None:
    """Meets `uuid_utils` and `fastuuid`, whose ids are made in Rust."""
    for name in _RUST_UUIDS:
        if hasattr(module, name):
            patches.function(module, name, _uuid(getattr(module, name), _bytes_of, _maker(module)))
    for name in _RUST_BULKS:
        if hasattr(module, name):
            make: Callable[[bytes], Any] = _as_string if "strings" in name else _maker(module)
            patches.function(module, name, _uuids(getattr(module, name), make))


def _as_string(data: bytes) -> str:
    return str(uuid.UUID(bytes=data))


def _bytes_of(made: Any) -> bytes:
    return bytes(made.bytes)


def _maker(module: ModuleType) -> Callable[[bytes], Any]:
    kind = getattr(module, "UUID", uuid.UUID)
    return lambda data: kind(bytes=data)


def _uuid_from_bytes(data: bytes) -> uuid.UUID:
    return uuid.UUID(bytes=data)


def _caller() -> FrameType:
    """The frame that asked: not the plumbing of uuid, secrets and random between it and the entropy."""
    frame = _getframe(2)
    while frame.f_code.co_filename in _PLUMBING and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _bytes(real: Callable[..., bytes], name: str) -> Callable[..., bytes]:
    def entropy(size: int, *flags: int) -> bytes:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(size, *flags)
        return lane.session.draw(lane, _ENTROPY, lambda: real(size, *flags), _caller())  # type: ignore[return-value]

    entropy.__name__ = entropy.__qualname__ = name
    return entropy


def _urandom(size: int, /) -> bytes:
    lane = get_lane()
    if lane is not None and lane.keeps:  # as `lane.drew`, without the call
        value = _system_urandom(size)
        values = lane.drawn[id(_getframe(1).f_code) + _ENTROPY]
        values.append(value)
        if len(values) == MAX_PENDING:
            lane.spill()
        return value
    if lane is None or lane.session is None:
        return _system_urandom(size)
    return lane.session.draw(lane, _ENTROPY, lambda: _system_urandom(size), _getframe(1))  # type: ignore[return-value]


def _uuid4() -> uuid.UUID:
    """As the standard library makes it, without a walk up from there to the caller."""
    lane = get_lane()
    if lane is not None and lane.keeps:  # as in `_urandom`
        data: Any = _system_urandom(16)
        values = lane.drawn[id(_getframe(1).f_code) + _ENTROPY]
        values.append(data)
        if len(values) == MAX_PENDING:
            lane.spill()
    elif lane is None or lane.session is None:
        return _real_uuid4()
    else:
        data = lane.session.draw(lane, _ENTROPY, lambda: _real.urandom(16), _getframe(1))
    return uuid.UUID(bytes=data, version=4)


for _made, _name in ((_urandom, "urandom"), (_uuid4, "uuid4")):
    _made.__name__ = _made.__qualname__ = _name


def _uuid(
    real: Callable[..., Any], to_bytes: Callable[[Any], bytes], make: Callable[[bytes], Any]
) -> Callable[..., Any]:
    def make_uuid(*args: Any, **kwargs: Any) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(*args, **kwargs)
        data = lane.session.draw(lane, DrawKind.UUID, lambda: to_bytes(real(*args, **kwargs)), _caller())
        return make(data)  # type: ignore[arg-type]  # a UUID draw is bytes

    make_uuid.__name__ = make_uuid.__qualname__ = getattr(real, "__name__", "uuid")
    return make_uuid


def _uuids(real: Callable[..., Any], make: Callable[[bytes], Any]) -> Callable[..., Any]:
    def make_uuids(*args: Any, **kwargs: Any) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(*args, **kwargs)
        data = lane.session.draw(
            lane,
            DrawKind.UUID,
            lambda: b"".join(uuid.UUID(str(one)).bytes for one in real(*args, **kwargs)),
            _caller(),
        )
        return [make(data[at : at + 16]) for at in range(0, len(data), 16)]  # type: ignore[arg-type, index]

    make_uuids.__name__ = make_uuids.__qualname__ = real.__name__
    return make_uuids


def _install_seed(patches: Patches) -> None:
    real_seed = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None and get_lane() is not None:
            a = int.from_bytes(os.urandom(_SEED_BYTES))
        real_seed(self, a, version)

    patches.set(random.Random, "seed", seed)
    patches.function(random, "seed", random._inst.seed)
