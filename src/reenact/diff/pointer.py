"""JSON pointers (RFC 6901): how a name stands in one, and the names in one."""

from __future__ import annotations


def step(name: str) -> str:
    """A name as a step of a pointer."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


def steps(pointer: str) -> list[str]:
    """The names in a pointer."""
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
