"""Strands: an agent on Bedrock, whose answers are streamed."""

from strands import Agent, tool
from strands.models import BedrockModel

from tools import reserve, weather


@tool
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@tool
def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


agent = Agent(
    model=BedrockModel(model_id="anthropic.claude-sonnet-4-5", region_name="us-east-1"), tools=[look_up, book]
)
result = agent("Plan my evening.")
print(result.stop_reason, result.metrics.cycle_count)
for message in agent.messages:
    print(message)
