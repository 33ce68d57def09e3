"""Where two requests differ, or two values that cross another boundary."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote, urlsplit

from reenact.diff.change import Change, Kind, Part
from reenact.diff.text import text_changes
from reenact.engine.diff.body import MAX_CHANGES, at_least, body_changes
from reenact.engine.diff.pairs import HIDDEN, header_changes, query_changes
from reenact.engine.divergence import Datum, Request
from reenact.engine.normalize import public


def compare(expected: Request | Datum, actual: Request | Datum) -> tuple[Change, ...]:
    """Every place where the two differ, in the order of reading; empty only when they are equal.

    Nothing is normalized here: give it what `canonical` returned. At most MAX_CHANGES + 1 changes, the last of them of
    kind ELIDED when there are more. Credentials among headers and query parameters are named and not shown.
    """
    changes = _changes(expected, actual)
    found = tuple(islice(changes, MAX_CHANGES))
    if next(changes, None) is not None:
        return (*found, Change("", None, None, Kind.ELIDED, note="more changes are not listed"))
    return found


def _changes(expected: Request | Datum, actual: Request | Datum) -> Iterator[Change]:
    match expected, actual:
        case Request(), Request():
            if expected.method != actual.method:
                yield Change("", expected.method, actual.method, Kind.CHANGED, Part.METHOD)
            if expected.url != actual.url:
                unread = Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="the same URL, written differently")
                yield from at_least(_url(expected.url, actual.url), unread)
            yield from header_changes(expected.headers, actual.headers)
            kinds = (_header(expected, "content-type"), _header(actual, "content-type"))
            yield from body_changes("", expected.body, actual.body, kinds)
        case Datum(), Datum() if expected.kind == actual.kind:
            if expected.name != actual.name:
                yield from text_changes("", expected.name, actual.name, Part.CALL)
            yield from body_changes("", expected.data, actual.data, ("", ""))
        case _:
            yield Change("", called(expected), called(actual), Kind.CHANGED, Part.CALL)


def called(asked: Request | Datum) -> str:
    """A call in a few words, without query and credentials."""
    if isinstance(asked, Request):
        return f"{asked.method} {public(asked).url.partition('?')[0]}"
    return f"{asked.kind} {asked.name}"


def _url(before: str, after: str) -> Iterator[Change]:
    try:
        old, new = urlsplit(before), urlsplit(after)
    except ValueError:
        yield Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="a URL that cannot be read")
        return
    origins = [f"{url.scheme}://{url.netloc.rpartition('@')[2]}" for url in (old, new)]
    if origins[0] != origins[1]:
        yield from text_changes("", origins[0], origins[1], Part.ORIGIN)
    elif old.netloc != new.netloc:
        yield Change("", HIDDEN, HIDDEN, Kind.CHANGED, Part.ORIGIN, note="user name or password in the URL")
    if old.path != new.path:
        yield from _path(old.path, new.path)
    if old.query != new.query:
        yield from query_changes(old.query, new.query, Part.QUERY)
    if old.fragment != new.fragment:
        yield from text_changes("", f"#{old.fragment}", f"#{new.fragment}", Part.PATH)


def _path(before: str, after: str) -> Iterator[Change]:
    old, new = before.split("/"), after.split("/")
    if len(old) != len(new):
        yield from text_changes("", before, after, Part.PATH)
        return
    for number, (was, now) in enumerate(zip(old, new, strict=True)):
        if was != now:
            was_text, now_text = unquote(was), unquote(now)
            if was_text == now_text:
                was_text, now_text = was, now
            yield from text_changes(f"/{number}", was_text, now_text, Part.PATH)


def _header(request: Request, wanted: str) -> str:
    return next((value for name, value in request.headers if name.lower() == wanted), "")
