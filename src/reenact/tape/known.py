"""What a secret looks like, where no name beside it says that it is one: forms that services give their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FORMS: Final[dict[str, str]] = {
    "Anthropic key": r"sk-ant-[\w-]{20,}",
    "OpenAI key": r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "Google API key": r"AIza[\w-]{35}",
    "Google OAuth token": r"ya29\.[\w-]{20,}",
    "AWS access key id": r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,})",
    "GitLab token": r"glpat-[\w-]{20,}",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Slack webhook": r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{20,}",
    "Stripe key": r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "Groq key": r"gsk_[A-Za-z0-9]{30,}",
    "xAI key": r"xai-[A-Za-z0-9]{40,}",
    "Replicate token": r"r8_[A-Za-z0-9]{30,}",
    "LangSmith key": r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}",
    "PyPI token": r"pypi-[\w-]{50,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "SendGrid key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "Twilio key": r"SK[a-f0-9]{32}",
    "Telegram bot token": r"[0-9]{8,10}:AA[\w-]{33}",
    "JSON web token": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]{32,}",
    "password in a URL": r"[a-z][\w+.-]*://[^/\s:@\"'<>]{1,64}:[^/\s@\"'<>]{4,}(?=@)",
    "bearer token": r"(?i:bearer)[ +][\w.~+/-]{20,}",
}
_ONE: Final = re.compile("|".join(f"(?P<f{at}>{form})" for at, form in enumerate(_FORMS.values())).encode())
_NAMES: Final = tuple(_FORMS)
# Each begins so, and to look for that is quick
_BEGINNINGS: Final = re.compile(
    rb"(?<![A-Za-z0-9])(?=sk-|[rs]k_|AIza|ya29\.|AKIA|ASIA|gh[pousr]_|github_|glpat|xox|hooks|hf_|gsk_|xai-|r8_|lsv2_|pypi-"
    rb"|npm_|SG\.|SK|[0-9]{8}|eyJ|-----BEGIN|[a-z][\w+.-]*://|[bB]earer)"
)


def found(data: bytes) -> Iterator[tuple[str, bytes]]:
    """What in a text looks like a secret, each with what it looks like."""
    at = 0
    while (beginning := _BEGINNINGS.search(data, at)) is not None:
        match = _ONE.match(data, beginning.start())
        if match is None:
            at = beginning.start() + 1
            continue
        name = _NAMES[int((match.lastgroup or "f0")[1:])]
        yield name, _value(name, match[0])
        at = match.end()


def _value(name: str, text: bytes) -> bytes:
    """Of what was found the secret itself."""
    if name == "password in a URL":
        return text.rpartition(b":")[2]
    if name == "bearer token":
        return text[7:]
    return text.partition(b"KEY-----")[2].strip() if name == "private key" else text
