"""What tests of whole programs share: a folder to run them in, and the recorded traffic."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.runs import Bench
from tests.sealed import UNSHARE

ENCLOSES = """
import pathlib, sys
from reenact.launch.enclosure import enclose
enclose([], pathlib.Path(sys.argv[1]), [])
"""
TRAFFIC = Path(__file__).parents[2] / "shared" / "traffic"

# how long an example takes hangs on what else the machine does
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


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


@pytest.fixture(scope="session")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where the kernel gives a process no namespaces of its own."""
    folder = str(tmp_path_factory.mktemp("scratch"))
    done = subprocess.run([sys.executable, "-c", ENCLOSES, folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no namespaces here: {done.stderr.splitlines()[-1]}")


@pytest.fixture
def sealed(tmp_path: Path) -> Bench:
    """As `bench`, on a machine without namespaces."""
    if sys.platform != "linux" or platform.machine() not in UNSHARE:
        pytest.skip("no way here to take the namespaces away")
    return Bench(tmp_path, sealed=True)


@pytest.fixture(params=["namespaces", "redirection"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """As `bench`, on a machine with namespaces and on one without: files are the same on both."""
    if request.param == "namespaces":
        request.getfixturevalue("namespaces")
        return Bench(tmp_path)
    found = request.getfixturevalue("sealed")
    assert isinstance(found, Bench)
    return found


def pytest_configure(config: pytest.Config) -> None:
    # a shell has jobs in the background ignore these two, and what a test starts would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.addinivalue_line("markers", "slow: takes minutes; runs only when asked for, with -m slow")
    config.addinivalue_line("markers", "sampled(count): so many of its parameters, evenly spread; the others are slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _sample(items)
    if "slow" in str(config.option.markexpr):
        return
    left_out = [item for item in items if item.get_closest_marker("slow") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _sample(items: list[pytest.Item]) -> None:
    """Of a test with many parameters a sample runs always, and the others with the slow ones."""
    found: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") is not None and item.get_closest_marker("slow") is None:
            found.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    for group in found.values():
        marker = group[0].get_closest_marker("sampled")
        count = min(int(marker.args[0]), len(group)) if marker is not None else len(group)
        chosen = {at * len(group) // count for at in range(count)}
        for at, item in enumerate(group):
            if at not in chosen:
                item.add_marker(pytest.mark.slow)
