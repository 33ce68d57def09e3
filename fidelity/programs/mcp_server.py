"""The server that `mcp_client.py` starts."""

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

from tools import reserve, weather

server = Server("evenings")


@server.tool()
def look_up(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@server.tool()
def book(city: str, hour: int) -> str:
    """Books a table."""
    return reserve(city, hour)


server.run("stdio")
