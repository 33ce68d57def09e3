"""CrewAI: a crew of one, with two tools."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from tools import reserve, weather


@tool("look_up")
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@tool("book")
def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


planner = Agent(
    role="planner",
    goal="plan evenings",
    backstory="You know the north.",
    tools=[look_up, book],
    llm=LLM(model="openai/gpt-5"),
)
task = Task(description="Plan my evening.", expected_output="a plan", agent=planner)
print(Crew(agents=[planner], tasks=[task]).kickoff())
