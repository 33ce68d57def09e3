"""LangChain: `create_agent` on the OpenAI SDK."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from tools import reserve, weather


@tool
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@tool
def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


agent = create_agent(ChatOpenAI(model="gpt-5"), [look_up, book], system_prompt="You plan evenings.")
result = agent.invoke({"messages": [{"role": "user", "content": "Plan my evening."}]})
for message in result["messages"]:
    print(type(message).__name__, message.id is not None, message.content, getattr(message, "tool_calls", ""))
