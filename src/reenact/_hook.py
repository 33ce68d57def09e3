"""What the start-up hook (reenact.pth) loads when the environment asks for it."""

from __future__ import annotations

import gc
import os
import sys

ASKED = "REENACT_SPEC" in os.environ or "REENACT_CALL" in os.environ


def start() -> None:
    """Begins recording or replay in this process, or says why not; the program itself is never kept from running."""
    spec = os.environ.get("REENACT_SPEC")
    if spec:
        from reenact.launch import child

        child.start(spec)
    elif "REENACT_JOIN" in os.environ:
        from reenact.launch import joined

        joined.start(os.environ.pop("REENACT_JOIN"))
    elif "REENACT_CALL" in os.environ:
        from reenact.launch import child

        child.prepare(os.environ["REENACT_CALL"])
    elif "REENACT_CLOSED" in os.environ:
        # what a process of multiprocessing does before its session begins may not connect either
        from reenact.seams.sockets.watch import watch

        watch(closed=True)
    elif os.environ.get("REENACT_RECORD") not in (None, "", "0"):
        from reenact.launch import reexec

        reexec.record()


collecting = gc.isenabled()
gc.disable()  # what is loaded now stays: to look through it again and again finds nothing
try:
    start()
except Exception as error:
    import traceback

    traceback.print_exc()
    sys.stderr.write(f"reenact: could not start: {error}\n")
    if ASKED:  # a program that is to be replayed must not run as it is
        os._exit(70)
if collecting:
    gc.enable()
