"""A process whose exchanges are large gets large pages, and nothing of that is to be seen but how long it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reenact.engine.pages import LARGE_BYTES, Pages
from reenact.testing import ModelServer, Say
from tests.runs import Bench, settings

LARGE_PAGE = 2 * 1024 * 1024

MEMORY = """
import re
from pathlib import Path

def held():
    smaps = Path("/proc/self/smaps").read_text()
    return [1024 * sum(map(int, re.findall(rf"^{what}: +(\\d+) kB", smaps, re.M))) for what in ("AnonHugePages", "Rss")]
"""

FILLED = f"""{MEMORY}
import mmap
from reenact.engine.pages import Pages

filled = [bytes([number % 250 + 1]) * 100_000 for number in range(300)]
sparse = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(sparse), 1 << 20):
    sparse[at] = 1
pages, before = Pages(), held()
asked = []
while not asked or asked[-1]:
    asked.append(pages.gather())
large, resident = held()
whole = all(text == bytes([number % 250 + 1]) * 100_000 for number, text in enumerate(filled))
print(sum(asked), max(asked), before[0], large, before[1], resident, whole)
"""

AGENT = f"""{MEMORY}
import os
import httpx
from reenact.engine.lane import muted

url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
texts = [f"{{number}} " * 20 for number in range(10_000)]
with httpx.Client() as client:
    for number in range(70):
        texts.append(f"step {{number}}")
        body = {{"model": "m", "messages": [{{"role": "user", "content": text}} for text in texts]}}
        print(client.post(url, json=body).json()["choices"][0]["message"]["content"])
with muted():
    Path(os.environ["HELD"]).write_text(str(held()[0]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="large pages are asked for on Linux alone")


def _has_them(bench: Bench) -> bool:
    """Whether this system puts memory into large pages when it is asked to, as Linux does from 6.1 on."""
    asks = "import mmap; m = mmap.mmap(-1, 1 << 23); m[:] = bytes([1]) * len(m); m.madvise(25)"
    return bench.run("-c", asks).status == 0


def test_memory_that_is_full_is_put_into_large_pages_and_what_is_nearly_empty_is_not(bench: Bench) -> None:
    done = bench.run("-c", FILLED)
    assert done.status == 0, done.stderr.decode()
    asked, most, before, large, was_resident, resident, whole = done.stdout.split()
    assert int(asked) >= 10
    assert int(most) <= 16
    assert int(resident) - int(was_resident) < int(asked) * LARGE_PAGE / 8 + LARGE_PAGE
    assert whole == b"True"
    if _has_them(bench):
        assert int(large) - int(before) >= 8 * LARGE_PAGE


def test_it_is_done_for_many_large_exchanges_and_again_when_they_have_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    pages = Pages()
    monkeypatch.setattr(Pages, "gather", lambda _: asked.append(number))
    for number in range(200):
        pages.outgrown(LARGE_BYTES + number * 1000)
    assert asked == [63, 112, 173]


def test_a_fault_of_it_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reenact.engine.pages._MAPS", "/nowhere")
    pages = Pages()
    for _ in range(64):
        pages.outgrown(LARGE_BYTES)
    with pytest.raises(OSError, match="nowhere"):
        pages.gather()


def test_a_recording_asks_for_them_and_the_tape_says_nothing_of_it(bench: Bench, tmp_path: Path) -> None:
    kept, plain = tmp_path / "kept", tmp_path / "plain"
    with ModelServer(lambda turn: Say(f"answer to {turn.prompt}")) as server:
        bench.plain(AGENT, env={**settings(server), "HELD": str(plain)})
        run = bench.record(AGENT, env={**settings(server), "HELD": str(kept)})
    assert run.status == 0, run.stderr.decode()
    assert {event.kind.name for event in run.tape.events} == {"HTTP"}
    assert not any(b"/proc/self/maps" in bytes(str(note), "utf-8") for note in run.tape.notes)
    run.verified()
    if _has_them(bench):
        assert int(kept.read_text()) > int(plain.read_text())
