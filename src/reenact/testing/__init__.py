"""A local model server to test agents with: no network, no keys, no spending.

with ModelServer(Script(Call("weather", {"city": "Oslo"}), Say("Sunny."))) as server:
    client = openai.OpenAI(base_url=server.openai, api_key="any")
"""

from reenact.testing.cassette import read_cassettes
from reenact.testing.cassette_server import CassetteServer
from reenact.testing.cut import Cut
from reenact.testing.policy import Policy, Script, Stochastic
from reenact.testing.reply import (
    Call,
    Calls,
    Drop,
    Fail,
    Raw,
    Reply,
    ResetMidStream,
    Say,
    SlowFirstByte,
    Usage,
)
from reenact.testing.request import Request
from reenact.testing.server import ModelServer
from reenact.testing.turn import Message, Provider, Role, ToolResult, Turn

__all__ = [
    "Call",
    "Calls",
    "CassetteServer",
    "Cut",
    "Drop",
    "Fail",
    "Message",
    "ModelServer",
    "Policy",
    "Provider",
    "Raw",
    "Reply",
    "Request",
    "ResetMidStream",
    "Role",
    "Say",
    "Script",
    "SlowFirstByte",
    "Stochastic",
    "ToolResult",
    "Turn",
    "Usage",
    "read_cassettes",
]
