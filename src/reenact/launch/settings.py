"""What a project asks of reenact in its pyproject.toml, in the table [tool.reenact]."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reenact.engine.dotted import named
from reenact.errors import UsageError
from reenact.launch.sampling import rate_of
from reenact.launch.tail import Tail
from reenact.tape.contents import Contents

if TYPE_CHECKING:
    from reenact.providers.prices import Price

_FILE = "pyproject.toml"


class Settings(msgspec.Struct, frozen=True):
    """`table` is [tool.reenact] as it stands; `folder` is where its file is, None when there is none."""

    folder: Path | None = None
    table: dict[str, object] = {}

    @classmethod
    def near(cls, start: Path) -> Settings:
        """Those of the nearest pyproject.toml at or above `start` that has such a table.

        Raises:
            UsageError: a file on the way cannot be read as TOML.
        """
        for folder in (start, *start.parents):
            table = _table(folder / _FILE)
            if table:
                return cls(folder, table)
        return cls()

    @classmethod
    def of_run(cls, cwd: str) -> Settings:
        """Those of the folder in which a run was recorded; of this one where that is gone.

        Raises:
            UsageError: as of `near`.
        """
        home = Path(cwd)
        return cls.near(home if home.is_absolute() and home.is_dir() else Path.cwd())

    @property
    def boundaries(self) -> list[str]:
        """Functions that are tools, as `package.module:function`.

        Raises:
            UsageError: one of them is not written so.
        """
        given = self.table.get("boundaries", [])
        if not isinstance(given, list) or not all(isinstance(path, str) for path in given):
            raise UsageError(f"[tool.reenact] boundaries must be a list of texts, and is {given!r}")
        for path in given:
            named(path)
        return given

    @property
    def side_traffic(self) -> list[str]:
        """Which requests are side traffic: the shipped patterns, then the project's own.

        Raises:
            UsageError: one of them is no pattern.
        """
        from reenact.engine.side.shipped import PATTERNS  # noqa: PLC0415  a start-up hook may want the sample alone
        from reenact.engine.side.traffic import Pattern  # noqa: PLC0415

        given = self.table.get("side-traffic", [])
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            raise UsageError(f"[tool.reenact] side-traffic must be a list of texts, and is {given!r}")
        for text in given:
            Pattern.parse(text)
        return [*PATTERNS, *given]

    @property
    def contents(self) -> Contents | None:
        """What is to be redacted besides credentials; None for nothing.

        Raises:
            UsageError: one of the patterns is none.
        """
        return self.redacting()

    def redacting(self, patterns: Sequence[str] = (), *, pii: bool = False) -> Contents | None:
        """As `contents`, with more of them."""
        given, persons = self.table.get("redact", []), self.table.get("redact-pii", False)
        if not isinstance(given, list) or not all(isinstance(pattern, str) for pattern in given):
            raise UsageError(f"[tool.reenact] redact must be a list of regular expressions, and is {given!r}")
        if not isinstance(persons, bool):
            raise UsageError(f"[tool.reenact] redact-pii must be true or false, and is {persons!r}")
        found, pii = [*given, *patterns], pii or persons
        return Contents(found, pii=pii) if found or pii else None

    @property
    def tail(self) -> Tail:
        """What branches may do, of themselves.

        Raises:
            UsageError: it is not said as it has to be.
        """
        table = self.table.get("fork", {})
        if not isinstance(table, dict):
            raise UsageError(f"[tool.reenact.fork] must be a table, and is {table!r}")
        found: dict[str, list[str]] = {}
        for key in ("allow", "from-tape"):
            given = table.get(key, [])
            if not isinstance(given, list) or not all(isinstance(pattern, str) for pattern in given):
                raise UsageError(f"[tool.reenact.fork] {key} must be a list of texts, and is {given!r}")
            found[key] = given
        return Tail(found["allow"], found["from-tape"])

    @property
    def prices(self) -> dict[str, Price]:
        """The project's own prices of models: `[input, output]` or `[input, output, cached]`, in dollars per million.

        Raises:
            UsageError: one of them is none.
        """
        from reenact.providers.prices import Price  # noqa: PLC0415  a recording needs none

        table = self.table.get("prices", {})
        found = {}
        for model, given in table.items() if isinstance(table, dict) else ():
            numbers = (
                [float(each) for each in given if isinstance(each, int | float)] if isinstance(given, list) else []
            )
            if len(numbers) not in (2, 3) or len(numbers) != len(given) or min(numbers) < 0:
                raise UsageError(f"[tool.reenact.prices] {model} must be [input, output] or [input, output, cached]")
            found[model] = Price(numbers[0], numbers[1], numbers[-1] if len(numbers) == 3 else numbers[0])
        return found

    @property
    def tags(self) -> dict[str, str]:
        """Tags of every run.

        Raises:
            UsageError: one of them cannot be one.
        """
        from reenact.tape.labels import tags_of  # noqa: PLC0415  a replay needs none

        try:
            return tags_of(self.table.get("tags", {}))
        except UsageError as error:
            raise UsageError(f"[tool.reenact] tags: {error}") from error

    @property
    def sample(self) -> float:
        """The share of runs to record, where nothing else says it.

        Raises:
            UsageError: it is none.
        """
        return rate_of(self.table.get("sample", 1), "[tool.reenact] sample")

    @contextmanager
    def importable(self) -> Iterator[None]:
        """Modules beside the file can be imported in here: normalizers may be functions of the project."""
        path = str(self.folder) if self.folder is not None else None
        if path is None or path in sys.path:
            yield
            return
        sys.path.insert(0, path)
        try:
            yield
        finally:
            sys.path.remove(path)


def _table(path: Path) -> dict[str, object]:
    try:
        if not path.is_file():
            return {}
        import tomllib  # noqa: PLC0415  only where there is something to read

        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except RecursionError:
        raise UsageError(f"{path} cannot be read: it is nested too deep") from None
    tool = document.get("tool")
    table = tool.get("reenact") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else {}
