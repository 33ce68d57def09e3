"""The branches of a run, as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from reenact.report.figures import counted, seconds
from reenact.report.terminal import Paint, plain
from reenact.tape.listing import Listed


class BranchRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the JSON of `reenact branches --json`, a list of these: the root first, each before its branches.

    `parent` is the run that it was forked from, at the step `step` (0: at none), where `edited` is what is other; both
    are empty for the root. `steps`, `outcome` and `duration` are as in `reenact runs --json`.
    """

    id: str
    parent: str
    step: int
    edited: str
    depth: int
    outcome: str
    exit_status: int | None
    steps: int | None
    duration: int | None
    bytes: int


def rows(listing: Sequence[Listed], run: str) -> list[BranchRow]:
    """The tree in which `run` is, from its root on."""
    known = {one.run: one for one in listing}
    root, seen = run, {run}
    while (above := known[root].parent) in known and above not in seen:
        root = above
        seen.add(root)
    children: dict[str, list[Listed]] = {}
    for one in sorted(listing, key=lambda one: (one.parent_step, one.started)):
        children.setdefault(one.parent, []).append(one)

    def below(one: Listed, depth: int, above: frozenset[str]) -> Iterator[BranchRow]:
        yield BranchRow(
            id=one.run,
            parent=one.parent,
            step=one.parent_step,
            edited=one.edited,
            depth=depth,
            outcome=one.outcome,
            exit_status=one.exit_status,
            steps=one.steps,
            duration=one.duration,
            bytes=one.size,
        )
        for child in children.get(one.run, ()):
            if child.run not in above:
                yield from below(child, depth + 1, above | {child.run})

    return list(below(known[root], 0, frozenset({root})))


def text(tree: Sequence[BranchRow], run: str, paint: Paint) -> Iterator[str]:
    """The tree line by line; `run` is the one that was asked for."""
    lasts = [_is_last(tree, at) for at in range(len(tree))]
    open_at: dict[int, bool] = {}
    told = []
    for row, last in zip(tree, lasts, strict=True):
        stem = "".join("│  " if open_at.get(depth) else "   " for depth in range(1, row.depth))
        stem += ("└─ " if last else "├─ ") if row.depth else ""
        open_at[row.depth] = not last
        told.append((stem, row))
    width = max(len(stem) + len(plain(row.id)) for stem, row in told)
    for stem, row in told:
        name = plain(row.id)
        shown = paint.bold(name) if row.id == run else name
        where = f"  at step {row.step}: {plain(row.edited)}" if row.parent else ""
        steps = counted(row.steps, "step") if row.steps is not None else "–"
        took = f", {seconds(row.duration)}" if row.duration is not None else ""
        gap = " " * (width - len(stem) - len(name))
        yield f"{paint.dim(stem)}{shown}{gap}  {plain(row.outcome)}, {steps}{took}{paint.dim(where)}"


def _is_last(tree: Sequence[BranchRow], at: int) -> bool:
    """Whether no other branch of the same run comes after it."""
    depth = tree[at].depth
    after = next((row.depth for row in tree[at + 1 :] if row.depth <= depth), -1)
    return after < depth
