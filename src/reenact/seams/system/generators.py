"""The generators that a run has: the one of `random`, that of numpy, and those that the program makes.

They are not met draw by draw. What is known of them is their state, for tools that draw from them (`engine/moved.py`).
"""

from __future__ import annotations

import functools
import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from reenact import _real
from reenact.engine.lane import Lane, get_lane
from reenact.engine.place import name_of
from reenact.engine.session import Session
from reenact.seams.patch import Patches

MOST = 1000
"""So many that the program has made are looked at, twice at each tool."""

_RANDOM, _NUMPY = "random", "numpy.random"
_WORDS = struct.Struct("<625I")
_GAUSS = struct.Struct("<d")


class _Made:
    """Those that a run has made, by lane, place, and number."""

    def __init__(self) -> None:
        self.alive: WeakValueDictionary[str, random.Random] = WeakValueDictionary()
        self._counts: Counter[str] = Counter()

    def add(self, lane: Lane, place: str, generator: random.Random) -> None:
        name = f"{lane.path} {place}"
        self.alive[f"{name} {self._counts[name]}"] = generator
        self._counts[name] += 1


_made: WeakKeyDictionary[Session, _Made] = WeakKeyDictionary()


def install(patches: Patches) -> None:
    """Meets generators when they are made."""
    real = random.Random.__init__

    @functools.wraps(real)
    def init(self: random.Random, x: Any = None) -> None:
        real(self, x)
        lane = get_lane()
        if lane is not None and lane.session is not None:
            place = name_of(_real.getframe(1))
            _made.setdefault(lane.session, _Made()).add(lane, place, self)

    patches.set(random.Random, "__init__", init)


def states(session: Session) -> dict[str, bytes]:
    """See `engine.moved.Shared`. In a run in code `random` has its draws on tape, and no state."""
    found = {_RANDOM: _state(random._inst)} if session.exclusive else {}
    if (numpy := _numpy()) is not None:
        found[_NUMPY] = json.dumps(numpy.get_state(legacy=False), default=lambda array: array.tolist()).encode()
    if session in _made:
        alive = list(_made[session].alive.items())
        if len(alive) > MOST:
            session.note(
                "tool", f"the program has more than {MOST} generators: what tools draw from others is not kept"
            )
        found.update((name, _state(generator)) for name, generator in alive[:MOST])
    return found


def put(session: Session, states: Mapping[str, bytes]) -> None:
    """See `engine.moved.Shared`. Those that are not there stay as they are."""
    for name, state in states.items():
        if name == _NUMPY:
            if (numpy := _numpy()) is not None:
                numpy.set_state(json.loads(state))
        elif name == _RANDOM:
            _put(random._inst, state)
        elif session in _made and (generator := _made[session].alive.get(name)) is not None:
            _put(generator, state)


def _numpy() -> Any:
    """Its module, where the program has imported it."""
    module = sys.modules.get("numpy.random")
    return module if hasattr(module, "set_state") else None


def _state(generator: random.Random) -> bytes:
    _, words, gauss = random.Random.getstate(generator)
    return _WORDS.pack(*words) + (b"" if gauss is None else _GAUSS.pack(gauss))


def _put(generator: random.Random, state: bytes) -> None:
    gauss = state[_WORDS.size :]
    words = _WORDS.unpack(state[: _WORDS.size])
    random.Random.setstate(generator, (3, words, _GAUSS.unpack(gauss)[0] if gauss else None))
