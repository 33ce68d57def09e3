"""Pydantic AI, by `run_sync`, with a checked result."""

from pydantic_ai import Agent, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

from tools import reserve, weather

agent = Agent(OpenAIChatModel("gpt-5"), system_prompt="You plan evenings.", deps_type=str)


@agent.tool
def look_up(ctx: RunContext[str], city: str) -> str:
    """The weather in a city."""
    return f"{ctx.deps}: {weather(city)}"


@agent.tool_plain
async def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


result = agent.run_sync("Plan my evening.", deps="for Ann")
print(result.output, result.usage)
for message in result.all_messages():
    print(message.kind, [part.part_kind for part in message.parts], getattr(message, "timestamp", ""))
