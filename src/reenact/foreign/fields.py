"""What is asked of a document by name and type: what is not as it should be is told with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reenact.errors import ForeignError

_SHOWN = 60
_STATUSES = (100, 1000)


class Fields:
    """An object of a document. `place` says where it stands: `entry 3: response`."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ForeignError(f"{place} is {_shown(value)}, and should be an object")
        self._value = value
        self.place = place

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return self._value.get(name) is not None

    def any(self, name: str) -> Any:
        """What is there, of whatever type; None for nothing."""
        return self._value.get(name)

    def of(self, name: str) -> Fields:
        """The object of that name."""
        return Fields(self._value.get(name), f"{self.place}.{name}")

    def text(self, name: str, default: str | None = None) -> str:
        """The text of that name; without a `default`, it has to be there."""
        value = self._value.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise ForeignError(f"{self.place}.{name} is {_shown(value)}, and should be a text")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """The number of that name; without a `default`, it has to be there."""
        value = self._value.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**63:
            raise ForeignError(f"{self.place}.{name} is {_shown(value)}, and should be a number")
        return value

    def status(self, name: str) -> int:
        """The status of an HTTP response."""
        value = int(self.number(name))
        if value not in range(*_STATUSES):
            raise ForeignError(f"{self.place}.{name} is {value}, and no status of HTTP")
        return value

    def items(self, name: str, each: str = "") -> Iterator[Fields]:
        """The objects in the list of that name; none where there is no such list. `each` is what one is called."""
        value = self._value.get(name)
        if value is None:
            return
        if not isinstance(value, list):
            raise ForeignError(f"{self.place}.{name} is {_shown(value)}, and should be a list")
        for number, item in enumerate(value, 1):
            yield Fields(item, f"{each} {number}" if each else f"{self.place}.{name}[{number}]")


def _shown(value: Any) -> str:
    if value is None:
        return "missing"
    text = repr(value) if isinstance(value, str | int | float | bool) else f"of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
