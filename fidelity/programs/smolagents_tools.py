"""smolagents: an agent that calls tools, in threads when there are several."""

from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from tools import reserve, weather


@tool
def look_up(city: str) -> str:
    """The weather in a city.

    Args:
        city: which.
    """
    return weather(city)


@tool
def book(city: str, hour: int) -> str:
    """Books a table.

    Args:
        city: where.
        hour: when.
    """
    return reserve(city, hour)


agent = ToolCallingAgent(tools=[look_up, book], model=OpenAIServerModel("gpt-5"), max_steps=8)
print(agent.run("Plan my evening."))
for step in agent.memory.steps:
    print(type(step).__name__, getattr(step, "observations", ""))
