"""Pure readers: the bytes of one exchange with a model -> what it means. No IO, no tape, no HTTP library."""

from reenact.providers.call import ApiError, ModelCall, NotAModel, Reading, ToolSpec, Unreadable, Usage
from reenact.providers.message import Media, Message, Other, Part, Text, Thinking, ToolCall, ToolResult
from reenact.providers.news import News, news
from reenact.providers.reading import read
from reenact.providers.wire import Headers, Wire, header

__all__ = [
    "ApiError",
    "Headers",
    "Media",
    "Message",
    "ModelCall",
    "News",
    "NotAModel",
    "Other",
    "Part",
    "Reading",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Unreadable",
    "Usage",
    "Wire",
    "header",
    "news",
    "read",
]
