"""A fault inside reenact never reaches the agent: it is told at the end, and the tape says that it is incomplete."""

from __future__ import annotations

import pytest

from reenact.testing import ModelServer, Say
from reenact.testing.turn import Turn
from tests.runs import Bench, settings

PROGRAM = """
    import os, time
    import httpx, requests
    from reenact.engine.lane import get_lane

    def sabotage():
        lane = get_lane()
        if lane is None:  # this is the run without reenact
            return
        {sabotage}

    def broken(*args, **kwargs):
        raise RuntimeError("reenact is broken")

    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with httpx.Client() as client:
        for n in range(4):
            if n == 2:
                sabotage()
            body = {{"model": "m", "messages": [{{"role": "user", "content": f"question {{n}}"}}]}}
            print(client.post(url, json=body).json()["choices"][0]["message"]["content"])
            print(requests.post(url, json=body, timeout=30).json()["choices"][0]["message"]["content"])
            time.sleep(0.001)
"""

SABOTAGE = {
    "the database is gone": "lane.session.writer._db.close()",
    "bodies cannot be shrunk": "lane.session._bodies.shrink = broken",
    "records cannot be packed": "lane.session.writer._packer.pack = broken",
    "records cannot be kept": "lane.session.writer.append = broken",
    "heads cannot be encoded": "import reenact.seams.http.httpx as h; h.encode_head = broken",
    "requests cannot be described": "import reenact.seams.http.httpx as h; h.text_pairs = broken",
}


def answer(turn: Turn) -> Say:
    return Say(f"answer to {turn.prompt}")


@pytest.mark.parametrize("sabotage", SABOTAGE.values(), ids=SABOTAGE.keys())
def test_a_fault_of_reenact_never_reaches_the_agent(bench: Bench, sabotage: str) -> None:
    program = PROGRAM.format(sabotage=sabotage)
    with ModelServer(answer) as server:
        plain = bench.plain(program, env=settings(server))
    with ModelServer(answer) as server:
        run = bench.record(program, env=settings(server))
    assert (run.status, run.stdout) == (plain.status, plain.stdout) == (0, run.stdout)
    assert run.text.count("answer to") == 8
    incomplete = b"incomplete" in run.stderr or b"fault" in run.stderr
    assert incomplete, run.stderr.decode()
    assert run.tape.notes or run.tape.ended is None
