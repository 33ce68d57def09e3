"""Which wire format a request is in, told by its method and path."""

from __future__ import annotations

from reenact.testing.request import Request
from reenact.testing.turn import Provider
from reenact.testing.wire.chat import ChatDialect
from reenact.testing.wire.converse import ConverseDialect
from reenact.testing.wire.dialect import Dialect
from reenact.testing.wire.gemini import GeminiDialect
from reenact.testing.wire.messages import MessagesDialect
from reenact.testing.wire.responses import ResponsesDialect


class Routes:
    """The wire formats of one server. Paths match by their end: many services speak OpenAI's formats."""

    def __init__(self) -> None:
        self._chat = ChatDialect()
        self._groq = ChatDialect(Provider.GROQ)
        self._messages = MessagesDialect()
        self._gemini = GeminiDialect()
        self._converse = ConverseDialect()
        self._by_ending: dict[str, Dialect] = {
            "/openai/v1/chat/completions": self._groq,
            "/chat/completions": self._chat,
            "/responses": ResponsesDialect(),
            "/messages": self._messages,
            ":generateContent": self._gemini,
            ":streamGenerateContent": self._gemini,
            "/converse": self._converse,
            "/converse-stream": self._converse,
        }

    def of(self, request: Request) -> Dialect | None:
        """The format of a request for a turn, or None when it is not one."""
        if request.method != "POST":
            return None
        path = request.path
        return next((dialect for end, dialect in self._by_ending.items() if path.endswith(end)), None)

    def nearest(self, request: Request) -> Dialect:
        """The format in which to refuse a request that is not for a turn."""
        if request.path.startswith(("/v1beta/", "/v1alpha/")):
            return self._gemini
        if request.path.startswith("/model/"):
            return self._converse
        if "anthropic-version" in request.headers:
            return self._messages
        return self._chat
