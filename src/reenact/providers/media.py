"""Pictures, sound and files inside messages: their type and size, never their bytes."""

from __future__ import annotations

from reenact.providers.loose import Doc, doc, either, text
from reenact.providers.message import Media


def size_of_base64(data: object) -> int | None:
    """Bytes that a base64 text stands for; None if it is no text."""
    if not isinstance(data, str):
        return None
    return len(data) * 3 // 4 - data[-2:].count("=")


def media_of_url(kind: str, url: str) -> Media:
    """Media by URL: a data URL tells its own type and size."""
    if not url.startswith("data:"):
        return Media(kind)
    head, _, data = url[5:].partition(",")
    return Media(head.partition(";")[0] or kind, size_of_base64(data) if head.endswith(";base64") else len(data))


def media_of_openai(kind: str, value: object) -> Media:
    """Media in a message of either OpenAI API: a URL, an object with a URL, or one with base64 data."""
    kind = kind.removeprefix("input_").removesuffix("_url")
    if isinstance(value, str):
        return media_of_url(kind, value)
    if not isinstance(value, dict):
        return Media(kind)
    if url := text(value, "url", "file_data", "image_url"):
        return media_of_url(kind, url)
    form = text(value, "format")
    return Media(f"{kind}/{form}" if form else kind, size_of_base64(value.get("data")))


def media_of_anthropic(block: Doc) -> Media:
    """Anthropic's image and document blocks."""
    source = doc(block, "source")
    kind = text(source, "media_type") or text(block, "type")
    data = source.get("data")
    if text(source, "type") == "text" and isinstance(data, str):
        return Media(kind, len(data.encode()))
    return Media(kind, size_of_base64(data))


def media_of_gemini(blob: Doc) -> Media:
    """Gemini's inlineData and fileData."""
    kind = either(blob, "mimeType", "mime_type")
    return Media(kind if isinstance(kind, str) else "file", size_of_base64(blob.get("data")))


def media_of_bedrock(kind: str, block: Doc) -> Media:
    """Bedrock's image, document, video and audio blocks."""
    form = text(block, "format")
    return Media(f"{kind}/{form}" if form else kind, size_of_base64(doc(block, "source").get("bytes")))
