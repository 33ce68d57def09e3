"""A checkpointer of LangGraph whose history is the tape of the run (`pip install reenact[langgraph]`).

While a run goes on the history is in memory, as LangGraph's own `InMemorySaver` has it, and each change of it is on
tape: values are the bytes that LangGraph's serializer made of them. In a replay the program makes the history again.
`Saver.of` reads that of a tape, and what is read is data until LangGraph's serializer is asked for a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from langgraph.checkpoint.memory import InMemorySaver

from reenact.engine import stored
from reenact.engine.lane import current
from reenact.errors import TapeCorruptError
from reenact.seams.tools import tool
from reenact.tape.reader import read
from reenact.tape.store import Store
from reenact.tape.whole import every

STORE = "langgraph"
"""What the records of a tape are called that hold it."""

Typed = tuple[str, bytes]
"""A value as LangGraph's serializer writes it: how, and the bytes."""


class Put(msgspec.Struct, frozen=True, array_like=True, tag="put"):
    """A checkpoint. `values` are those of its channels that are new, by name and version."""

    thread: str | int
    namespace: str
    checkpoint: str
    parent: str | None
    state: Typed
    metadata: Typed
    values: list[tuple[str, str | int | float, Typed]]


class Writes(msgspec.Struct, frozen=True, array_like=True, tag="writes"):
    """What a task has written after a checkpoint: by its place among the task's, the channel and the value."""

    thread: str | int
    namespace: str
    checkpoint: str
    task: str
    path: str
    writes: list[tuple[int, str, Typed]]


class Gone(msgspec.Struct, frozen=True, array_like=True, tag="gone"):
    """A thread was deleted."""

    thread: str | int


Change = Put | Writes | Gone


class Saver(InMemorySaver):
    """A checkpointer for `graph.compile(checkpointer=Saver())`. Outside of a run it is LangGraph's own, in memory."""

    @classmethod
    def of(cls, run: str, *, store: str | None = None, serde: Any = None) -> Saver:
        """The history of a recorded run (its id, or its tape), to be looked at and gone on from, offline.

        What goes on from there is live, and in memory; in a run that is recorded, on the tape of that, with what it
        goes on from. `store` is the folder with the tapes, `serde` the serializer that the program gave its `Saver`.

        Raises:
            RunNotFoundError: there is no such run.
            TapeError: its tape cannot be read.
        """
        saver = cls(serde=serde)
        for data in _history(run, store):
            saver._again(data)
        return saver

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """See LangGraph. It is on tape with the next commit."""
        made = super().put(config, checkpoint, metadata, new_versions)
        where = made["configurable"]
        thread, namespace, name = where["thread_id"], where["checkpoint_ns"], where["checkpoint_id"]
        state, about, parent = self.storage[thread][namespace][name]
        values = [(key, version, self.blobs[thread, namespace, key, version]) for key, version in new_versions.items()]
        _keep(Put(_id(thread), namespace, name, parent, state, about, values))
        return made

    def put_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """See LangGraph. It is on tape with the next commit."""
        super().put_writes(config, writes, task_id, task_path)
        where = config["configurable"]
        thread, namespace, name = where["thread_id"], where.get("checkpoint_ns", ""), where["checkpoint_id"]
        made = self.writes[thread, namespace, name].items()
        own = [(at, channel, value) for (task, at), (_, channel, value, _) in made if task == task_id]
        _keep(Writes(_id(thread), namespace, name, task_id, task_path, own))

    def delete_thread(self, thread_id: str) -> None:
        """See LangGraph. The tape keeps what was there, and that it was deleted."""
        super().delete_thread(thread_id)
        _keep(Gone(_id(thread_id)))

    def _again(self, data: bytes) -> None:
        change = _decoder.decode(data)
        thread: Any = change.thread  # a number, where the program gave one: LangGraph takes it as it is
        match change:
            case Put(_, namespace, name, parent, state, metadata, values):
                self.storage[thread][namespace][name] = state, metadata, parent
                for key, version, value in values:
                    self.blobs[thread, namespace, key, version] = value
            case Writes(_, namespace, name, task, path, writes):
                for at, channel, value in writes:
                    self.writes[thread, namespace, name][task, at] = task, channel, value, path
            case Gone():
                super().delete_thread(thread)
        _keep(change)


_decoder = msgspec.msgpack.Decoder(Change)


def _keep(change: Change) -> None:
    lane = current()
    if lane is not None and lane.session is not None:
        try:
            stored.keep(lane, STORE, msgspec.msgpack.encode(change))
        except Exception as error:  # noqa: BLE001  a fault of ours never reaches the agent
            lane.session.fault(error)


def _id(thread: Any) -> str | int:
    return thread if isinstance(thread, str | int) else str(thread)


@tool
def _history(run: str, store: str | None) -> list[bytes]:
    """A tool, so that a run that goes on from another has on its own tape what it had of that."""
    path = Store.find(Path.cwd(), store).resolve(run)
    changes = [one.data for part in every(read(path)) for one in part.stored if one.store == STORE]
    try:
        for change in changes:
            _decoder.decode(change)
    except msgspec.MsgspecError as error:
        raise TapeCorruptError(f"{path}: what a checkpointer stored cannot be read: {error}") from error
    return changes
