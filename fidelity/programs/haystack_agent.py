"""Haystack: its Agent component, with tools."""

from typing import Annotated

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool

from tools import reserve, weather


@tool
def look_up(city: Annotated[str, "which"]) -> str:
    """The weather in a city."""
    return weather(city)


@tool
def book(city: Annotated[str, "where"], hour: Annotated[int, "when"]) -> str:
    """Books a table."""
    return reserve(city, hour)


agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-5"), tools=[look_up, book], system_prompt="You plan.")
result = agent.run(messages=[ChatMessage.from_user("Plan my evening.")])
for message in result["messages"]:
    print(message.role, message.text, [call.arguments for call in message.tool_calls], message.tool_call_results)
