"""JSON Patch: the examples of RFC 6902, appendix A, and what no patch may do."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.edits.patch import operations, patched
from reenact.errors import EditError

EXAMPLES: dict[str, tuple[Any, list[dict[str, Any]], Any]] = {
    "A.1": ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    "A.2": ({"foo": ["bar", "baz"]}, [{"op": "add", "path": "/foo/1", "value": "qux"}], {"foo": ["bar", "qux", "baz"]}),
    "A.3": ({"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    "A.4": ({"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
    "A.5": (
        {"baz": "qux", "foo": "bar"},
        [{"op": "replace", "path": "/baz", "value": "boo"}],
        {"baz": "boo", "foo": "bar"},
    ),
    "A.6": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.10": (
        {"foo": "bar"},
        [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    "A.11": (
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
        {"foo": "bar", "baz": "qux"},
    ),
    "A.14": ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    "A.16": (
        {"foo": ["bar"]},
        [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    "copy": (
        {"a": [1]},
        [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/0", "value": 0}],
        {"a": [1], "b": [0, 1]},
    ),
    "the whole": ({"a": 1}, [{"op": "replace", "path": "", "value": [2]}], [2]),
    "an empty key": ({"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
}
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "A.9": ({"baz": "qux"}, [{"op": "test", "path": "/baz", "value": "bar"}], "what stands there is something else"),
    "A.12": ({"foo": "bar"}, [{"op": "add", "path": "/baz/bat", "value": "qux"}], "there is no 'baz' in '/baz/bat'"),
    "A.15": (
        {"/": 9, "~1": 10},
        [{"op": "test", "path": "/~01", "value": "10"}],
        "what stands there is something else",
    ),
    "true is not 1": ({"a": 1}, [{"op": "test", "path": "/a", "value": True}], "what stands there is something else"),
    "into itself": ({"a": {}}, [{"op": "move", "from": "/a", "path": "/a/b"}], "into itself"),
    "past the end": ({"a": [1]}, [{"op": "add", "path": "/a/2", "value": 1}], "there is no 2: the list has 1"),
    "a leading zero": ({"a": [1]}, [{"op": "remove", "path": "/a/00"}], "'00' is no index"),
    "removing -": ({"a": [1]}, [{"op": "remove", "path": "/a/-"}], "'-' is no index"),
    "replacing nothing": ({}, [{"op": "replace", "path": "/a", "value": 1}], "there is no 'a'"),
    "no pointer": ({"a": 1}, [{"op": "remove", "path": "a"}], "it has to begin with /"),
    "an unknown one": ({}, [{"op": "merge", "path": "/a"}], "operation 1 of the patch: 'merge' is none of add"),
    "no value": ({}, [{"op": "add", "path": "/a"}], "operation 1 of the patch: 'add' needs a value"),
    "no list": ({}, {"op": "add"}, "the patch is no JSON Patch"),
    "no path": ({}, [{"op": "add"}], "the patch is no JSON Patch"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_rfc(name: str) -> None:
    document, patch, expected = EXAMPLES[name]
    before = copy.deepcopy(document)
    assert patched(document, operations(json.dumps(patch))) == expected
    assert document == before


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_told(name: str) -> None:
    document, patch, told = REFUSED[name]
    with pytest.raises(EditError) as problem:
        patched(document, operations(json.dumps(patch)))
    assert told in str(problem.value)


POINTERS = st.lists(st.sampled_from(["a", "0", "1", "-", "~0", "~1", ""]), max_size=3).map(
    lambda parts: "".join("/" + part for part in parts)
)
OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": POINTERS,
        "from": POINTERS,
        "value": st.none() | st.just([1]),
    }
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "~", "/", "0"]), inner),
)


@given(DOCUMENTS, st.lists(OPERATIONS, max_size=4))
def test_any_patch_gives_a_document_or_an_error_of_ours(document: Any, patch: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(document)
    try:
        made = patched(document, operations(json.dumps(patch)))
    except EditError:
        made = None
    assert document == before
    json.dumps(made)
