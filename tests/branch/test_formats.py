"""Each API and streaming mode, on the real SDK: a fork at a middle step with another answer, and with another result."""

from __future__ import annotations

import pytest

from reenact.testing import Call, ModelServer, Say
from reenact.testing.reply import Reply
from reenact.testing.turn import Turn
from tests.branch.test_fork import fork, made, verified
from tests.runs import PROGRAMS, Bench, settings

FORMATS = ("chat", "responses", "messages", "gemini", "converse")


def model(turn: Turn) -> Reply:
    """Looks up two cities, then tells what it has learned."""
    results = [result.text for message in turn.messages for result in message.results]
    if len(results) < 2:
        return Call("lookup", {"city": ("Oslo", "Bergen")[len(results)]})
    return Say(f"I have heard: {' and '.join(results)}. That is all there is.")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("how", ["whole", "stream"])
@pytest.mark.parametrize("form", FORMATS)
def test_another_answer_and_another_result(bench: Bench, form: str, how: str) -> None:
    (bench.folder / "answer.txt").write_text('Let me see.\n\n@call lookup\n{"city": "Rome"}\n')
    (bench.folder / "result.txt").write_text('{"city": "Bergen", "hour": 3}')
    with ModelServer(model) as server:
        parent = bench.record(PROGRAMS / "talking.py", form, how, env=settings(server))
        assert parent.status == 0, parent.stderr.decode()
        run, asked = parent.path.stem, len(server.requests)
        answered = verified(made(bench, fork(bench, f"{run}@2", "--response", "answer.txt", server=server)))
        assert len(server.requests) - asked == 1, "only the last step is asked"
        told = verified(made(bench, fork(bench, f"{run}@2", "--tool-result", "lookup=result.txt", server=server)))
        assert len(server.requests) - asked == 2
    was = parent.text.splitlines()
    assert "Bergen" in was[1]
    lines = answered.text.splitlines()
    assert lines[0] == was[0]
    assert lines[1] == "said Let me see. called [{'city': 'Rome'}]"
    assert "Rome" in lines[2]
    assert "Bergen" not in answered.text
    lines = told.text.splitlines()
    assert lines[:2] == was[:2]
    assert "Oslo" in lines[2]
    assert "3" in lines[2].partition("Bergen")[2]
    assert "16" not in lines[2], "the model was told another hour"
