"""An MCP client: tools of a server over stdio, and a loop on the OpenAI SDK."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI


async def main():
    server = StdioServerParameters(command=sys.executable, args=["mcp_server.py"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        listed = (await session.list_tools()).tools
        schema = "inputSchema" if hasattr(listed[0], "inputSchema") else "input_schema"
        tools = [
            {
                "type": "function",
                "function": {"name": t.name, "description": t.description, "parameters": getattr(t, schema)},
            }
            for t in listed
        ]
        messages = [{"role": "user", "content": "Plan my evening."}]
        async with AsyncOpenAI() as client:
            while True:
                reply = await client.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
                message = reply.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    break
                for call in message.tool_calls:
                    result = await session.call_tool(call.function.name, json.loads(call.function.arguments))
                    text = result.content[0].text
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
                    print(call.function.name, text)
        print(messages[-1]["content"])


asyncio.run(main())
