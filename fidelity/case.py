"""The frameworks: one unmodified program each, with tools and at least four steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
SHARED = ("tools.py", "mcp_server.py")


@dataclass(frozen=True, slots=True)
class Case:
    """One framework. `package` is the distribution whose version is told; `environment` is a file in `environments/`.

    `steps` are how many requests the model gets.
    """

    name: str
    program: str
    package: str
    environment: str
    steps: int = 4

    @property
    def path(self) -> Path:
        """The program."""
        return PROGRAMS / self.program


CASES = (
    Case("LangChain", "langchain_agent.py", "langchain", "a"),
    Case("LangGraph (parallel tools, streamed Anthropic)", "langgraph_parallel.py", "langgraph", "a"),
    Case("OpenAI Agents (handoff, streamed Responses)", "openai_agents.py", "openai-agents", "a", steps=5),
    Case("Pydantic AI", "pydantic_agent.py", "pydantic-ai-slim", "a"),
    Case("AutoGen", "autogen_team.py", "autogen-agentchat", "a"),
    Case("smolagents", "smolagents_tools.py", "smolagents", "a"),
    Case("Haystack", "haystack_agent.py", "haystack-ai", "a"),
    Case("Agno", "agno_agent.py", "agno", "a"),
    Case("MCP client (stdio server)", "mcp_client.py", "mcp", "a"),
    Case("LiteLLM (async)", "litellm_loop.py", "litellm", "b"),
    Case("DSPy (ReAct)", "dspy_react.py", "dspy", "b", steps=5),
    Case("LlamaIndex", "llamaindex_agent.py", "llama-index-core", "b"),
    Case("mini-swe-agent (shell commands)", "mini_swe_agent.py", "mini-swe-agent", "b"),
    Case("Google ADK (Gemini)", "adk_agent.py", "google-adk", "b"),
    Case("Strands (Bedrock stream)", "strands_agent.py", "strands-agents", "b"),
    Case("CrewAI", "crewai_crew.py", "crewai", "c"),
)
