"""OpenAI Agents: a handoff, and answers that are streamed from the Responses API."""

import asyncio

from agents import Agent, Runner, function_tool

from tools import reserve, weather


@function_tool
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@function_tool
async def book(city: str, hour: int) -> str:
    """Books a table."""
    await asyncio.sleep(0.01)
    return reserve(city, hour)


booker = Agent(name="booker", model="gpt-5", instructions="You book.", tools=[look_up, book])
triage = Agent(name="triage", model="gpt-5", instructions="You hand over.", handoffs=[booker])


async def main():
    result = Runner.run_streamed(triage, "Plan my evening.")
    async for event in result.stream_events():
        if event.type == "run_item_stream_event":
            print(event.name, type(event.item).__name__)
    print(result.last_agent.name, result.final_output)


asyncio.run(main())
