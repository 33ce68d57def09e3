"""YAML from a stranger, as plain data.

What refers to itself, is nested too deeply or copies a mapping into others (`<<`) is refused before anything is made of
it: such a document can be small, and what it stands for without bounds.
"""

from __future__ import annotations

from typing import Any

from reenact.errors import ForeignError, MissingExtraError

_DEEPEST = 100


def load(text: bytes) -> Any:
    """What is in a document.

    Raises:
        ForeignError: it is no YAML, or not plain data.
        MissingExtraError: there is no library for YAML.
    """
    try:
        import yaml  # type: ignore[import-untyped]  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("PyYAML", "import") from error
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check(yaml, text, base)
        return yaml.load(text, Loader=_loader(base))  # noqa: S506  it is a safe one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ForeignError(f"it cannot be read as YAML: {' '.join(str(error).split())}") from error


def _check(yaml: Any, text: bytes, loader: Any) -> None:
    depth, anchors = 0, list[Any]()
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            anchors.append(event.anchor)
            if depth > _DEEPEST:
                raise ForeignError(f"it is nested more than {_DEEPEST} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            anchors.pop()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                raise ForeignError(f"it holds itself (*{event.anchor})")
        elif isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            raise ForeignError("it copies mappings into one another (<<)")


def _loader(base: Any) -> Any:
    """The safe loader, and what vcrpy writes besides: texts of Python 2, tuples, bodies that were files."""

    class Loader(base):  # type: ignore[misc]
        pass

    def body_of_file(loader: Any, node: Any) -> bytes:
        state = loader.construct_mapping(node, deep=True).get("state") or (b"",)
        return state[0] if isinstance(state[0], bytes) else str(state[0]).encode()

    def items(loader: Any, node: Any) -> list[Any]:
        given: Any = loader.construct_mapping(node, deep=True).get("args") or ([],)
        return list(given[0])

    made = {
        "str": lambda loader, node: loader.construct_scalar(node),
        "unicode": lambda loader, node: loader.construct_scalar(node),
        "tuple": lambda loader, node: list(loader.construct_sequence(node, deep=True)),
        "object/new:_io.BytesIO": body_of_file,
        "object/apply:builtins.iter": items,
    }
    for tag, make in made.items():
        Loader.add_constructor(f"tag:yaml.org,2002:python/{tag}", make)
    return Loader
