"""The table as text: Markdown, or JSON for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from bench.figure import Figure

_HEAD = "| {} | costs | interval | next to | ratio | target | |\n| --- | ---: | ---: | --- | ---: | --- | --- |"

INTRODUCTION = """\
# Speed and size

<!-- Written by: ./task bench --write docs/speed.md -->

Every figure stands next to something measured in the same run, on the same machine; only the ratio of the two means
anything elsewhere. The agent has a conversation that grows by about 1.6 kB a step, against a model server on the same
machine that answers at once. `bench/` holds all of it, and `./task bench` runs it.

What is told is the median of several runs, with its 95 % *interval* by their order alone: of six the smallest and the
largest, of twelve the third from both ends, of twenty the sixth; of fewer than six it is less than that. How many there
are was set before.
A target is met when all of the interval meets it, and undetermined when only some of it does.

- **An exchange** is one HTTP request with its answer, by plain httpx. The agent bare, the agent *with two bare commits*
  to SQLite (one before each exchange and one after it, of rows as large as a tape's), the agent recorded, and the agent
  under vcrpy take each step in turn. "Beyond its durable commits" is judged in two ways: recorded - *with two bare
  commits*, and recorded - bare - the time inside its *own commits*. The first is noisy on a disk that others use, and
  has it in our favour that bare commits make SQLite's log longer and cost more than ours, for which there is room,
  until it is overwritten, after some 1,000 steps. In the second a commit of ours that costs more than a bare one does
  not show (it has a row of its own), and it is ours that all wakes otherwise after a wait for the disk, sooner or
  later. Where they do not agree, the truth is between them at best. None of them has a garbage
  collector: it works at another place of a step when it is recorded. A run gives the median of the steps around a
  history: ten before it and ten from it on, or a twentieth of it where that is more.
- **A draw** is one reading of clock or entropy, with its share of the commit that takes it to disk.
- **Files, children, lanes, sockets** are by the clock, beyond the same without us: what leaves the process waits for
  the disk, as an exchange does.
- **Marks and samples** are an agent or a step that is marked, and a call of a function that is recorded only now and
  then, where it is not; by the quickest round of each process.
- **Secrets** are what the vault costs: the records of an exchange encoded with the search for secrets and without.
- **A look at variables** is what `record --deep` takes at each event of a program: here with three functions on the
  stack, and one history in two places.
- **A recording** is a whole process, with the time that it takes to close the tape, or to write the cassette.
- **A replay** is a whole process, from before its start until its end, next to the same agent with the mock transport
  of its HTTP library. *wall* is how long it took, *processor* how long it computed.
- **A fork** is a whole process, too: all steps but the last from the tape, and the last asked of the server. By itself
  it has to replay the steps before; of several (`--n`) one process does, and stands there as a *checkpoint*, of which
  each is a copy. That one is told from when the branch is asked for until the server is asked. What a branch's tape
  holds is what is new; of many branches, the *news* of each (its answer) do not count.
- **A tape** is a closed one. *raw* is method, address, headers and bodies of all that was sent and received; what zstd
  makes of that is one frame over the whole run, with nothing durable, checked, or found without reading all of it.
"""


def markdown(figures: Sequence[Figure], machine: Sequence[str], where: Sequence[str]) -> str:
    """The page docs/speed.md."""
    blocks = [INTRODUCTION, *machine]
    for group, rows in groupby(figures, key=lambda figure: figure.group):
        blocks += ["", _HEAD.format(group), *map(_row, rows)]
    if where:
        blocks += ["", "Where the bytes of the longest compared tape are:", "", *(f"- {line}" for line in where)]
    return "\n".join(blocks) + "\n"


def plain(figures: Sequence[Figure]) -> str:
    """A line each, to read while the rest is measured."""
    return "".join(
        f"  {figure.what}: {figure.measured}"
        + (f" ({figure.spread})" if figure.spread else "")
        + f", {figure.ratio:.2f} x"
        + (f", {figure.target}: {figure.verdict.value}" if figure.verdict is not None else "")
        + "\n"
        for figure in figures
    )


def as_json(figures: Sequence[Figure], machine: Sequence[str], where: Sequence[str]) -> str:
    """The same for programs: ns, bytes and plain ratios."""
    rows = [
        {
            "group": figure.group,
            "what": figure.what,
            "measured": figure.measured.value,
            "unit": figure.measured.unit.name.lower(),
            "reference": figure.reference,
            "ratio": figure.ratio,
            "target": str(figure.target) if figure.target is not None else None,
            "runs": figure.runs,
            "verdict": figure.verdict.name.lower() if figure.verdict is not None else None,
        }
        for figure in figures
    ]
    return json.dumps({"machine": list(machine), "figures": rows, "where": list(where)}, indent=2, ensure_ascii=False)


def _row(figure: Figure) -> str:
    target, verdict = str(figure.target or ""), figure.verdict.value if figure.verdict is not None else ""
    ratio = f"{figure.ratio:.2f} ×" if figure.ratio >= 0.01 else f"{figure.ratio:.2g} ×"
    cells = (figure.what, str(figure.measured), figure.spread, figure.reference, ratio, target, verdict)
    return f"| {' | '.join(cells)} |"
