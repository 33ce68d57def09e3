"""The model of the demo: asks for the weather, books a table at an hour that fits it, and tells what came of it."""

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
    city = asked.partition(_CITY)[2].partition(":")[0] or "Oslo"
    told = {result.name: json.loads(result.text) for message in turn.messages for result in message.results}
    if "get_weather" not in told:
        return Call("get_weather", {"city": city})
    sky = told["get_weather"]["sky"]
    if "book_table" not in told:
        return Call("book_table", {"city": city, "hour": 18 if sky == "rainy" else 20})
    table = told["book_table"]
    number = table["booking"].partition("-")[0]
    return Say(f"{city} is {sky} tonight, so I booked you a table at {table['hour']}:00: number {number}. Enjoy!")
