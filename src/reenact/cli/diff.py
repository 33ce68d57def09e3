"""`reenact diff`."""

from __future__ import annotations

import click

from reenact.cli import options


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--step", type=int, metavar="N", help="One step of A in full, with that of B. A@N means the same.")
@options.as_json
@options.store
def command(first: str, second: str, step: int | None, store_dir: str | None, *, as_json: bool) -> None:
    """Compare two runs, step by step: where did they part?

    The first difference that matters is told first. Steps are matched by what they asked and decided, so one that was
    put in or left out does not shift the others. Of each request, what is new in it is compared. Times, ids, addresses
    and counts of tokens do not matter.

    \b
    reenact diff support-7f3a last
    reenact diff support-7f3a@12 last
    reenact diff old/support-7f3a.tape last
    reenact diff support-7f3a last --json | jq .first

    Exit status 0: nothing differs that matters; 1: something does; 2: misuse.

    \b
    --json prints one object (docs/diff.md): a, b, same, first, first_said,
    counts, given, steps, beside, end
    """  # noqa: D301  \b tells click not to wrap
    from reenact.cli.screen import Screen
    from reenact.cli.show import has, place
    from reenact.errors import UsageError
    from reenact.report import differences
    from reenact.report.document import encode

    first, number = place(first)
    if number is not None and step is not None and number != step:
        raise UsageError(f"{first}@{number} already names a step; leave out --step {step}")
    step = number if step is None else step
    store = options.open_store(store_dir)
    a, b = (differences.side(store.resolve(name)) for name in (first, second))
    if step is not None and not 1 <= step <= a.run.steps:
        raise UsageError(f"there is no step {step}: {has(a.side.recording, a.run.steps, 'step', 1)}")
    document = differences.between(a, b)
    if as_json:
        click.echo(encode(document))
    else:
        screen = Screen()
        both = a.side.trajectory.steps, b.side.trajectory.steps
        screen.write(differences.text(document, both, width=screen.width, paint=screen.paint, step=step))
    if not document.same:
        click.get_current_context().exit(1)
