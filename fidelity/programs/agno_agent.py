"""Agno: an agent with tools and a database of its sessions."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from tools import reserve, weather


def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


agent = Agent(model=OpenAIChat(id="gpt-5"), tools=[look_up, book], instructions="You plan evenings.")
result = agent.run("Plan my evening.")
print(result.content, result.run_id)
for message in result.messages:
    print(message.role, message.content, message.tool_calls)
