"""The model of the demo: books a table in the city that it is asked about, and tells when and under which number."""

from __future__ import annotations

import json

from reenact.testing import Call, Reply, Say, SlowFirstByte, Turn

_SECONDS = 0.4  # so that there is something to save in replay
_CITY = "Plan my evening in "


def model(turn: Turn) -> Reply:
    """What it answers follows from the prompt and the results of the tools, as with a real one."""
    return SlowFirstByte(_decide(turn), _SECONDS)


def _decide(turn: Turn) -> Reply:
    asked = next((message.text for message in turn.messages if _CITY in message.text), _CITY)
    city = asked.partition(_CITY)[2].rstrip(".") or "Oslo"
    results = [json.loads(result.text) for message in turn.messages for result in message.results]
    if not results:
        return Call("book_table", {"city": city})
    table = results[-1]
    return Say(f"There is a table for you in {city} at {table['hour']}:00, number {table['booking']}.")
