"""What the HTTP seams share: how a request becomes a call, and whether it is one of the run at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from reenact.engine.call import Call
from reenact.engine.crossing import Crossing, Revive
from reenact.engine.lane import Lane, current
from reenact.seams.http.answered import Answered
from reenact.seams.http.aside import aside_of, plain_answer
from reenact.tape import nature
from reenact.tape.event import Kind, PartKind
from reenact.tape.redact import is_telling, redact_headers, redact_url


def request(method: str, url: str, headers: Collection[tuple[str, str]], body: bytes) -> Call:
    """The call that an HTTP request makes, without what must never reach the disk."""
    lane = current()
    if lane is not None and lane.session is not None:
        kept = lane.session.vault.learn_headers(headers)
        if is_telling(url):
            lane.session.vault.learn([*nature.of_url(url)])
    else:
        kept = redact_headers(headers)
    return Call(Kind.HTTP, f"{method.upper()} {redact_url(url)}", kept, body)


def begin(lane: Lane, build: Callable[[], Call], revive: Revive, first: PartKind = PartKind.HEAD) -> Crossing | None:
    """The crossing for what `build` describes; None when it cannot be described, and the call is left alone.

    That is a fault of ours: it is reported at the end of a recording, and never reaches the agent. `first` is the part
    that the seam pulls first.
    """
    session = lane.session
    assert session is not None  # noqa: S101  seams ask `current()`, which gives live lanes only
    try:
        call = build()
        aside = session.side.host(call.name)
    except Exception as fault:
        if not session.recording:
            raise
        session.fault(fault)
        return None
    if session.source is not None:
        if aside is not None:
            return Answered.plainly(lane, call, revive, plain_answer(None, first))
        return Answered.by(session.source, lane, call, revive, first)
    return Crossing.begin(lane, call, revive) if aside is None else aside_of(lane, aside, revive, first)


def text_pairs(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """Raw headers as text. Latin-1 maps every byte to one character and back."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]


def raw_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """The inverse of `text_pairs`."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
