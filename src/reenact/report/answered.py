"""What a run on imported exchanges came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from reenact.engine.cause import explain
from reenact.engine.divergence import Divergence
from reenact.engine.normalize import SHIPPED, Normalizer
from reenact.launch import manifest as manifests
from reenact.launch.answered import Answered
from reenact.report import divergence as divergences
from reenact.report.figures import counted
from reenact.report.terminal import Paint, plain, wrapped
from reenact.tape.event import Kind
from reenact.trajectory import step_of_event

LIVE: Final = ("clock", "randomness", "files", "child processes", "order")
ENCLOSED: Final = "closed by the kernel, for all that the program starts, too"
HOOKED: Final = "closed by an audit hook of Python; programs in C that it starts are not closed in"
_LISTED: Final = 8


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A run on imported exchanges.

    The `exchanges` of the imported `run`, which is from the file `source`, have an answer; so many were `asked` for,
    and the rest are `unasked`, by method and URL. They were matched by what `matched` says. `live` is what was not
    answered from anything, `network` how that was closed. `kept` is the run that has been recorded meanwhile, empty
    where there are `divergences`. `faults` are reenact's own.
    """

    verdict: str
    run: str
    source: str
    exchanges: int
    asked: int
    unasked: list[str]
    matched: str
    live: Sequence[str] = LIVE
    network: str
    kept: str
    exit_status: int
    faults: list[str]
    divergences: list[Divergence]


def document(answered: Answered, normalizers: Sequence[Normalizer] = SHIPPED) -> Document:
    """What came of it; compared with these normalizers."""
    imported, report = answered.imported, answered.report
    manifest = manifests.decode(imported.manifest)
    found = [explain(one, normalizers, ()) for one in report.divergences]
    if found:
        steps = step_of_event(imported)
        found = [msgspec.structs.replace(one, step=steps.get(-1 if one.event is None else one.event)) for one in found]
    whole = sum(event.kind is Kind.HTTP and event.complete for event in imported.events)
    return Document(
        verdict="diverged" if answered.kept is None else "unverified" if report.faults else "answered",
        run=manifest.run_id,
        source=manifest.entry.partition(":")[2],
        exchanges=whole,
        asked=report.asked,
        unasked=[imported.events[event].name for event in report.unasked],
        matched="method and URL" if answered.by_url else "method, URL and body",
        network=ENCLOSED if report.enclosed else HOOKED,
        kept=answered.kept.path.stem if answered.kept is not None else "",
        exit_status=answered.status,
        faults=report.faults,
        divergences=found,
    )


def text(found: Document, *, width: int, paint: Paint) -> Iterator[str]:
    """For a terminal, line by line."""
    asked = f"{found.asked:,} of {counted(found.exchanges, 'exchange')}"
    if found.divergences:
        first = found.divergences[0]
        yield paint.strong.bad("DIVERGED") + f"  {plain(found.run)}: {divergences.headline(first)}"
        yield ""
        yield from divergences.text(first, width=width, paint=paint, cwd="", headed=False).rstrip("\n").split("\n")
        yield ""
        yield f"  answered before  {asked} of {plain(found.source)}, by {found.matched}"
        return
    lines = [
        f"answered {asked} of {plain(found.run)} ({plain(found.source)}), by {found.matched}",
        f"{', '.join(found.live)} were live, and the network {found.network}",
    ]
    if found.unasked:
        lines.append(f"not asked: {_listed(found.unasked)}")
    lines += [f"reenact itself failed: {plain(fault.splitlines()[-1])}" for fault in found.faults]
    lines.append(f"kept as {plain(found.kept)}, with its clock and order: try  reenact verify {plain(found.kept)}")
    for line in lines:
        begin, *rest = wrapped(line, width - 9)
        yield f"reenact: {begin}"
        yield from (f"         {each}" for each in rest)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(plain(name) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED:,} more"
