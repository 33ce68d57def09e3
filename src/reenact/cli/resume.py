"""`reenact resume`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from reenact.cli import options
from reenact.errors import UsageError

if TYPE_CHECKING:
    from reenact.launch.fate import Fate
    from reenact.tape.recording import Recording


_OF_EVENTS: Final[dict[str, Any]] = {"metavar": "[EVENT]", "multiple": True, "is_flag": False, "flag_value": "all"}


@click.command()
@click.argument("run")
@click.option("--retry", "retried", **_OF_EVENTS, help="Ask again: all that has no outcome on tape, or this event.")
@click.option("--skip", "skipped", **_OF_EVENTS, help="Tell the program that it failed.")
@click.option("--answer", "answered", metavar="[EVENT=]FILE", multiple=True, help="Give the program this answer to it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end unless something is wrong.")
@options.store
def command(
    run: str,
    store_dir: str | None,
    retried: tuple[str, ...],
    skipped: tuple[str, ...],
    answered: tuple[str, ...],
    *,
    quiet: bool,
) -> None:
    """Go on with a run that was killed: what its tape holds costs nothing, and then it is live.

    A request, tool or child process that was under way has no outcome on tape, and may have had its effect all the
    same. Nobody guesses: each has to be named, to be asked again, skipped, or answered from a file.

    \b
    reenact resume last
    reenact resume last --retry
    reenact resume agent-7f3a --retry 12 --skip 14 --answer 15=refund.json
    """  # noqa: D301  \b tells click not to wrap
    from reenact.launch import resuming, supervise
    from reenact.launch.settings import Settings
    from reenact.report import recorded, resumed
    from reenact.tape.continuing import uncertain
    from reenact.tape.reader import read

    store = options.open_store(store_dir)
    recording = read(store.resolve(run))
    manifest = resuming.check(recording)
    fates = _fates(recording, retried, skipped, answered)
    left = [event for event in uncertain(recording) if event.id not in fates]
    option = f" --store {shlex.quote(store_dir)}" if store_dir else ""
    if left:
        click.echo(resumed.open_text(recording, left, option), nl=False, err=True)
        sys.exit(2)
    from reenact.launch.fate import Way

    home = Path(manifest.cwd)
    chosen = {event: fate for event, fate in fates.items() if fate.way is not Way.RETRY}
    done = resuming.resume(recording, store, Settings.near(home if home.is_dir() else Path.cwd()), chosen)
    if done.recording is None:
        click.echo(resumed.failed_text(recording, done.report), nl=False, err=True)
        sys.exit(1)
    click.echo(resumed.text(recording, done.report, quiet=quiet), nl=False, err=True)
    size = done.recording.path.stat().st_size
    click.echo(recorded.text(done.recording, size, option, quiet=quiet), nl=False, err=True)
    supervise.die_as(done.status)
    sys.exit(supervise.mirror(done.status))


def _fates(
    recording: Recording, retried: tuple[str, ...], skipped: tuple[str, ...], answered: tuple[str, ...]
) -> dict[int, Fate]:
    """What the user has decided, by event."""
    from reenact.launch.fate import Fate, Way
    from reenact.tape.continuing import uncertain

    open_ones = [event.id for event in uncertain(recording)]
    fates: dict[int, Fate] = {}

    def decide(word: str, fate: Fate) -> None:
        if word == "all":
            fates.update(dict.fromkeys([event for event in open_ones if event not in fates], fate))
        elif not word.isdigit() or int(word) not in open_ones:
            known = f"Those are: {', '.join(map(str, open_ones))}" if open_ones else "All have one"
            raise UsageError(f"{word!r} is no event of {recording.path.stem} without an outcome. {known}.")
        elif int(word) in fates:
            raise UsageError(f"event {word} is named twice: retry, skip or answer it")
        else:
            fates[int(word)] = fate

    for pair in answered:
        event, equals, file = pair.partition("=")
        if not equals and len(open_ones) == 1:
            event, file = str(open_ones[0]), pair
        elif not file:
            raise UsageError(f"--answer {pair}: say to which event, by EVENT=FILE")
        decide(event, Fate(Way.ANSWER, Path(file)))
    for way, words in ((Way.SKIP, skipped), (Way.RETRY, retried)):
        for word in sorted(words, key=lambda word: word == "all"):
            decide(word, Fate(way))
    return fates
