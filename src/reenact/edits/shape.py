"""A recorded answer taken apart into blocks, and put together with others."""

from __future__ import annotations

import hashlib
import re
import string
from dataclasses import dataclass
from typing import Any, Protocol

from reenact.edits.decision import REFUSAL, Call, Decision
from reenact.errors import EditError

_PORTION = 12
_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_MADE = re.compile(r"(?P<prefix>[a-z]+[_-](?:01)?)?(?P<rest>[0-9A-Za-z_-]+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One thing that the model said: words, a call, or what is kept as it is (reasoning, media, hosted tools).

    `raw` is what the format knows it by: an object of its JSON, or events.
    """

    raw: Any
    said: str | None = None
    call: Call | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Ids:
    """What the ids of calls look like. A format without ids has a `length` of 0."""

    prefix: str
    length: int


class Shape(Protocol):
    """One recorded answer in one format, streamed or not.

    `blocks` and `stop` (the provider's word) are as recorded. `stops` has the provider's words for each of STOPS, and
    `other_stops` those that it has besides.
    """

    blocks: list[Block]
    stop: str
    stops: dict[str, str]
    other_stops: tuple[str, ...]
    ids: Ids

    def say(self, text: str, like: Block | None, *, refused: bool) -> Block:
        """A block of words, like one that was there."""

    def ask(self, call: Call, like: Block | None) -> Block:
        """A block that is this call (which has an id), like one that was there."""

    def whole(self, blocks: list[Block], stop: str) -> list[bytes]:
        """The body of the answer with these blocks, in pieces."""


def decision_of(shape: Shape, reasoning: str = "") -> Decision:
    """What was decided."""
    calls = tuple(block.call for block in shape.blocks if block.call is not None)
    said = [block for block in shape.blocks if block.said is not None]
    plain = Decision("".join(block.said or "" for block in said), calls, "", reasoning)
    if any(block.refused for block in said):
        return Decision(plain.text, calls, REFUSAL, reasoning)
    if not shape.stop or shape.stop == shape.stops[plain.following]:
        return plain
    stop = next((name for name, word in shape.stops.items() if word == shape.stop), shape.stop)
    return Decision(plain.text, calls, stop, reasoning)


def edited(shape: Shape, decision: Decision, seed: bytes) -> list[bytes]:
    """The body with this decision in the place of the recorded one. New ids follow from `seed` and the decision."""
    said, asked = _said(shape, decision), _asked(shape, decision, seed)
    blocks: list[Block] = []
    after_calls = None
    for block in shape.blocks:
        if block.said is not None:
            blocks += said.pop(0)
        elif block.call is None:
            blocks.append(block)
        elif asked:
            blocks.append(asked.pop(0))
            after_calls = len(blocks)
    end = len(blocks) if after_calls is None else after_calls
    blocks[end:end] = asked
    if (decision.text or not decision.calls) and not any(block.said is not None for block in shape.blocks):
        first = next((at for at, block in enumerate(blocks) if block.call is not None), len(blocks))
        blocks.insert(first, shape.say(decision.text, None, refused=decision.stop == REFUSAL))
    return shape.whole(blocks, _stop(shape, decision))


def _stop(shape: Shape, decision: Decision) -> str:
    if shape.stop and decision.stops == decision_of(shape).stops:
        return shape.stop
    return shape.stops.get(decision.stops, decision.stops)


def _said(shape: Shape, decision: Decision) -> list[list[Block]]:
    """What stands in the place of each block of words: those that the new text begins with stay."""
    said = [block for block in shape.blocks if block.said is not None]
    rest, refused = decision.text, decision.stop == REFUSAL
    if "".join(block.said or "" for block in said) == rest and all(block.refused == refused for block in said):
        return [[block] for block in said]
    out: list[list[Block]] = [[] for _ in said]
    for at, block in enumerate(said[:-1]):
        if not block.said or not rest.startswith(block.said) or block.refused != refused:
            break
        out[at] = [block]
        rest = rest.removeprefix(block.said)
    if said and (rest or not (decision.text or decision.calls)):
        out[-1] = [shape.say(rest, said[-1], refused=refused)]
    return out


def _asked(shape: Shape, decision: Decision, seed: bytes) -> list[Block]:
    """The calls of the decision as blocks. One without an id is that of the same tool, else one left over."""
    left = [block for block in shape.blocks if block.call is not None]
    found: list[Block | None] = [None] * len(decision.calls)
    for fits in (_by_id, _by_name, _by_place):
        for at, call in enumerate(decision.calls):
            if found[at] is None and (block := next((b for b in left if fits(call, b.call)), None)) is not None:
                found[at] = block
                left.remove(block)
    return [
        _ask(shape, call, block, seed, at) for at, (call, block) in enumerate(zip(decision.calls, found, strict=True))
    ]


def _by_id(call: Call, was: Call | None) -> bool:
    return was is not None and bool(call.id) and call.id == was.id


def _by_name(call: Call, was: Call | None) -> bool:
    return was is not None and not call.id and call.name == was.name


def _by_place(call: Call, was: Call | None) -> bool:
    return was is not None and not call.id


def _ask(shape: Shape, call: Call, like: Block | None, seed: bytes, slot: int) -> Block:
    was = like.call if like is not None else None
    if like is not None and was is not None and call.same(was):
        return like
    made = call.id or (was.id if was is not None else _new_id(shape, seed + f"/{slot}/{call}".encode()))
    return shape.ask(Call(call.name, call.arguments, made), like)


def _new_id(shape: Shape, material: bytes) -> str:
    """An id like those of the calls that were there, else like those of the format."""
    used = [block.call.id for block in shape.blocks if block.call is not None]
    like = _MADE.fullmatch(used[0]) if used and used[0] else None
    if like is None:
        return shape.ids.prefix + _letters(material, shape.ids.length)
    return (like["prefix"] or "") + _letters(material, min(len(like["rest"]), 64))


def _letters(material: bytes, length: int) -> str:
    """So many letters and digits that follow from the material."""
    number = int.from_bytes(hashlib.sha512(material).digest(), "big")
    out = []
    for _ in range(length):
        number, rest = divmod(number, len(_LETTERS))
        out.append(_LETTERS[rest])
    return "".join(out)


def object_of(call: Call) -> dict[str, Any]:
    """The arguments, for a format that has them as an object. Raises EditError where they are none."""
    given = call.object
    if given is None:
        raise EditError(f"the arguments of {call.name!r} have to be a JSON object: {call.arguments[:80]!r}")
    return given


def portions(text: str) -> int:
    """In how many pieces a model would stream it, about."""
    return -(-len(text) // _PORTION)


def pieces(text: str, count: int) -> list[str]:
    """A text in about so many pieces, cut before words where that is near; joined they are the text."""
    size = max(1, -(-len(text) // max(1, count)))
    out: list[str] = []
    at = 0
    while at < len(text):
        end = min(len(text), at + size)
        gap = text.find(" ", end, end + size)
        end = gap if gap > 0 else end
        out.append(text[at:end])
        at = end
    return out
