"""Where a command writes: stdout or stderr, with their width, their encoding, and colours where these are wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

import click

from reenact.errors import ReenactError
from reenact.report.terminal import Paint, encodable, width_of


class Screen:
    """One of our two streams."""

    def __init__(self, *, err: bool = False) -> None:
        self._err = err
        self.stream: TextIO = sys.stderr if err else sys.stdout
        self.width = width_of(self.stream)
        self.paint = Paint(on=colored(self.stream))

    def write(self, lines: str | Iterable[str]) -> None:
        """Writes lines, or a text that ends in a line break, at once: a long run has tens of thousands of lines."""
        text = lines if isinstance(lines, str) else "".join(f"{line}\n" for line in lines)
        click.echo(encodable(text, self.stream), nl=False, err=self._err)


def tell(error: ReenactError, usage: str = "") -> None:
    """Says on stderr what is wrong."""
    from reenact.report import error as errors

    screen = Screen(err=True)
    width = screen.width if screen.stream.isatty() else None
    screen.write(errors.text(error.slug, str(error), width=width, paint=screen.paint, usage=usage))


def colored(stream: TextIO) -> bool:
    """Whether to write colours there: on a terminal that has some, unless NO_COLOR (no-color.org) says no."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
