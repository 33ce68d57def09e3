"""The clock, entropy and locks of the machine itself, bound before any seam is installed.

Everything in reenact that needs the time, an id or a lock takes it from here, so that recording never records itself.
"""

from __future__ import annotations

import _thread
import os
import select as _select
import sys
import time as _time
from pathlib import Path

time = _time.time
time_ns = _time.time_ns
monotonic = _time.monotonic
monotonic_ns = _time.monotonic_ns
perf_counter_ns = _time.perf_counter_ns
process_time_ns = _time.process_time_ns
sleep = _time.sleep
localtime = _time.localtime
strftime = _time.strftime
urandom = os.urandom
getpid = os.getpid
isatty = os.isatty
stat = os.stat
open_fd = os.open
write = os.write
pwrite = os.pwrite
close_fd = os.close
allocate_lock = _thread.allocate_lock
RLock = _thread.RLock
get_ident = _thread.get_ident
get_native_id = _thread.get_native_id
select = _select.select
start_new_thread = _thread.start_new_thread
current_frames = sys._current_frames  # noqa: SLF001  where another thread is
getframe = sys._getframe  # noqa: SLF001  the only way to a caller's frame that costs under 100 ns

__all__ = [
    "PACKAGE",
    "STDLIB",
    "RLock",
    "allocate_lock",
    "close_fd",
    "current_frames",
    "get_ident",
    "get_native_id",
    "getframe",
    "getpid",
    "isatty",
    "localtime",
    "monotonic",
    "monotonic_ns",
    "open_fd",
    "perf_counter_ns",
    "process_time_ns",
    "pwrite",
    "select",
    "sleep",
    "start_new_thread",
    "stat",
    "strftime",
    "time",
    "time_ns",
    "urandom",
    "write",
]

STDLIB = Path(os.__file__).parent.as_posix() + "/"
PACKAGE = Path(__file__).absolute().parent.as_posix() + "/"
