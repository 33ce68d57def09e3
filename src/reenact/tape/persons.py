"""Data of persons, by what can be told from the form and the check digits: the extra `pii`.

Telephone numbers by phonenumbers (Google's own data), cards and accounts by python-stdnum. Both are small, need no
model and no network, and check what they find, so that little is taken for what it is not. Names and addresses of
streets they do not find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reenact.errors import MissingExtraError
from reenact.tape import digits

try:
    import phonenumbers
except ImportError as error:
    raise MissingExtraError("phonenumbers", "pii") from error

_EMAIL: Final = re.compile(rb"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}")
# Those of payment begin with 2 to 6 (ISO/IEC 7812), and a time in ns since 1970 with 1: each tenth of those has a right
# check digit
_CARD: Final = re.compile(rb"(?<![\d.-])[2-6][ -]?(?:\d[ -]?){11,17}\d(?![\d.-])")
_IBAN: Final = re.compile(rb"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_SSN: Final = re.compile(rb"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])")
_PHONE: Final = re.compile(rb"\+\d[\d ()./-]{6,18}\d")


def found(text: bytes) -> Iterator[bytes]:
    """E-mail addresses, telephone numbers with their country, card numbers, IBANs, US social security numbers."""
    yield from (match[0] for match in _EMAIL.finditer(text))
    for pattern, is_one in (
        (_CARD, digits.is_card),
        (_IBAN, digits.is_iban),
        (_SSN, digits.is_ssn),
        (_PHONE, _is_phone),
    ):
        for match in pattern.finditer(text):
            written = match[0].decode("ascii")
            if is_one(written if pattern is _PHONE else written.replace(" ", "").replace("-", "")):
                yield match[0]


def _is_phone(written: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(written))
    except phonenumbers.NumberParseException:
        return False
