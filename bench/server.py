"""The model behind every agent here, in a process of its own: it answers from memory, without reading requests.

Each run has a path of its own, `/<run>/v1/…`, and gets the answers of the conversation in order.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from bench import conversation
from bench.launch import environment
from reenact.testing.listener import Listener
from reenact.testing.request import Request
from reenact.testing.response import Response

_STREAMS = "stream"


class Answers:
    """Counts the requests of each run."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def __call__(self, request: Request) -> Response:
        """The next answer of the run that asks."""
        run = request.path.split("/")[1]
        step = self._asked[run]
        self._asked[run] += 1
        streams = run.startswith(_STREAMS)
        body = conversation.streamed(step) if streams else conversation.answer(step)
        return Response(200, conversation.headers(step), body)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server that runs until the block ends.

    Raises:
        RuntimeError: it does not start.
    """
    command = [sys.executable, "-m", "bench.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:  # noqa: S603
        port = process.stdout.readline().strip() if process.stdout is not None else ""
        try:
            if not port:
                raise RuntimeError("the model server does not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def main() -> None:
    """Serves until it is terminated; says its port first."""
    listener = Listener(Answers())
    listener.start()
    sys.stdout.write(f"{listener.port}\n")
    sys.stdout.flush()
    Event().wait()


if __name__ == "__main__":
    main()
