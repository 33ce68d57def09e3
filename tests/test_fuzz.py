"""What reads bytes of strangers, on the inputs that are kept, and on what hypothesis makes of these."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import seeds
from fuzz.__main__ import WORDS
from fuzz.targets import TARGETS, corpus

ROOT = Path(__file__).parents[1]
KEPT = {name: [path.read_bytes() for _, path in corpus([name])] for name in TARGETS}
TRIED = {"file": 15, "imported": 40, "records": 40}


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_that_is_kept_is_read(name: str) -> None:
    """What fuzzing has found is among them."""
    assert KEPT[name]
    for path in (path for _, path in corpus([name])):
        try:
            TARGETS[name](path.read_bytes())
        except Exception as error:
            error.add_note(f"on {path}")
            raise


pieces = st.binary(max_size=5) | st.sampled_from(
    [b'"', b"[", b"{", b"]", b"}", b",", b"\n", b"\0", b"\xff", b"9" * 400]
)


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_are_like_these_are_read(name: str) -> None:
    @settings(max_examples=TRIED.get(name, 60), database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        given_ = data.draw(st.sampled_from(KEPT[name]) | st.binary(max_size=200))
        for _ in range(data.draw(st.integers(0, 4))):
            at, more = data.draw(st.integers(0, len(given_))), data.draw(st.integers(0, 20))
            given_ = given_[:at] + data.draw(pieces | st.just(given_[at : at + 40])) + given_[at + more :]
        TARGETS[name](given_)

    tried()


def test_the_words_are_those_of_the_seeds() -> None:
    assert seeds._words() == WORDS.read_bytes(), "run: python -m fuzz.seeds"


@pytest.mark.slow
def test_a_fuzzer_tells_what_it_did_and_what_it_found(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: ./task fuzz installs it")
    command = [sys.executable, "-m", "fuzz", "--seconds", "4", "messages", "encoding"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 findings") == 2
