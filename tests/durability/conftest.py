"""What the tests of durability share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.watch import CannotWatchError, library


@pytest.fixture(scope="session")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that sees what a recording does to its files; skips where it cannot be had."""
    try:
        return library(tmp_path_factory.mktemp("watch"))
    except CannotWatchError as error:
        pytest.skip(str(error))
