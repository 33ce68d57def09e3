"""Write hazards: what a branch that is live would do to the world, besides asking models.

Each has a label, such as `tool:refund`, `process:git push`, `http:POST https://api.example.com/orders` or
`connect:db.example.com:5432`, by which it is let through, or answered from the tape of the parent. Unless somebody says
so, it is refused. To ask a model is none, nor is a request that only reads, by its method. Files are copies.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from reenact.engine.call import Call, Headers, headers_of
from reenact.engine.guard import Asking
from reenact.launch.tail import Tail
from reenact.providers.route import place_of
from reenact.tape.event import Giver, Kind
from reenact.tape.recording import Event, Recording

REFUSED = "reenact refused {label} in a branch: nobody has allowed it (reenact fork --allow '{label}')"
_READING = ("GET", "HEAD", "OPTIONS")
_COMMAND = re.compile(r"`(.*)`", re.DOTALL)
_CONNECT = re.compile(r"(?:connect to|messages (?:with|at)) (\S+)|messages without a connection")
_ANSWERABLE = (Kind.TOOL, Kind.HTTP)


def labels_of(kind: Kind, name: str, headers: Headers = ()) -> list[str]:
    """The labels of a call that is a hazard, the one to tell first; empty where it is none.

    `name` is as on tape. Models are not known by it alone, see `Hazards`.
    """
    match kind:
        case Kind.TOOL:
            return [f"tool:{name.rpartition(':')[2].rpartition('.')[2]}", f"tool:{name}"]
        case Kind.PROCESS | Kind.EXEC:
            command = _COMMAND.search(name)
            starts = command is None or not name.startswith(("wait", "answers", "end"))
            return [f"process:{command[1] if command is not None else name}"] if starts else []
        case Kind.HTTP:
            method, _, url = name.partition(" ")
            talks = any(name.lower() == "upgrade" for name, _ in headers)  # a WebSocket, which says what it likes
            if (method in _READING and not talks) or place_of(method, url) is not None:
                return []
            host = urlsplit(url).hostname or ""
            return [f"http:{method} {url.partition('?')[0]}", f"http:{host}"]
        case Kind.SOCKET | Kind.CONNECT:
            found = _CONNECT.match(name)
            return [f"connect:{found[1] or 'messages'}"] if found is not None else []
        case _:
            return []


class Hazards:
    """The guard of a branch: what of its live calls may be done. `parent` is the run that it was forked from."""

    def __init__(self, parent: Recording, tail: Tail) -> None:
        self._parent = parent
        self._tail = tail
        self._taken: set[int] = set()
        self._models = set(model_hosts(parent))
        self.met: dict[str, tuple[int, int, int]] = {}
        """How often each was done, answered from tape, and refused, by its label."""
        self.withheld: dict[str, int] = {}
        """How many requests that are side traffic were not sent, by host."""

    def __call__(self, call: Call, _asking: Asking) -> tuple[Event | OSError, Giver] | None:
        """See `engine.guard`."""
        labels = self._labels(call)
        if not labels:
            return None
        found = self._on_tape(call) if matches(labels, self._tail.from_tape) else None
        done, given, refused = self.met.get(labels[0], (0, 0, 0))
        if found is not None:
            self.met[labels[0]] = done, given + 1, refused
            return found, Giver.PARENT
        if matches(labels, self._tail.allow):
            self.met[labels[0]] = done + 1, given, refused
            return None
        self.met[labels[0]] = done, given, refused + 1
        return PermissionError(errno.EPERM, REFUSED.format(label=labels[0])), Giver.REFUSAL

    def withholds(self, host: str) -> bool:
        """Whether side traffic to that host is answered here and not sent."""
        if matches([f"telemetry:{host}", f"telemetry:{host.rpartition(':')[0]}"], self._tail.allow):
            return False
        self.withheld[host] = self.withheld.get(host, 0) + 1
        return True

    def _labels(self, call: Call) -> list[str]:
        labels = labels_of(call.kind, call.name, call.headers)
        asks_model = call.kind is Kind.SOCKET and labels and labels[0].removeprefix("connect:") in self._models
        return [] if asks_model else labels

    def _on_tape(self, call: Call) -> Event | None:
        """The parent's event that is the same call, each once."""
        parent = self._parent
        for event in parent.events:
            same = event.kind is call.kind in _ANSWERABLE and event.name == call.name and event.complete
            if same and event.id not in self._taken and parent.body(event) == call.body:
                self._taken.add(event.id)
                return event
        return None


def expected(parent: Recording, after: int) -> Iterator[tuple[str, Event]]:
    """What of the parent's tail is a hazard, with its label: the branch may come to the same. `after`: that event."""
    models = set(model_hosts(parent))
    over = parent.events[after].at if parent.events else 0
    for event in parent.events:
        labels = labels_of(event.kind, event.name, headers_of(event.head) if event.kind is Kind.HTTP else ())
        if labels and event.at > over and labels[0].removeprefix("connect:") not in models:
            yield labels[0], event


def fate(label: str, event: Event, tail: Tail) -> str:
    """What would become of a hazard on the parent's tape if the branch came to it, in a word or two."""
    labels = labels_of(event.kind, event.name, headers_of(event.head) if event.kind is Kind.HTTP else ()) or [label]
    if matches(labels, tail.from_tape) and event.kind in _ANSWERABLE:
        return "from tape"
    return "allowed" if matches(labels, tail.allow) else "refused"


def model_hosts(recording: Recording) -> Iterator[str]:
    """Where the models of a run are asked, as `host:port`, over whatever library."""
    for event in recording.events:
        method, _, url = event.name.partition(" ")
        if event.kind is Kind.HTTP and place_of(method, url) is not None:
            parts = urlsplit(url)
            yield f"{parts.hostname}:{parts.port or {'http': 80}.get(parts.scheme, 443)}"


def matches(labels: Iterable[str], patterns: Sequence[str]) -> bool:
    """Whether one of the labels is meant by one of the patterns, in which * stands for anything; `all` means all."""
    return any(pattern == "all" or fnmatchcase(label, pattern) for label in labels for pattern in patterns)
