"""AutoGen: an assistant with tools, in a round-robin team that ends itself."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tools import reserve, weather


async def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


async def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


async def main():
    client = OpenAIChatCompletionClient(
        model="gpt-5",
        model_info={
            "vision": False,
            "function_calling": True,
            "json_output": False,
            "family": "gpt-5",
            "structured_output": False,
        },
    )
    planner = AssistantAgent("planner", model_client=client, tools=[look_up, book], max_tool_iterations=6)
    team = RoundRobinGroupChat(
        [planner], termination_condition=TextMentionTermination("done") | MaxMessageTermination(9)
    )
    async for message in team.run_stream(task="Plan my evening."):
        print(type(message).__name__, getattr(message, "content", getattr(message, "stop_reason", "")))
    await client.close()


asyncio.run(main())
