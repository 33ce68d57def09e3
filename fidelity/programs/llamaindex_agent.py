"""LlamaIndex: a FunctionAgent, whose workflow runs on asyncio."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

from tools import reserve, weather


def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


async def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


async def main():
    agent = FunctionAgent(tools=[look_up, book], llm=OpenAI(model="gpt-4o"), system_prompt="You plan evenings.")
    handler = agent.run(user_msg="Plan my evening.")
    async for event in handler.stream_events():
        print(type(event).__name__, getattr(event, "tool_output", "") or getattr(event, "delta", ""))
    print(str(await handler))


asyncio.run(main())
