"""DSPy: ReAct, with its cache on."""

import dspy

from tools import reserve, weather


def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


dspy.configure(lm=dspy.LM("openai/gpt-5", temperature=1.0, max_tokens=20000))
react = dspy.ReAct("question -> answer", tools=[look_up, book], max_iters=6)
result = react(question="Plan my evening.")
print(result.answer)
print(result.trajectory)
