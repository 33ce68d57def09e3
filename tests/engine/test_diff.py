"""The request diff: what it finds in URLs, headers and bodies, and that it stays quick and short."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.diff.alignment import gaps
from reenact.diff.change import Change, Kind, Mark, Part
from reenact.diff.text import CONTEXT, MAX_HUNKS, elide
from reenact.engine.diff import HIDDEN, MAX_CHANGES, compare
from reenact.engine.divergence import Datum, Divergence, Request, What

FORM: Final = "application/x-www-form-urlencoded"
URL: Final = "https://api.example.com/v1/chat"


def sent(body: object, url: str = URL, headers: tuple[tuple[str, str], ...] = ()) -> Request:
    return Request("POST", url, headers, body if isinstance(body, bytes) else msgspec.json.encode(body))


def changes(before: object, after: object) -> tuple[Change, ...]:
    return compare(sent(before), sent(after))


def only(found: tuple[Change, ...]) -> Change:
    assert len(found) == 1, found
    return found[0]


def words(change: Change) -> list[tuple[str, str]]:
    return [(piece.mark.value, piece.text) for hunk in change.hunks for piece in hunk.pieces if piece.mark != Mark.SAME]


def places(found: tuple[Change, ...]) -> list[tuple[str, str]]:
    return [(change.pointer, change.kind.value) for change in found]


def prose(length: int, seed: int = 1) -> str:
    """Words that repeat as they do in prose, without order that would make it easy."""
    made = []
    while length > 0:
        seed = (seed * 1_103_515_245 + 12_345) % 2**31
        word = f"w{seed % 2_999}" + (". " if seed % 11 == 0 else "\n" if seed % 37 == 0 else " ")
        made.append(word)
        length -= len(word)
    return "".join(made)


# The request line


def test_equal_requests_have_no_changes() -> None:
    assert compare(sent({"a": 1}), sent({"a": 1})) == ()


def test_method_and_each_part_of_the_url_are_told_apart() -> None:
    before = Request("GET", "https://a.com/v1/models/x?page=1&size=5")
    after = Request("POST", "https://b.com/v1/models/y?page=2&size=5")
    found = compare(before, after)
    assert [(change.part, change.pointer, change.before, change.after) for change in found] == [
        (Part.METHOD, "", "GET", "POST"),
        (Part.ORIGIN, "", "https://a.com", "https://b.com"),
        (Part.PATH, "/3", "x", "y"),
        (Part.QUERY, "/page", "1", "2"),
    ]


def test_a_path_of_another_length_is_shown_whole() -> None:
    change = only(compare(sent({}, "https://h/a/b"), sent({}, "https://h/a/b/c")))
    assert (change.part, change.before, change.after) == (Part.PATH, "/a/b", "/a/b/c")


def test_query_parameters_in_another_order_have_moved() -> None:
    change = only(compare(sent({}, "https://h/?a=1&b=2"), sent({}, "https://h/?b=2&a=1")))
    assert (change.kind, change.part) == (Kind.MOVED, Part.QUERY)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("https://h/?a=x+y", "https://h/?a=x%20y"),
        ("https://h/x", "https://h/x?"),
        ("https://h/x", "HTTPS://h/x"),
        ("https://h/a%20b", "https://h/a b"),
        ("http://[bad/", "http://[bad/?x"),
        ("", "x"),
    ],
)
def test_no_difference_of_urls_goes_unsaid(before: str, after: str) -> None:
    assert len(compare(sent({}, before), sent({}, after))) == 1


def test_credentials_are_named_but_never_shown() -> None:
    before = sent({}, "https://u:secret1@h/?key=secret2", (("Authorization", "secret3"), ("Cookie", "secret4")))
    after = sent({}, "https://u:secret5@h/?key=secret6", (("authorization", "secret7"),))
    found = compare(before, after)
    assert [(change.part, change.pointer, change.kind) for change in found] == [
        (Part.ORIGIN, "", Kind.CHANGED),
        (Part.QUERY, "/key", Kind.CHANGED),
        (Part.HEADER, "/authorization", Kind.CHANGED),
        (Part.HEADER, "/cookie", Kind.REMOVED),
    ]
    assert found[1].before == found[1].after == HIDDEN
    assert b"secret" not in msgspec.json.encode(found)


def test_headers_are_compared_by_name_whatever_its_case() -> None:
    found = compare(sent({}, headers=(("X-A", "1"), ("x-b", "2"))), sent({}, headers=(("x-a", "3"), ("x-c", "4"))))
    assert places(found) == [("/x-a", "changed"), ("/x-b", "removed"), ("/x-c", "added")]


def test_headers_in_another_order_have_moved() -> None:
    headers = (("a", "1"), ("b", "2"))
    change = only(compare(sent({}, headers=headers), sent({}, headers=headers[::-1])))
    assert (change.kind, change.before, change.after) == (Kind.MOVED, "a, b", "b, a")


# JSON


def test_a_changed_word_is_found_with_its_context() -> None:
    text = prose(5_000)
    at = text.index(" ", 2_500) + 1
    after = text[:at] + "CHANGED " + text[text.index(" ", at) + 1 :]
    change = only(
        changes(
            {"messages": [{"content": "x"}, {"content": text}]}, {"messages": [{"content": "x"}, {"content": after}]}
        )
    )
    assert change.pointer == "/messages/1/content"
    assert change.kind is Kind.CHANGED
    assert words(change)[1] == ("added", "CHANGED")
    (hunk,) = change.hunks
    assert hunk.text(Mark.REMOVED) == text[hunk.at : len(text) - hunk.rest]
    assert hunk.text(Mark.ADDED) in after
    assert len(hunk.pieces[0].text) == len(hunk.pieces[-1].text) == CONTEXT


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("You are concise.", "You are verbose.", [("removed", "concise"), ("added", "verbose")]),
        ("at 0x7f3a2c1d0e50>", "at 0x7f3b9d1d0e50>", [("removed", "0x7f3a2c1d0e50"), ("added", "0x7f3b9d1d0e50")]),
        (
            "on 2026-11-22T01:02",
            "on 2026-11-22T01:03",
            [("removed", "2026-11-22T01:02"), ("added", "2026-11-22T01:03")],
        ),
        ("one two", "one new two", [("added", "new ")]),
        ("one  two", "one two", [("removed", " ")]),
        ("", "x", [("added", "x")]),
        (
            "\u4f60\u662f\u7b80\u6d01\u7684",
            "\u4f60\u662f\u8be6\u7ec6\u7684",
            [("removed", "\u7b80\u6d01"), ("added", "\u8be6\u7ec6")],
        ),
    ],
)
def test_words_are_the_unit_of_change(before: str, after: str, expected: list[tuple[str, str]]) -> None:
    assert words(only(changes({"s": before}, {"s": after}))) == expected


def test_pointers_escape_what_names_hold() -> None:
    found = changes({"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}})
    assert (only(found).pointer, only(found).before, only(found).after) == ("/a~1b/c~0d", "1", "2")


def test_members_are_added_removed_and_change_their_type() -> None:
    found = changes({"a": 1, "b": "2"}, {"b": 2, "c": [True]})
    assert places(found) == [("/a", "removed"), ("/b", "changed"), ("/c", "added")]
    assert (found[1].before, found[1].after, found[1].note) == ('"2"', "2", "string became number")
    assert found[2].after == "[true]"


def test_an_inserted_message_does_not_shift_the_others() -> None:
    said = [{"role": "user", "content": f"message {number}"} for number in range(9)]
    change = only(changes({"messages": said}, {"messages": [*said[:4], {"role": "tool", "content": "new"}, *said[4:]]}))
    assert (change.pointer, change.kind) == ("/messages/4", Kind.ADDED)


def test_an_inserted_message_beside_a_changed_one_is_told_apart_from_it() -> None:
    before = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}]
    after = [
        {"role": "system", "content": "be kind"},
        {"role": "tool", "content": "42"},
        {"role": "user", "content": "hello you"},
    ]
    found = changes(before, after)
    assert places(found) == [("/0/content", "changed"), ("/1/content", "changed"), ("/1", "added")]
    assert words(found[0]) == [("removed", "brief"), ("added", "kind")]


def test_the_same_items_in_another_order_have_moved() -> None:
    change = only(changes({"tools": ["a", "b", "c"]}, {"tools": ["c", "a", "b"]}))
    assert (change.pointer, change.kind, change.before) == ("/tools", Kind.MOVED, '["a","b","c"]')


def test_an_item_that_moved_among_other_changes_says_where_it_went() -> None:
    named = [{"name": name} for name in "abcde"]
    found = changes(named, [named[1], named[2], {"name": "new"}, named[4], named[0]])
    assert ("/0", "moved", "now at /4") in [(change.pointer, change.kind.value, change.note) for change in found]


def test_the_same_words_in_another_order_have_moved() -> None:
    change = only(changes({"s": "Use {'alpha', 'beta', 'gamma'} only"}, {"s": "Use {'gamma', 'alpha', 'beta'} only"}))
    assert (change.kind, change.note) == (Kind.MOVED, "the same words in another order")
    assert change.hunks


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (b'{"a":1}', b'{"a":1.0}', ""),
        (b'{"a":[1]}', b'{"a":[true]}', "number became boolean"),
        (b'{"a":1,"b":2}', b'{"b":2,"a":1}', "the same members in another order"),
        (b'{"a":1}', b'{"a": 1}', "the same, written differently from byte 5 on"),
        (b'{"a":1}', b'{"a":2,"a":1}', "the same, written differently from byte 5 on"),
    ],
)
def test_bodies_that_mean_the_same_still_differ(before: bytes, after: bytes, note: str) -> None:
    assert only(changes(before, after)).note == note


def test_json_too_deep_to_read_is_compared_as_text() -> None:
    deep = b'{"a":' * 100_000
    assert only(changes(deep + b"1", deep + b"2")).kind is Kind.CHANGED


# Other bodies


def test_lines_of_text_are_aligned() -> None:
    found = compare(Datum("stdout", "", b"one\ntwo\nthree\n"), Datum("stdout", "", b"one\nnew\ntwo\nthree!\n"))
    assert [(change.note, change.kind.value) for change in found] == [("line 2", "added"), ("line 3", "changed")]


def test_lines_in_another_order_have_moved() -> None:
    assert only(changes(b"one\ntwo\n", b"two\none\n")).note == "the same lines in another order"


def test_form_fields_are_compared_by_name() -> None:
    headers = (("content-type", FORM),)
    found = compare(sent(b"a=1&b=x+y", headers=headers), sent(b"a=2&b=x+y&c=3", headers=headers))
    assert places(found) == [("/a", "changed"), ("/c", "added")]


def multipart(boundary: str, purpose: bytes, *, file: bytes = b"\xff\x00") -> Request:
    parts = [(b'name="purpose"', purpose), (b'name="file"; filename="a.bin"', file)]
    mark = b"--" + boundary.encode()
    chunks = [
        mark + b"\r\nContent-Disposition: form-data; " + head + b"\r\n\r\n" + body + b"\r\n" for head, body in parts
    ]
    return sent(
        b"".join(chunks) + mark + b"--\r\n", headers=(("content-type", f"multipart/form-data; boundary={boundary}"),)
    )


def test_parts_of_a_multipart_body_are_compared_whatever_the_boundary() -> None:
    found = compare(multipart("abc", b"fine tune"), multipart("xyz", b"fine art"))
    assert [(change.part, change.pointer) for change in found] == [
        (Part.HEADER, "/content-type"),
        (Part.BODY, "/purpose"),
    ]
    assert words(found[1]) == [("removed", "tune"), ("added", "art")]
    assert compare(multipart("a", b"x"), multipart("b", b"x"))[1].note == "the same parts between other boundaries"
    assert places(compare(multipart("a", b"x"), multipart("a", b"x", file=b"\xfe"))) == [("/file", "changed")]


def test_the_first_byte_that_differs_is_shown_in_hex() -> None:
    change = only(changes(b"\xff" * 600 + b"\x00\xfe", b"\xff" * 600 + b"\x01\xfe"))
    assert change.note == "binary, first difference at byte 600 (0x258); 602 and 602 bytes"
    assert words(change) == [("removed", "00 fe"), ("added", "01 fe")]


def test_another_kind_of_call_is_one_change() -> None:
    change = only(compare(sent({}, "https://u:p@h/x?key=1"), Datum("sleep", "asyncio", b"1")))
    assert (change.part, change.before, change.after) == (Part.CALL, "POST https://h/x", "sleep asyncio")


# Bounds


def test_what_is_found_is_bounded() -> None:
    found = changes({str(number): number for number in range(5_000)}, {str(number): -1 for number in range(5_000)})
    assert len(found) == MAX_CHANGES + 1
    assert found[-1].kind is Kind.ELIDED


def test_hunks_and_values_are_bounded() -> None:
    text = " ".join(f"word{number} and some more text so that places part" for number in range(500))
    change = only(changes({"s": text}, {"s": text.replace("word", "WORD")}))
    assert len(change.hunks) == MAX_HUNKS
    assert change.more > 100
    assert len(msgspec.json.encode(change)) < 8_000


def test_the_end_of_a_huge_word_is_found() -> None:
    image = "A" * 100_000
    change = only(changes({"s": image + "B" + image}, {"s": image + "C" + image}))
    assert words(change) == [("removed", "B"), ("added", "C")]


def test_elide_keeps_both_ends_and_the_limit() -> None:
    assert elide("short", 10) == "short"
    cut = elide("a" * 500 + "b" * 500, 100)
    assert len(cut) == 100
    assert cut.startswith("aaa")
    assert cut.endswith("bbb")


@pytest.mark.parametrize("shape", ["one string", "messages", "text"])
def test_one_changed_word_in_two_megabytes_is_found(shape: str) -> None:
    """What takes time with the square of the size would not come to an end here."""
    text = prose(2_000_000)
    at = text.index(" ", 1_000_000) + 1
    other = text[:at] + "CHANGED" + text[text.index(" ", at) :]
    size = 2_000

    def body(whole: str) -> object:
        if shape == "text":
            return whole.encode()
        cut = [whole[start : start + size] for start in range(0, len(whole), size)]
        return (
            {"messages": [{"role": "user", "content": part} for part in cut]} if shape == "messages" else {"s": whole}
        )

    before, after = sent(body(text)), sent(body(other))
    found = compare(before, after)
    assert any("CHANGED" in hunk.text(Mark.ADDED) for change in found for hunk in change.hunks)


# Properties

json_values: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
bodies: Final = (
    st.binary(max_size=40) | json_values.map(msgspec.json.encode) | st.text("ab\n=&", max_size=40).map(str.encode)
)
types: Final = st.sampled_from(["", FORM, "multipart/form-data; boundary=a"])


@given(bodies, bodies, types)
def test_changes_are_empty_exactly_when_requests_are_equal(before: bytes, after: bytes, kind: str) -> None:
    old, new = (sent(body, headers=(("content-type", kind),)) for body in (before, after))
    assert bool(compare(old, new)) is (old != new)


@given(json_values, json_values)
def test_pointers_lead_to_what_they_say(before: object, after: object) -> None:
    for change in changes(before, after):
        document = before
        steps = change.pointer.split("/")[1:]
        for step in steps[:-1] if change.kind is Kind.ADDED else steps:
            name = step.replace("~1", "/").replace("~0", "~")
            document = document[int(name)] if isinstance(document, list) else document[name]  # type: ignore[index]


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_between_gaps_both_sides_are_equal(before: list[int], after: list[int]) -> None:
    i = j = 0
    for i1, i2, j1, j2 in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        assert before[i:i1] == after[j:j1]
        i, j = i2, j2


def test_gaps_of_long_sequences_hang_on_what_is_unique() -> None:
    before = list(range(10_000))
    after = [-1, *before[:5_000], -2, *before[5_003:], -3]
    assert gaps(before, after) == [(0, 0, 0, 1), (5_000, 5_003, 5_001, 5_002), (10_000, 10_000, 9_999, 10_000)]


@given(json_values, json_values)
def test_a_divergence_survives_json(before: object, after: object) -> None:
    divergence = Divergence(What.MISMATCH, "0.1", 3, 2, None, sent(before), sent(after), changes(before, after))
    assert msgspec.json.decode(msgspec.json.encode(divergence), type=Divergence) == divergence
