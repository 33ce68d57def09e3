"""LangGraph: a graph with a memory, tools that run side by side in threads, and a streamed Anthropic model."""

from typing import Annotated, TypedDict

from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from tools import reserve, weather


class State(TypedDict):
    messages: Annotated[list, add_messages]


@tool
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@tool
def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


model = ChatAnthropic(model="claude-sonnet-4-5", streaming=True).bind_tools([look_up, book])


def think(state: State):
    return {"messages": [model.invoke(state["messages"])]}


graph = StateGraph(State)
graph.add_node("think", think)
graph.add_node("tools", ToolNode([look_up, book]))
graph.add_edge(START, "think")
graph.add_conditional_edges("think", tools_condition)
graph.add_edge("tools", "think")
app = graph.compile(checkpointer=MemorySaver())
config = {"configurable": {"thread_id": "one"}}
for update in app.stream({"messages": [("user", "Plan my evening.")]}, config, stream_mode="updates"):
    for node, state in update.items():
        for message in state["messages"]:
            print(node, message.id, message.content)
print(len(list(app.get_state_history(config))), app.get_state(config).config["configurable"]["checkpoint_id"])
