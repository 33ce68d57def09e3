"""The headers of a failure that the providers' SDKs read before they try again."""

from __future__ import annotations

from reenact.testing.reply import Fail
from reenact.testing.response import Headers


def retry_headers(fail: Fail) -> Headers:
    """Retry-After in seconds and, as OpenAI sends it, in milliseconds; `x-should-retry` when told."""
    headers: list[tuple[str, str]] = []
    if fail.retry_after is not None:
        headers.append(("retry-after", f"{fail.retry_after:g}"))
        headers.append(("retry-after-ms", f"{fail.retry_after * 1000:g}"))
    if fail.should_retry is not None:
        headers.append(("x-should-retry", "true" if fail.should_retry else "false"))
    return tuple(headers)
