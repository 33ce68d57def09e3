"""What the tests of the model server share: calls to try, and the recorded traffic."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reenact.testing import Call, Calls, Policy, Reply, Turn

_TRAFFIC = Path(__file__).parents[3] / "shared" / "traffic"


@pytest.fixture(autouse=True, scope="session")
def one_tls_context() -> Iterator[None]:
    """Every client makes a TLS context, which none of these tests uses, and which takes it 20 ms."""
    context = ssl.create_default_context()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", lambda *_args, **_kwargs: context)
        yield


@pytest.fixture
def two_calls() -> Calls:
    """Two calls in parallel after a text; the arguments need several pieces and are not ASCII."""
    forecast = Call("forecast", {"city": "Tromsø", "days": 3, "units": "metric"})
    return Calls((forecast, Call("clock", {"zone": "Europe/Oslo"})), text="Let me look.")


@pytest.fixture
def turns() -> list[Turn]:
    """The turns that a `watched` policy was asked."""
    return []


@pytest.fixture
def watched(turns: list[Turn]) -> Callable[[Policy], Policy]:
    """Wraps a policy so that the turns that it is asked are kept in `turns`."""

    def watch(policy: Policy) -> Policy:
        def watching(turn: Turn) -> Reply:
            turns.append(turn)
            return policy(turn)

        return watching

    return watch


@pytest.fixture
def traffic() -> Path:
    """The folder of recorded traffic beside the checkout; skips where there is none."""
    if not _TRAFFIC.is_dir():
        pytest.skip(f"no recorded traffic at {_TRAFFIC}")
    return _TRAFFIC
