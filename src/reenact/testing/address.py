"""Where a server listens, in the form in which each provider's SDK takes its base URL."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Address(ABC):
    """The base URLs of a server on a port of the loopback interface."""

    @property
    @abstractmethod
    def port(self) -> int:
        """The port; raises RuntimeError while nobody listens."""

    @property
    def url(self) -> str:
        """The root, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        """For `openai.OpenAI(base_url=...)`, and others that speak OpenAI's formats."""
        return f"{self.url}/v1"

    @property
    def anthropic(self) -> str:
        """For `anthropic.Anthropic(base_url=...)`."""
        return self.url

    @property
    def groq(self) -> str:
        """For `groq.Groq(base_url=...)`."""
        return self.url

    @property
    def gemini(self) -> str:
        """For `google.genai.types.HttpOptions(base_url=...)`."""
        return self.url

    @property
    def bedrock(self) -> str:
        """For `boto3.client("bedrock-runtime", endpoint_url=...)`."""
        return self.url
