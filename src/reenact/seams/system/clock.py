"""The seam in the clocks: `time` and `datetime`. A sleep is a crossing of its own and takes no time in replay."""

from __future__ import annotations

import datetime as dt
import time as time_module
from collections.abc import Callable
from typing import Any

from reenact import _real
from reenact.engine.call import Call
from reenact.engine.crossing import Answer, Crossing
from reenact.engine.lane import MAX_PENDING, get_lane
from reenact.seams.patch import Patches
from reenact.tape.event import DrawKind, Failed, Kind, PartKind

_CLOCKS = {
    "time": DrawKind.TIME,
    "time_ns": DrawKind.TIME_NS,
    "monotonic": DrawKind.MONOTONIC,
    "monotonic_ns": DrawKind.MONOTONIC_NS,
    "perf_counter": DrawKind.PERF_COUNTER,
    "perf_counter_ns": DrawKind.PERF_COUNTER_NS,
    "process_time": DrawKind.PROCESS_TIME,
    "process_time_ns": DrawKind.PROCESS_TIME_NS,
    "thread_time": DrawKind.THREAD_TIME,
    "thread_time_ns": DrawKind.THREAD_TIME_NS,
}
_TIME = int(DrawKind.TIME)
_getframe = _real.getframe


def install(patches: Patches) -> None:
    """Meets every reading of the clock that goes through Python."""
    for name, kind in _CLOCKS.items():
        patches.function(time_module, name, _clock(name, kind, getattr(time_module, name)))
    patches.function(time_module, "clock_gettime", _clock_gettime("clock_gettime", DrawKind.CLOCK_GETTIME))
    patches.function(time_module, "clock_gettime_ns", _clock_gettime("clock_gettime_ns", DrawKind.CLOCK_GETTIME_NS))
    for name in ("gmtime", "localtime", "ctime"):
        patches.function(time_module, name, _of_seconds(getattr(time_module, name)))
    patches.function(time_module, "asctime", _asctime(time_module.asctime))
    patches.function(time_module, "strftime", _strftime(time_module.strftime))
    patches.function(time_module, "sleep", _sleep)
    _install_datetime(patches)


def _clock(name: str, drawn: DrawKind, real: Callable[[], Any]) -> Callable[[], Any]:
    kind = int(drawn)

    def clock() -> Any:
        lane = get_lane()
        if lane is not None and lane.keeps:  # as `lane.drew`, without the call
            value = real()
            values = lane.drawn[id(_getframe(1).f_code) + kind]
            values.append(value)
            if len(values) == MAX_PENDING:
                lane.spill()
            return value
        if lane is None or lane.session is None:
            return real()
        return lane.session.draw(lane, kind, real, _getframe(1))

    clock.__name__ = clock.__qualname__ = name
    clock.__module__ = "time"
    return clock


def _clock_gettime(name: str, kind: DrawKind) -> Callable[[int], Any]:
    real = getattr(time_module, name)

    def clock_gettime(clk_id: int, /) -> Any:
        lane = get_lane()
        if lane is None or lane.session is None:
            return real(clk_id)
        return lane.session.draw(lane, kind, lambda: real(clk_id), _getframe(1))

    clock_gettime.__name__ = clock_gettime.__qualname__ = name
    return clock_gettime


def _now(depth: int) -> float:
    """Seconds since 1970 as the lane sees them, or as the machine does outside of any lane."""
    lane = get_lane()
    if lane is not None and lane.keeps:
        now = _real.time()
        lane.drew(_TIME, _getframe(depth + 1), now)
        return now
    if lane is None or lane.session is None:
        return _real.time()
    value = lane.session.draw(lane, _TIME, _real.time, _getframe(depth + 1))
    return float(value)  # type: ignore[arg-type]  # a TIME draw is a float


def _of_seconds(real: Callable[..., Any]) -> Callable[..., Any]:
    def of_seconds(seconds: float | None = None, /) -> Any:
        return real(_now(1) if seconds is None else seconds)

    of_seconds.__name__ = of_seconds.__qualname__ = real.__name__
    return of_seconds


def _asctime(real: Callable[..., str]) -> Callable[..., str]:
    def asctime(*when: Any) -> str:
        return real(*when) if when else real(_real.localtime(_now(1)))

    return asctime


def _strftime(real: Callable[..., str]) -> Callable[..., str]:
    def strftime(layout: str, *when: Any) -> str:
        return real(layout, *when) if when else real(layout, _real.localtime(_now(1)))

    return strftime


def _sleep(seconds: float, /) -> None:
    lane = get_lane()
    if lane is None or lane.session is None:
        _real.sleep(seconds)
        return

    def perform() -> Answer:
        _real.sleep(seconds)
        return Answer(PartKind.VALUE, b"")

    lasts = float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else None
    Crossing.begin(lane, Call(Kind.SLEEP, f"sleep {seconds!r}", lasts=lasts), _revive).pull(perform)


_sleep.__name__ = _sleep.__qualname__ = "sleep"


def _revive(failed: Failed) -> BaseException:
    from reenact.engine import failure

    return failure.decode(failed, ())


def _install_datetime(patches: Patches) -> None:
    real, real_date = dt.datetime, dt.date
    from_timestamp, date_from_timestamp = real.fromtimestamp, real_date.fromtimestamp
    utc, seconds, kind = dt.UTC, _real.time, _TIME

    def now(cls: type[dt.datetime], tz: dt.tzinfo | None = None) -> dt.datetime:
        lane = get_lane()
        if lane is not None and lane.keeps:  # as `lane.drew`, without the call
            value = seconds()
            values = lane.drawn[id(_getframe(1).f_code) + kind]
            values.append(value)
            if len(values) == MAX_PENDING:
                lane.spill()
            moment = from_timestamp(value, tz)
        else:
            moment = from_timestamp(_now(1), tz)
        return moment if cls is real else _as(cls, moment)

    def utcnow(cls: type[dt.datetime]) -> dt.datetime:
        return _as(cls, from_timestamp(_now(1), utc).replace(tzinfo=None))

    def today(cls: type[dt.date]) -> dt.date:
        if issubclass(cls, real):
            return _as(cls, from_timestamp(_now(1)))
        return cls.fromtimestamp(_now(1)) if cls is not real_date else date_from_timestamp(_now(1))

    def _as(cls: type[dt.datetime], moment: dt.datetime) -> dt.datetime:
        if cls is real:
            return moment
        fields = (*moment.timetuple()[:6], moment.microsecond, moment.tzinfo)
        return cls(*fields, fold=moment.fold)

    patches.method_of_builtin(real, "now", classmethod(now))
    patches.method_of_builtin(real, "utcnow", classmethod(utcnow))
    patches.method_of_builtin(real_date, "today", classmethod(today))
