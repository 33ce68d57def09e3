"""Sessions, tags and attributes: what may stand on tape, and what is said of anything else."""

from __future__ import annotations

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.tape import labels
from reenact.tape.redact import PLACEHOLDER


def test_tags_are_written_as_on_a_command_line() -> None:
    assert labels.parsed(["env=prod", "beta", "url=a=b", "empty="]) == {
        "env": "prod",
        "beta": "",
        "url": "a=b",
        "empty": "",
    }
    assert labels.listed(" env=prod, beta ,,") == ["env=prod", "beta"]


def test_values_are_texts_numbers_and_truth_values() -> None:
    assert labels.tags_of({"a": 1, "b": 0.5, "c": True, "d": "x"}) == {"a": "1", "b": "0.5", "c": "true", "d": "x"}
    assert labels.tags_of(["beta", "v2"]) == {"beta": "", "v2": ""}


@pytest.mark.parametrize("key", ["", "a b", "a=b", "é", "x" * 65, "-a", "a\n", 1, None, b"a"])
def test_a_key_is_plain(key: object) -> None:
    with pytest.raises(UsageError, match=r"^a tag's key is 1 to 64 letters"):
        labels.tags_of({key: "x"})


@pytest.mark.parametrize("value", ["a\nb", "x" * 201, "\x1b[2J", None, b"x", [1]])
def test_a_value_is_short_and_of_one_line(value: object) -> None:
    with pytest.raises(UsageError, match=r"^the value of tag env is"):
        labels.tags_of({"env": value})


@pytest.mark.parametrize("given", ["env=prod", 5, b"x"])
def test_tags_are_not_a_text(given: object) -> None:
    with pytest.raises(UsageError, match=r"^tags are given by their keys"):
        labels.tags_of(given)


def test_a_session_is_a_text_or_the_text_of_an_id() -> None:
    assert labels.session_id("support-4711") == "support-4711"
    assert labels.session_id(4711) == "4711"
    assert labels.session_id(uuid.UUID(int=1)) == str(uuid.UUID(int=1))


@pytest.mark.parametrize("session", ["", "  ", "a\nb", "x" * 201, None, 0.5, True, b"x", object()])
def test_anything_else_is_no_session(session: object) -> None:
    with pytest.raises(UsageError, match=r"^a session is a text of 1 to 200 printable letters, and not"):
        labels.session_id(session)


def test_secrets_are_left_out() -> None:
    assert labels.session_id("for hunter22hunter", _clean) == "for redact44redact"
    tags = labels.tags_of({"api_key": "x", "who": "hunter22hunter"}, _clean)
    assert tags == {"api_key": PLACEHOLDER, "who": "redact44redact"}


def _clean(text: str) -> str:
    return text.replace("hunter22hunter", "redact44redact")


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_][\w.]{0,9}", fullmatch=True).filter(str.isascii),
        st.text(st.characters(categories=["L", "N", "P"]), max_size=20),
    )
)
def test_rows_say_what_they_were_made_of(tags: dict[str, str]) -> None:
    assert labels.of_rows(labels.rows("s", tags)) == ("s", tags)
    assert labels.rows("", {}) == {}


@pytest.mark.parametrize("tags", ["", "no json", "[1]", "5", json.dumps({"a": {"b": 1}}), b"x"])
def test_damaged_rows_are_read_all_the_same(tags: str) -> None:
    session, found = labels.of_rows({"session": 5, "tags": tags})
    assert session == "5"
    assert all(isinstance(value, str) for value in found.values())
