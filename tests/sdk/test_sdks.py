"""Agents on the official SDKs, through calls that succeed and calls that fail: seen as ever, replayed to the byte."""

from __future__ import annotations

from collections import Counter

import pytest

from reenact.testing import (
    Call,
    Calls,
    Drop,
    Fail,
    ModelServer,
    Reply,
    ResetMidStream,
    Say,
    SlowFirstByte,
    Turn,
)
from tests.runs import PROGRAMS, Bench

LONG = " ".join(f"word{number}" for number in range(30))


class Situations:
    """Answers by the first word of the prompt. What goes wrong once goes right when the SDK tries again."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def __call__(self, turn: Turn) -> Reply:  # noqa: C901  one case per word
        word = turn.prompt.partition(" ")[0]
        self._asked[turn.prompt] += 1
        answer = Say(f"You said: {turn.prompt}")
        if self._asked[turn.prompt] > 1 and word in ("limited", "broken", "dropped"):
            return answer
        match word:
            case "tools" if not turn.results:
                return Calls(
                    (Call("weather", {"city": "Oslo"}), Call("weather", {"city": "Tromsø"})), text="Let me see."
                )
            case "json":
                return Say('{"city": "Oslo"}')
            case "limited":
                return Fail(429, retry_after=0.05)
            case "overloaded":
                return Fail(429, retry_after=0.01, message="no more today")
            case "broken":
                return Fail(500, retry_after=0.05)
            case "refused":
                return Fail(400, message="I will not")
            case "dropped":
                return Drop()
            case "reset":
                return ResetMidStream(Say(LONG), after_chunks=3)
            case "slow":
                return SlowFirstByte(answer, 5)
        return Say(LONG) if "long" in turn.prompt else answer


def serve(port: int) -> ModelServer:
    return ModelServer(Situations(), port=port)


@pytest.mark.parametrize("sdk", ["openai", "anthropic", "groq", "google", "boto3"])
def test_an_agent_on_an_sdk_sees_what_it_would_have_seen_and_replays(bench: Bench, sdk: str) -> None:
    run = bench.unchanged(PROGRAMS / f"sdk_{sdk}.py", serve)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()
