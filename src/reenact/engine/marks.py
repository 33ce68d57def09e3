"""What a program says of itself, while it is recorded or replayed: kept on tape, or compared with what the tape holds.

A mark is no event: nothing waits for it, and one that differs in a replay is drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from reenact import _real
from reenact.engine.divergence import Divergence, Marked, What
from reenact.engine.expected import Expected
from reenact.engine.lane import Lane, get_lane
from reenact.engine.place import Place, agent_place
from reenact.engine.scope import Scope, enter, here, scope_of
from reenact.errors import UsageError
from reenact.tape import event as ev
from reenact.tape import labels

if TYPE_CHECKING:
    from reenact.engine.session import Session

_MOST: Final = 64  # attributes of one mark


class Marks:
    """The marks of one run. None of its methods raises."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._count = 0
        self._lock = _real.allocate_lock()
        self._expected: Expected | None = None

    def begin(
        self, lane: Lane, kind: ev.MarkKind, name: object, attributes: Mapping[str, object], place: Place | None
    ) -> Scope | None:
        """An agent or a step begins, and the calling context is in it. `place` is where a marked function stands."""
        place = place or agent_place(_real.getframe(1)) or lane.origin
        try:
            within, told = scope_of(lane), self._text(name)
            kept, site = self._attributes(f"{kind.name.lower()} {told!r}", attributes), self._session.site_at(place)
            with self._lock:
                scope = Scope(lane, kind, self._count, told, within)
                self._count += 1
                self._keep(lane, kind, scope, site=site, name=told, attributes=kept)
            enter(scope)
            self._compare(lane, kind, told, kept, place)
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            self._session.fault(error)
            return None
        return scope

    def end(self, scope: Scope, error: str) -> None:
        """It ends, by an exception of the class `error` unless that is empty."""
        self._keep(scope.lane, ev.MarkKind.ENDED, scope, name=error)

    def before_event(self, lane: Lane) -> None:
        """Keeps which scope the lane is in at its next event, where the tape does not say so yet."""
        scope = scope_of(lane)
        if scope is not lane.inside:
            lane.inside = scope
            self._keep(lane, ev.MarkKind.INSIDE, scope)

    def session(self, lane: Lane, given: object) -> None:
        """The run belongs to this session."""
        self._label(lane, ev.MarkKind.SESSION, lambda clean: (labels.session_id(given, clean), {}))

    def tags(self, lane: Lane, keys: Iterable[object], tags: Mapping[str, object]) -> None:
        """The run has these tags, too; the keys alone are tags without a value."""
        pairs = [*((key, "") for key in keys), *tags.items()]
        self._label(lane, ev.MarkKind.TAGS, lambda clean: ("", dict(labels.tag_of(*pair, clean) for pair in pairs)))

    def _label(
        self, lane: Lane, kind: ev.MarkKind, made: Callable[[labels.Clean], tuple[str, dict[str, labels.Scalar]]]
    ) -> None:
        place = agent_place(_real.getframe(2)) or lane.origin
        try:
            name, attributes = made(self._session.vault.clean_text)
            self._keep(lane, kind, None, site=self._session.site_at(place), name=name, attributes=attributes)
            self._compare(lane, kind, name, attributes, place)
        except UsageError as error:
            self._session.note("mark", str(error), _real.getframe(2))
        except Exception as error:  # noqa: BLE001  as above
            self._session.fault(error)

    def _keep(
        self,
        lane: Lane,
        kind: ev.MarkKind,
        scope: Scope | None,
        site: int = -1,
        name: str = "",
        attributes: Mapping[str, labels.Scalar] = {},
    ) -> None:
        if self._session.recording:
            number = scope.number if scope is not None else -1
            within = scope.within.number if scope is not None and scope.within is not None else -1
            self._session.keep(
                ev.Mark(lane.index, kind, self._session.elapsed(), number, within, site, name, dict(attributes))
            )

    def told_of(self, divergence: Divergence) -> Divergence:
        """The divergence, with what the calling context is in."""
        scope = here()
        if scope is None or scope.lane.session is not self._session:
            lane = get_lane()
            scope = lane.scope if lane is not None else None
        if scope is None or divergence.what is What.STUCK:  # that is nobody's in particular
            return divergence
        marks = [Marked(ev.MarkKind(one.kind).name.lower(), one.name) for one in scope.outwards()]
        return msgspec.structs.replace(divergence, marks=tuple(reversed(marks)))

    # What of it may be kept

    def _text(self, given: object) -> str:
        if not issubclass(type(given), str):
            return f"<{type(given).__qualname__}>"
        return labels.text_of(str.__str__(given), self._session.vault.clean_text)

    def _attributes(self, whose: str, given: Mapping[str, object]) -> dict[str, labels.Scalar]:
        kept: dict[str, labels.Scalar] = {}
        for key, value in given.items():
            if len(kept) == _MOST:
                self._session.note("mark", f"{whose} has more than {_MOST} attributes: the first of them are kept")
                break
            name = self._text(key)
            try:
                kept[name] = labels.attribute(name, value, self._session.vault.clean_text)
            except TypeError as error:
                self._session.note("mark", f"{whose}: its attribute {name} {error}: its type alone is kept")
                kept[name] = f"<{type(value).__qualname__}>"
        return kept

    # What is compared

    def _compare(
        self, lane: Lane, kind: ev.MarkKind, name: str, attributes: Mapping[str, labels.Scalar], place: Place | None
    ) -> None:
        plan = self._session.plan
        if plan.prefix is None or plan.schedule is not None or self._session.boundary.beside(lane.path):
            return
        with self._lock:
            self._expected = self._expected or Expected(plan.prefix, self._session.boundary.fits)
            self._expected.meet((lane.path, kind, place.function if place is not None else ""), name, attributes)

    def drifts(self) -> dict[str, int]:
        """In what the marks of a replay that is over differ from the recorded ones, with how often."""
        tape = self._session.plan.prefix
        if tape is None or self._session.cut or self._session.divergences:
            return self._expected.drifts if self._expected is not None else {}
        self._expected = self._expected or Expected(tape, self._session.boundary.fits)
        return self._expected.end()
