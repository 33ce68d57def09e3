"""Functions by their path, as a project names them in its settings. Nothing is imported for it."""

from __future__ import annotations

from reenact.errors import UsageError


def named(path: str) -> tuple[str, list[str]]:
    """The module and the names of `pkg.module:function` or `pkg.module:Class.method`.

    Raises:
        UsageError: it is no such path.
    """
    module, colon, names = path.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *names.split("."))):
        raise UsageError(f"[tool.reenact] boundaries: {path!r} is no function: write it as package.module:function")
    return module, names.split(".")
