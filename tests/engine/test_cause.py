"""The likely cause: named from where a change stands and what the changed words look like, with advice that works."""

from __future__ import annotations

import tomllib
from typing import Final

import msgspec
import pytest

from reenact.engine.cause import RANK, explain, likely_cause
from reenact.engine.diff import compare
from reenact.engine.divergence import Cause, Datum, Divergence, Request, What
from reenact.engine.normalize import SHIPPED_NAMES, canonical, load

URL: Final = "https://api.example.com/v1/chat/completions"


def sent(body: object, url: str = URL, headers: tuple[tuple[str, str], ...] = ()) -> Request:
    return Request("POST", url, headers, msgspec.json.encode(body))


def said(content: object, role: str = "user") -> Request:
    return sent(
        {"model": "gpt-5", "messages": [{"role": "user", "content": "hello"}, {"role": role, "content": content}]}
    )


def cause_of(before: Request | Datum, after: Request | Datum, draws: tuple[Datum, ...] = ()) -> Cause | None:
    return likely_cause(before, after, compare(before, after), draws)


def the_cause(before: Request | Datum, after: Request | Datum, draws: tuple[Datum, ...] = ()) -> Cause:
    cause = cause_of(before, after, draws)
    assert cause is not None
    return cause


LEAKS: Final = [
    ("address", "<Tool object at 0x7f3a2c1d0e50>", "<Tool object at 0x7f3b9d1d0e50>"),
    ("address", "id 139872345678912", "id 140023456789123"),
    ("temp-path", "see /tmp/tmpab12cd34/out.txt now", "see /tmp/tmpzz98yy76/out.txt now"),
    ("temp-path", "in /var/folders/zz/T/tmpab12cd34", "in /var/folders/zz/T/tmpef56gh78"),
    ("path", "cwd /home/alice/project ok", "cwd /home/bob/project ok"),
    ("uuid", "run 6fa459ea-ee8a-4ca4-894e-db77e160355e", "run 16fd2706-8baf-433b-82eb-8c7fada847da"),
    ("process", "server pid: 1234 up", "server pid: 43210 up"),
    ("process", "at http://localhost:51234/x", "at http://localhost:8081/x"),
    ("clock", "Today is 2026-11-22.", "Today is 2026-11-23."),
    ("clock", "now 2026-11-22 01:02:03.123456+00:00", "now 2026-11-23 01:07:09.993456+00:00"),
    ("clock", "Today is Sunday, November 22, 2026", "Today is Monday, November 23, 2026"),
    ("clock", "It is 10:45 AM", "It is 10:46 AM"),
    ("clock", "Date: Sun, 22 Nov 2026 01:29:54 GMT", "Date: Mon, 23 Nov 2026 01:30:00 GMT"),
    ("clock", "stamp 1763775000", "stamp 1763779000"),
    ("clock", "stamp 1763775000123", "stamp 1763779000456"),
    ("clock", "it took 0.123s in all", "it took 0.187s in all"),
    ("random", "call_9fK2mQx81LpZ", "call_8aB7nRy33TqW"),
    ("random", "trace 9f8e7d6c5b4a3f2e", "trace 1a2b3c4d5e6f7a8b"),
    ("random", "roll 0.8444218515250481", "roll 0.13436424411240122"),
]


@pytest.mark.parametrize(("slug", "before", "after"), LEAKS)
def test_a_leak_is_named_by_what_it_looks_like(slug: str, before: str, after: str) -> None:
    cause = the_cause(said(before), said(after))
    assert cause.slug == slug
    assert "/messages/1/content" in cause.text


@pytest.mark.parametrize(("slug", "before", "after"), LEAKS)
def test_the_normalizer_that_is_offered_makes_both_sides_equal(slug: str, before: str, after: str) -> None:
    for old, new in (
        (said(f"{before} - end"), said(f"{after} - end")),
        (said(f"so:\n{before}\nend"), said(f"so:\n{after}\nend")),
        (sent({"messages": [{"meta": {"v": before}}]}), sent({"messages": [{"meta": {"v": after}}]})),
    ):
        cause = the_cause(old, new)
        assert cause.slug == slug
        normalizers = load(tomllib.loads(cause.advice.partition("\n")[2])["tool"]["reenact"])
        assert canonical(old, normalizers) == canonical(new, normalizers)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ({"metadata": {"trace": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}},
         {"metadata": {"trace": "16fd2706-8baf-433b-82eb-8c7fada847da"}}, 'pointer = "/metadata/trace"'),
        ({"runs": [{"ts": 1763775000.25}]}, {"runs": [{"ts": 1763779000.5}]}, 'pointer = "/runs/*/ts"'),
    ],
)  # fmt: skip
def test_a_value_that_is_nothing_but_the_leak_is_taken_out_by_its_pointer(
    old: dict[str, object], new: dict[str, object], line: str
) -> None:
    cause = the_cause(sent(old), sent(new))
    assert line in cause.advice
    rules = tomllib.loads(cause.advice.partition("\n")[2])["tool"]["reenact"]
    assert not {entry["name"] for entry in rules["normalizers"]}.intersection(SHIPPED_NAMES)
    assert canonical(sent(old), load(rules)) == canonical(sent(new), load(rules))


def test_headers_and_query_parameters_are_taken_out_by_name() -> None:
    header = the_cause(sent({}, headers=(("x-ts", "1763775000"),)), sent({}, headers=(("x-ts", "1763775999"),)))
    assert 'header = "x-ts"' in header.advice
    query = the_cause(sent({}, URL + "?ts=1763775000"), sent({}, URL + "?ts=1763775009"))
    assert 'query = "ts"' in query.advice


def test_what_is_no_request_is_offered_no_normalizer() -> None:
    cause = the_cause(Datum("stdout", "stdout", b"took 0.123s\n"), Datum("stdout", "stdout", b"took 0.183s\n"))
    assert cause.slug == "clock"
    assert "normalizer" not in cause.advice


def test_an_address_names_the_class_and_the_uuid_its_version() -> None:
    assert "(of a Tool)" in the_cause(said(LEAKS[0][1]), said(LEAKS[0][2])).text
    before, after = "0193554f-0d5a-7c3e-9a3e-2f1f7f1f0a01", "0193554f-1d5a-7c3e-9a3e-2f1f7f1f0b02"
    assert "version 7, made from the clock" in the_cause(said(before), said(after)).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (said("Use {'alpha', 'beta', 'gamma'}"), said("Use {'gamma', 'alpha', 'beta'}")),
        (said("Use {'alpha', 'beta', 'gamma'} on 2026-01-01"), said("Use {'gamma', 'alpha', 'beta'} on 2026-01-02")),
        (sent({"tools": [{"name": "a"}, {"name": "b"}]}), sent({"tools": [{"name": "b"}, {"name": "a"}]})),
        (sent({"a": 1, "b": 2}), sent({"b": 2, "a": 1})),
    ],
)
def test_another_order_of_the_same_is_told_as_such(before: Request, after: Request) -> None:
    cause = the_cause(before, after)
    assert cause.slug == "unordered"
    assert "sorted(" in cause.advice


@pytest.mark.parametrize(
    ("before", "after", "slug", "text"),
    [
        (said("Be concise.", "system"), said("Be verbose.", "system"), "prompt",
         'The system prompt changed: "concise" became "verbose".'),
        (said("retry 3 times"), said("retry 5 times"), "prompt", 'The user\'s message changed: "3" became "5".'),
        (said("version12 it is"), said("version13 it is"), "prompt", '"version12" became "version13"'),
        (said("one"), said("one two"), "prompt", '"two" was added'),
        (sent({"instructions": "a b"}), sent({"instructions": "a c"}), "prompt",
         'The system prompt changed: "b" became "c".'),
        (sent({"input": "a b"}), sent({"input": "a c"}), "prompt", 'The prompt changed: "b" became "c".'),
        (said("12 degrees", "tool"), said("14 degrees", "tool"), "tool-result", '"12" became "14"'),
        (said([{"type": "tool_result", "content": "12 C"}]), said([{"type": "tool_result", "content": "14 C"}]),
         "tool-result", '"12" became "14"'),
        (sent({"messages": [{"role": "user"}]}),
         sent({"messages": [{"role": "user"}, {"role": "user", "content": "x"}]}),
         "history", "A message was added at /messages/1."),
        (sent({"model": "gpt-5"}), sent({"model": "gpt-5-mini"}), "model",
         'The run asks the model "gpt-5-mini"; the tape holds an answer of "gpt-5".'),
        (sent({}, "https://h/v1/models/gemini-3-pro:generate"), sent({}, "https://h/v1/models/gemini-3-flash:generate"),
         "model", "gemini-3-flash"),
        (sent({"temperature": 0}), sent({"temperature": 0.7}), "sampling", 'temperature was "0" and is "0.7"'),
        (sent({"generationConfig": {"topP": 1}}), sent({"generationConfig": {"topP": 0.5}}), "sampling",
         "generationConfig.topP"),
        (sent({"tools": [{"name": "find", "input_schema": {"type": "object"}}]}),
         sent({"tools": [{"name": "find", "input_schema": {"type": "string"}}]}), "tool-schema",
         'The definition of the tool "find" differs at /tools/0/input_schema/type.'),
        (sent({"tools": [{"name": "a"}]}), sent({"tools": [{"name": "a"}, {"name": "b"}]}), "tool-schema",
         'the tool "b" was added'),
        (sent({}, "https://a.com/x"), sent({}, "https://b.com/x"), "host",
         'The run calls "https://b.com"; the tape holds a call to "https://a.com".'),
        (sent({}, "http://localhost:8000/"), sent({}, "http://localhost:8001/"), "process", "Only the port differs"),
        (sent({}, "/v1/a/chat"), sent({}, "/v1/a/embed"), "other-call", '"embed"'),
        (sent({}), Datum("sleep", "asyncio"), "other-call", "sleep asyncio"),
    ],
)  # fmt: skip
def test_an_edit_is_named_by_where_it_stands(before: Request, after: Request, slug: str, text: str) -> None:
    cause = the_cause(before, after)
    assert cause.slug == slug
    assert text in cause.text
    assert cause.advice


def test_of_several_causes_the_first_in_rank_is_told_and_the_others_mentioned() -> None:
    before = sent({"model": "a", "system": "be brief", "metadata": {"at": "2026-11-22T01:02:03Z"}})
    after = sent({"model": "b", "system": "be kind", "metadata": {"at": "2026-11-22T01:02:04Z"}})
    cause = the_cause(before, after)
    assert cause.slug == "model"
    assert cause.text.endswith("Other causes seen: clock, prompt.")


def test_draws_that_the_tape_could_not_answer_are_named_with_a_clock_or_random_value() -> None:
    draws = (Datum("draw", "time.time"), Datum("draw", "time.time"))
    text = "This run made draws that the tape does not hold: time.time."
    assert the_cause(said("stamp 1763775000"), said("stamp 1763779000"), draws).text.endswith(text)
    assert text not in the_cause(said("be brief"), said("be kind"), draws).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sent({"color": "red"}), sent({"color": "blue"})),
        (Datum("stdout", "", b"hello\n"), Datum("stdout", "", b"bye\n")),
        (Datum("exit", "", b"0"), Datum("exit", "", b"1")),
        (sent({}, "https://a:b@h/?key=1"), sent({}, "https://a:c@h/?key=2")),
    ],
)
def test_no_cause_is_made_up(before: Request | Datum, after: Request | Datum) -> None:
    assert cause_of(before, after) is None


def test_one_side_alone_has_no_cause() -> None:
    assert likely_cause(None, sent({}), ()) is None
    assert likely_cause(sent({}), None, ()) is None


def test_every_rank_is_of_one_cause() -> None:
    assert len(set(RANK)) == len(RANK)


def test_explain_fills_in_changes_and_cause_of_what_is_compared() -> None:
    before = sent({"system": "be brief"}, headers=(("authorization", "a"), ("User-Agent", "1")))
    after = sent({"system": "be kind"}, headers=(("authorization", "b"), ("user-agent", "2")))
    told = explain(Divergence(What.MISMATCH, "0", expected=before, actual=after))
    assert [change.pointer for change in told.changes] == ["/system"]
    assert told.cause is not None
    assert told.cause.slug == "prompt"
    assert told.expected is before


def test_explain_leaves_alone_what_has_one_side() -> None:
    divergence = Divergence(What.EXTRA, "0", actual=sent({}))
    assert explain(divergence) is divergence
