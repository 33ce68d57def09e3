"""Google ADK: an LlmAgent on Gemini, with a session service in memory."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from tools import reserve, weather


def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


async def main():
    agent = LlmAgent(name="planner", model="gemini-2.5-flash", instruction="You plan evenings.", tools=[look_up, book])
    runner = InMemoryRunner(agent=agent, app_name="evenings")
    session = await runner.session_service.create_session(app_name="evenings", user_id="ann")
    content = types.Content(role="user", parts=[types.Part(text="Plan my evening.")])
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=content):
        for part in event.content.parts if event.content else []:
            print(event.author, event.id, part.text, part.function_call, part.function_response)


asyncio.run(main())
