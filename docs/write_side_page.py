"""Writes the table of docs/side-traffic.md from the list that is shipped."""

from __future__ import annotations

import re
from pathlib import Path

from reenact.engine.side.shipped import SENDERS

PAGE = Path(__file__).with_name("side-traffic.md")
_TABLE = re.compile(r"(?<=<!-- list -->\n).*(?=<!-- end of list -->)", re.DOTALL)


def page() -> str:
    """The page as it should stand in docs/side-traffic.md."""
    return _TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8"))


def table() -> str:
    """One row for each sender."""
    rows = (
        f"| {sender.name} | {sender.what} | {'<br>'.join(f'`{one}`' for one in sender.patterns)} | {sender.source} |"
        for sender in SENDERS
    )
    return "\n".join(("| sender | what | patterns | source |", "| --- | --- | --- | --- |", *rows, ""))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
