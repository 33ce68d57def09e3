"""What tests of whole programs share: a folder to run them in, and the recorded traffic."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.runs import Bench

TRAFFIC = Path(__file__).parents[2] / "shared" / "traffic"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A folder of its own to record, replay and verify programs in."""
    return Bench(tmp_path)


@pytest.fixture
def recorded_traffic() -> Path:
    """The folder of recorded traffic beside the checkout; skips where there is none."""
    if not TRAFFIC.is_dir():
        pytest.skip("no recorded traffic: expected the folder ../shared/traffic beside the repository")
    return TRAFFIC


def pytest_configure(config: pytest.Config) -> None:
    # a shell has jobs in the background ignore these two, and what a test starts would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.addinivalue_line("markers", "slow: takes minutes; runs only when asked for, with -m slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" in str(config.option.markexpr):
        return
    left_out = [item for item in items if item.get_closest_marker("slow") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
