"""Whether the check digits of a number hold: by python-stdnum."""

from __future__ import annotations

from reenact.errors import MissingExtraError

try:
    from stdnum import iban, luhn
    from stdnum.us import ssn
except ImportError as error:
    raise MissingExtraError("python-stdnum", "pii") from error


def is_card(written: str) -> bool:
    """Whether it may be the number of a card (ISO/IEC 7812)."""
    return bool(luhn.is_valid(written))


def is_iban(written: str) -> bool:
    """Whether it is an IBAN (ISO 13616)."""
    return bool(iban.is_valid(written))


def is_ssn(written: str) -> bool:
    """Whether it may be a social security number of the United States."""
    return bool(ssn.is_valid(written))
