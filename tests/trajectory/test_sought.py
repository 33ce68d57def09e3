"""A text that is looked for: as it is, in another form, in part."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.trajectory.sought import Grade, Match, Sought


def found(sought: str, text: str) -> Match:
    (match,) = Sought(sought).find(text)
    assert match.before + match.text + match.after
    return match


def test_what_is_there_letter_by_letter_is_exact() -> None:
    match = found("1,234.50", "It is 1,234.50 EUR.")
    assert (match.grade, match.before, match.text, match.after) == (Grade.EXACT, "It is ", "1,234.50", " EUR.")


@pytest.mark.parametrize(
    ("sought", "text", "there", "forms"),
    [
        ("1,234.50", '{"total": 1234.5}', "1234.5", ("number format",)),
        ("1234.5", "1.234,50 EUR", "1.234,50", ("number format",)),
        ("1234.5", "1 234,50 EUR", "1 234,50", ("number format",)),
        ("1,234,567", "1234567.00", "1234567.00", ("number format",)),
        ("$1,234.50", "1234.5", "1234.5", ("number format", "what is around it")),
        ("Hansen & Co", "HANSEN  & co", "HANSEN  & co", ("case", "white space")),
        ("two words", "two\nwords", "two\nwords", ("white space",)),
        ("a\nb", json.dumps({"x": "say: a\nb"})[1:], "a\\nb", ("escapes",)),
        ("Müller", '"M\\u00fcller', "M\\u00fcller", ("escapes",)),
        ("Müller", json.dumps({"name": "Müller"}), "Müller", ("JSON",)),
        ("Café", "Cafe\u0301", "Café", ("Unicode form",)),
    ],
)
def test_another_form_is_found_and_says_which(sought: str, text: str, there: str, forms: tuple[str, ...]) -> None:
    match = found(sought, text)
    assert (match.grade, match.text) == (Grade.NORMALIZED, there)
    assert set(forms) <= set(match.forms)


@pytest.mark.parametrize(
    ("sought", "text"),
    [
        ("234", "1,234.50"),
        ("1234", "1234.5"),
        ("12", "A123"),
        ("Oslo", "Oslofjord"),
        ("1234.5", "1234.51"),
        ("5", "15"),
    ],
)
def test_a_piece_of_a_word_or_number_is_not_it(sought: str, text: str) -> None:
    assert Sought(sought).find(text) == []


def test_in_a_list_of_json_a_comma_is_no_part_of_a_number() -> None:
    assert found("234", "[1,234,5]").pointer == "/1"


def test_where_it_is_in_json_is_told() -> None:
    text = json.dumps({"lines": [{"sum": 10}, {"sum": 1234.5, "name": "M/S"}]})
    assert found("1,234.50", text).pointer == "/lines/1/sum"
    assert found("M/S", text).pointer == "/lines/1/name"


def test_the_longest_part_of_it_is_found() -> None:
    match = Sought("Hansen owes us 980 EUR since May").part(
        "In the books: hansen owes 7 EUR. It owes us 980.00 eur now."
    )
    assert match is not None
    assert (match.grade, match.text) == (Grade.PARTIAL, "owes us 980.00 eur")


@pytest.mark.parametrize(
    ("sought", "text", "there", "form"),
    [
        ("1,235", "It is 1234.5.", "1234.5", "rounded"),
        ("0.33", "1/3 is 0.33333", "0.33333", "rounded"),
        ("1,243.50", '{"total": 1234.5}', "1234.5", "digits in another order"),
    ],
)
def test_of_a_number_those_that_are_close_to_it_are_found(sought: str, text: str, there: str, form: str) -> None:
    match = Sought(sought).part(text)
    assert match is not None
    assert (match.text, match.forms) == (there, (form,))


def test_what_says_nothing_is_no_part() -> None:
    assert Sought("the sum of all that Hansen has ever owed to anybody").part("of all things") is None
    assert Sought("17").part("71 is close to nothing") is None


@given(st.text(min_size=1, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_what_stands_between_spaces_is_found_as_it_is(sought: str, before: str, after: str) -> None:
    matches = Sought(sought).find(f"{before} | {sought} | {after}")
    assert any(match.text == sought and match.grade is Grade.EXACT for match in matches)


@given(st.text(max_size=60), st.text(max_size=200))
def test_whatever_is_looked_for_in_whatever_it_ends(sought: str, text: str) -> None:
    looked = Sought(sought)
    for match in looked.find(text):
        assert match.text
    looked.part(text)
