"""The most telling of the causes that the changes of a divergence show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from reenact.diff.change import Change, Kind, Part
from reenact.diff.pointer import steps
from reenact.engine.cause.edit import ON_PURPOSE, edited, other_host, other_path, said
from reenact.engine.cause.leak import leaked
from reenact.engine.cause.scene import Scene, document_of
from reenact.engine.cause.words import listed, quoted
from reenact.engine.diff import HIDDEN, called, compare
from reenact.engine.divergence import Cause, Datum, Divergence, Request
from reenact.engine.normalize import SHIPPED, Normalizer, canonical

# Of several causes the first is named; the others are mentioned.
RANK: Final = (
    "host", "other-call", "model", "tool-schema", "sampling", "address", "unordered", "temp-path", "path", "uuid",
    "clock", "random", "process", "tool-result", "history", "prompt",
)  # fmt: skip


def explain(
    divergence: Divergence, normalizers: Sequence[Normalizer] = SHIPPED, draws: Sequence[Datum] = ()
) -> Divergence:
    """The divergence with its changes and likely cause, found from what was expected and what was asked."""
    expected, actual = (
        canonical(asked, normalizers) if isinstance(asked, Request) else asked
        for asked in (divergence.expected, divergence.actual)
    )
    if expected is None or actual is None:
        return divergence
    changes = compare(expected, actual)
    cause = likely_cause(expected, actual, changes, draws)
    return msgspec.structs.replace(divergence, changes=changes, cause=cause)


def likely_cause(
    expected: Request | Datum | None,
    actual: Request | Datum | None,
    changes: Sequence[Change],
    draws: Sequence[Datum] = (),
) -> Cause | None:
    """The most telling cause that the changes show, others mentioned in its text; None when they show none.

    `expected` and `actual` are what was compared, `draws` those of this lane that the tape could not answer.
    """
    if expected is None or actual is None:
        return None
    scene = Scene(expected, actual, document_of(expected))
    found: dict[str, Cause] = {}
    for change in changes:
        for cause in _causes(change, scene):
            found.setdefault(cause.slug, cause)
    if not found:
        return None
    slugs = sorted(found, key=RANK.index)
    first = found[slugs[0]]
    text = first.text
    if slugs[1:]:
        text += f" Other causes seen: {listed(slugs[1:])}."
    if draws and {"clock", "random", "uuid"}.intersection(slugs):
        text += f" This run made draws that the tape does not hold: {listed([draw.name for draw in draws])}."
    return Cause(first.slug, text, first.advice)


def _causes(change: Change, scene: Scene) -> Iterator[Cause]:
    if change.kind is Kind.ELIDED or change.before == change.after == HIDDEN:
        return
    at = steps(change.pointer)
    if change.part is Part.BODY:
        edit = edited(change, at, scene.document)
    elif change.part is Part.PATH:
        edit = other_path(change, scene)
    elif change.part is Part.ORIGIN:
        edit = other_host(change)
    elif change.part in (Part.CALL, Part.METHOD):
        advice = "Look at what leads to this line: a condition, a loop, a call more or less before it. "
        text = f"The run asks {quoted(called(scene.actual))} where the tape holds {quoted(called(scene.expected))}."
        edit = Cause("other-call", text, advice + ON_PURPOSE)
    else:
        edit = None
    if edit is not None:
        yield edit
        return
    leaks, rest = leaked(change, scene)
    yield from leaks
    if rest and change.part is Part.BODY:
        speech = said(change, at, scene.document, rest)
        if speech is not None:
            yield speech
