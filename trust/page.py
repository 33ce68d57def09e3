"""The page docs/trust.md, which is also what the command prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trust.parts import Part
from trust.tally import Tally

_HEAD = """\
# Trust

<!-- Written by: ./task trust{quick} --write docs/trust.md -->

What was tried to lose, change, forge or leak what a tape holds, and to harm a program that is recorded. `./task trust`
tries all of it and ends with 1 when anything is not as it should be; each line has a command of its own.

- **Crash points**: a recording is stopped before each write, sync, change of a name and removal, and each time that
  something leaves the process; then it is checked, and resumed. *Power-loss states* are what a disk may hold after each
  of these ([durability.md](durability.md)). *survived*: the tape is sound, and holds each request that had left and
  each answer that the program had.
- **Bit flips, cuts and forgeries** have to be *found*, by what reads a tape before anything else is done with it, or by
  `fsck`. Forgeries that make chain and seal right again are found with a key only ([signatures.md](signatures.md)).
- **Fuzz executions**: inputs given to each reader of what strangers write; a *finding* is one that breaks it.
- **Planted secrets**: looked for in every byte that a recording leaves ([secrets.md](secrets.md)).
- **Memory of long exchanges**: the most memory of the program, bare and recorded, and of our commands.
- **Strain**: full disks, many steps, many requests at once, and what a program may do to a recording. *unharmed*: the
  program said and did the same as without us, and what could not be kept is told.
"""
_COLUMNS = "| what | tried | came of it | as it should be | took |{}\n| --- | ---: | --- | --- | ---: |{}"


@dataclass(frozen=True, slots=True)
class Row:
    """A part with all that was tried of it."""

    part: Part
    tallies: Sequence[Tally]

    @property
    def wrong(self) -> bool:
        """Whether something is not as it should be; a part of which nothing was tried is not."""
        return any(tally.wrong for tally in self.tallies) or not any(tally.tried for tally in self.tallies)


def page(rows: Sequence[Row], machine: Sequence[str], *, quick: bool) -> str:
    """All of it: a line for each part, then a line for each of its trials."""
    head = _HEAD.format(quick=" --quick" if quick else "")
    parts = [_COLUMNS.format(" alone by |", " --- |"), *map(_line, rows)]
    blocks = ["\n".join([head, *machine]), "\n".join(parts)]
    if quick:
        blocks.append("This was a **quick** trial: little of each, to see that it runs.")
    for row in rows:
        lines = [_COLUMNS.format("", ""), *map(_trial, row.tallies)]
        blocks += [f"## {row.part.what[0].upper()}{row.part.what[1:]}", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _line(row: Row) -> str:
    words = dict.fromkeys(tally.word for tally in row.tallies)
    tried = {word: sum(tally.tried for tally in row.tallies if tally.word == word) for word in words}
    count = {word: sum(tally.count for tally in row.tallies if tally.word == word) for word in words}
    came = [f"{count[word]:,} {word}" + (f" of {tried[word]:,}" if len(words) > 1 else "") for word in words]
    took = sum(tally.seconds for tally in row.tallies)
    cells = (row.part.what, f"{sum(tried.values()):,}", ", ".join(came), _verdict(wrong=row.wrong), f"{took:.0f} s")
    return _cells(*cells, f"`{row.part.command}`")


def _trial(tally: Tally) -> str:
    cells = (tally.what, f"{tally.tried:,}", tally.outcome, _verdict(wrong=bool(tally.wrong)), f"{tally.seconds:.1f} s")
    return _cells(*cells) + "".join(f"\n{_cells('', '', _short(wrong), '', '')}" for wrong in tally.wrong)


def _verdict(*, wrong: bool) -> str:
    return "**no**" if wrong else "yes"


def _short(wrong: str) -> str:
    return wrong.splitlines()[0][:200].replace("|", "\\|")


def _cells(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
