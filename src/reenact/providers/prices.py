"""What tokens cost: list prices of models, in US dollars for a million tokens, as known on `SEEN`.

Most are of public tables that agreed; prices change, and contracts differ: what is made of these is an estimate. A
model that is not here has no price, which is not a price of nothing. A project names its own in
`[tool.reenact.prices]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from reenact.providers.call import Usage

SEEN = "2026-11-23"
_MILLION = 1_000_000
_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|preview|exp)(?:[-:v].*)?\Z|-v\d+(?::\d+)?\Z")
_REGION = re.compile(
    r"\A(?:models/|(?:us|eu|apac|global|jp|au)\.)*(?:anthropic\.|openai\.|google/|anthropic/|openai/)?"
)


class Price(msgspec.Struct, frozen=True):
    """Dollars for a million tokens: read, read from a cache, and written."""

    input: float
    output: float
    cached: float


def _price(input: float, output: float, cached: float | None = None) -> Price:  # noqa: A002  that is what they are called
    return Price(input, output, input if cached is None else cached)


PRICES: Mapping[str, Price] = {
    "gpt-4o": _price(2.5, 10, 1.25),
    "gpt-4o-mini": _price(0.15, 0.6, 0.075),
    "gpt-4.1": _price(2, 8, 0.5),
    "gpt-4.1-mini": _price(0.4, 1.6, 0.1),
    "gpt-4.1-nano": _price(0.1, 0.4, 0.025),
    "gpt-5": _price(1.25, 10, 0.125),
    "gpt-5-mini": _price(0.25, 2, 0.025),
    "gpt-5-nano": _price(0.05, 0.4, 0.005),
    "gpt-5-pro": _price(15, 120),
    "gpt-5.1": _price(1.25, 10, 0.125),
    "gpt-5.2": _price(1.75, 14, 0.175),
    "gpt-5.4": _price(2.5, 15, 0.25),
    "gpt-5.4-mini": _price(0.75, 4.5, 0.075),
    "gpt-5.4-nano": _price(0.2, 1.25, 0.02),
    "o3": _price(2, 8, 0.5),
    "o3-mini": _price(1.1, 4.4, 0.55),
    "o4-mini": _price(1.1, 4.4, 0.275),
    "claude-opus-4-1": _price(15, 75, 1.5),
    "claude-opus-4-5": _price(5, 25, 0.5),
    "claude-opus-4-6": _price(5, 25, 0.5),
    "claude-opus-4-7": _price(5, 25, 0.5),
    "claude-opus-4-8": _price(5, 25, 0.5),
    "claude-sonnet-4": _price(3, 15, 0.3),
    "claude-sonnet-4-5": _price(3, 15, 0.3),
    "claude-sonnet-4-6": _price(3, 15, 0.3),
    "claude-haiku-4-5": _price(1, 5, 0.1),
    "gemini-2.5-pro": _price(1.25, 10, 0.31),
    "gemini-2.5-flash": _price(0.3, 2.5, 0.075),
    "gemini-2.5-flash-lite": _price(0.1, 0.4, 0.025),
}


def price_of(model: str, own: Mapping[str, Price] = {}) -> Price | None:
    """The price of a model by the name that it is asked or served by; None where nobody knows it. `own` come first."""
    for name in (model, plain := _REGION.sub("", model), _DATED.sub("", plain)):
        found = own.get(name) or PRICES.get(name)
        if found is not None:
            return found
    return None


def dollars(usage: Usage, price: Price) -> float:
    """What tokens cost at a price."""
    fresh = max(usage.input - usage.cached_input, 0)
    read = fresh * price.input + usage.cached_input * price.cached
    return (read + usage.output * price.output) / _MILLION
