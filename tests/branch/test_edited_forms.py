"""Decisions as texts for an editor and for files: there and back, and what is wrong with them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.edits import Call, Decision, parsed, written
from reenact.errors import EditError

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LINES = st.lists(
    st.one_of(
        WORDS, st.sampled_from(["@call x", "\\@call x", "@stop", "@text", "@ignored", "@call", "{", "", " @stop"])
    ),
    max_size=6,
).map("\n".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.one_of(
    st.dictionaries(WORDS, VALUES, max_size=4).map(json.dumps),
    LINES.filter(lambda text: Call("x", text).object is None),
)
NAMES = st.one_of(st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True), WORDS.filter(bool))
CALLS = st.builds(Call, NAMES, ARGUMENTS, st.one_of(st.just(""), NAMES))
DECISIONS = st.builds(
    Decision, LINES, st.lists(CALLS, max_size=3).map(tuple), st.sampled_from(["", "end", "length", "refusal", "SPII"])
)


@given(DECISIONS, st.booleans())
def test_a_decision_comes_back_from_its_text(decision: Decision, helping: bool) -> None:
    assert parsed(written(decision, helping=helping), decision).same(decision)


@given(DECISIONS)
def test_without_what_was_before_only_white_space_at_the_end_of_the_text_is_lost(decision: Decision) -> None:
    back = parsed(written(decision))
    assert back.text == decision.text.rstrip("\r\n")
    assert [call.id for call in back.calls] == [call.id for call in decision.calls]
    bare = [
        Call(call.name, call.arguments if call.object is not None else call.arguments.rstrip("\r\n"))
        for call in decision.calls
    ]
    assert all(a.same(b) for a, b in zip(back.calls, bare, strict=True))
    assert back.stop == decision.stop


def test_a_text_alone_is_an_answer_without_calls() -> None:
    assert parsed("All is well.\nReally.\n") == Decision("All is well.\nReally.")


def test_a_file_as_a_person_writes_it() -> None:
    form = """I will look that up.

@call get_weather
{
  "city": "Oslo"
}

@call clock id=call_1
@call run text
print(1)
print(2)
"""
    assert parsed(form) == Decision(
        "I will look that up.",
        (Call("get_weather", '{"city":"Oslo"}'), Call("clock", "{}", "call_1"), Call("run", "print(1)\nprint(2)")),
    )


def test_json_with_calls_is_a_decision_and_other_json_is_a_text() -> None:
    form = '{"text": "Hm.", "calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "id": "x"}], "stop": "tools"}'
    assert parsed(form) == Decision("Hm.", (Call("f", '{"a":1}'), Call("g", "{}", "x")), "tools")
    assert parsed('{"city": "Oslo"}') == Decision('{"city": "Oslo"}')
    assert parsed(written(Decision(form))) == Decision(form)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (
            "Hm.\n\n@call f\n{'city': 1}",
            "line 4 of the answer: the arguments of 'f' are no JSON: Expecting property name",
        ),
        ('@call f\n{\n  "a": 1,\n  b\n}', "line 4 of the answer: the arguments of 'f' are no JSON"),
        ("@call f\n[1]", "line 2 of the answer: the arguments of 'f' have to be a JSON object"),
        ("@call", "line 1 of the answer: a call is written `@call NAME`"),
        ("@call a b c", "line 1 of the answer: a call is written `@call NAME`"),
        ("a\n@stop", "line 2 of the answer: '@stop' cannot stand here; `@stop` needs a reason"),
        ("a\n@stop end\n@stop end", "line 3 of the answer: '@stop end' cannot stand here"),
        ("a\n@stop end\n\nmore", "line 4 of the answer: 'more' cannot stand here"),
        ("a\n@text", "line 2 of the answer: '@text' cannot stand here"),
        ('{"calls": [{"nam": 1}]}', "the answer, as JSON: Object contains unknown field `nam` - at `$.calls[0]`"),
        ('@call "a', "line 1 of the answer: "),
        ("@call f\n" + "[" * 100_000, "line "),
        ("\ud800", "the answer holds what is no character"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(form: str, told: str) -> None:
    with pytest.raises(EditError) as problem:
        parsed(form)
    assert told in str(problem.value)


@given(st.text(max_size=200) | LINES)
def test_any_text_is_a_decision_or_an_error_of_ours(form: str) -> None:
    try:
        made = parsed(form)
    except EditError:
        return
    assert parsed(written(made), made).same(made)
