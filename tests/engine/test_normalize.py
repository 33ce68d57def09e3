"""Normalizers: what the shipped ones take out, what users can add, and how bad entries are told."""

from __future__ import annotations

import tomllib

import pytest

from reenact.engine.divergence import Request
from reenact.engine.normalize import (
    SHIPPED,
    SHIPPED_NAMES,
    Normalizer,
    NormalizerError,
    Rule,
    canonical,
    header,
    header_is_volatile,
    load,
    name_is_secret,
    pointer,
    public,
    python,
    query,
    regex,
)


def request(
    url: str = "https://api.example.com/v1/chat", body: bytes = b"{}", headers: tuple[tuple[str, str], ...] = ()
) -> Request:
    return Request("POST", url, headers, body)


def configured(toml: str) -> tuple[Normalizer, ...]:
    return load(tomllib.loads(toml)["tool"]["reenact"])


def lower_body(asked: Request) -> Request:
    return Request(asked.method, asked.url, asked.headers, asked.body.lower())


def wrong(_: Request) -> Request:
    return "no request"  # type: ignore[return-value]


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "x-api-key", "Api-Key", "X-Goog-Api-Key", "Cookie", "x-amz-date", "X-Amz-Security-Token",
        "amz-sdk-invocation-id", "Idempotency-Key", "x-stainless-idempotency-key", "traceparent", "X-B3-TraceId",
        "x-datadog-parent-id", "X-Request-Id", "User-Agent", "x-stainless-lang", "Content-Length", "Host", "Date",
    ],
)  # fmt: skip
def test_volatile_headers_are_taken_out_whatever_their_case(name: str) -> None:
    assert header_is_volatile(name)
    assert canonical(request(headers=((name, "1"),))).headers == ()


@pytest.mark.parametrize(
    "name", ["content-type", "anthropic-version", "anthropic-beta", "openai-organization", "x-foo"]
)
def test_headers_that_mean_something_stay(name: str) -> None:
    assert not header_is_volatile(name)
    assert canonical(request(headers=((name, "1"),))).headers == ((name, "1"),)


def test_canonical_headers_are_lower_case_and_sorted_but_values_of_one_name_keep_their_order() -> None:
    asked = request(headers=(("B", "2"), ("A", "z"), ("a", "y")))
    assert canonical(asked).headers == (("a", "z"), ("a", "y"), ("b", "2"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/x?key=s&alt=sse", "https://h/x?alt=sse"),
        ("https://h/x?alt=sse&KEY=s", "https://h/x?alt=sse"),
        ("https://h/x?api_key=s", "https://h/x"),
        ("https://h/x?a=%20+b&&c", "https://h/x?a=%20+b&&c"),
        ("https://h/x?X-Amz-Signature=1&X-Amz-Date=2&v=1#f", "https://h/x?v=1#f"),
        ("https://h/x?", "https://h/x?"),
        ("https://h/key=1", "https://h/key=1"),
    ],
)
def test_credentials_leave_the_query_and_every_other_byte_stays(url: str, expected: str) -> None:
    assert canonical(request(url)).url == expected


def test_no_normalizers_take_nothing_out() -> None:
    asked = request("https://h/x?key=s", headers=(("authorization", "s"),))
    assert canonical(asked, ()) == asked


def test_credentials_are_known_by_name() -> None:
    assert name_is_secret("Authorization")
    assert name_is_secret("X-Amz-Signature")
    assert not name_is_secret("user-agent")


def test_public_shows_no_user_and_password() -> None:
    assert public(request("https://user:pass@h:1/x@y?q=a@b")).url == "https://h:1/x@y?q=a@b"


def test_pointer_takes_members_out_and_makes_items_null() -> None:
    body = b'{"metadata": {"run_id": 1, "k": 2}, "messages": [{"id": 1, "t": "a"}, {"id": 2}], "list": [1, 2]}'
    rules = (pointer("/metadata/run_id"), pointer("/messages/*/id"), pointer("/list/1"))
    expected = b'{"metadata":{"k":2},"messages":[{"t":"a"},{}],"list":[1,null]}'
    assert canonical(request(body=body), rules).body == expected


def test_pointer_unescapes_its_segments() -> None:
    assert canonical(request(body=b'{"a/b":{"c~d":1}}'), [pointer("/a~1b/c~0d")]).body == b'{"a/b":{}}'


def test_pointer_makes_a_body_with_the_member_equal_to_one_without() -> None:
    rule = pointer("/run_id")
    bodies = (b'{"a": 1, "run_id": "x"}', b'{"a": 1}')
    assert canonical(request(body=bodies[0]), [rule]) == canonical(request(body=bodies[1]), [rule])


@pytest.mark.parametrize("body", [b"", b"\xff\x00", b"plain", b"[" * 100_000])
def test_pointer_leaves_a_body_alone_that_is_no_json(body: bytes) -> None:
    assert canonical(request(body=body), [pointer("/a")]).body == body


@pytest.mark.parametrize("path", ["/list/01", "/list/-", "/list/9", "/list/x", "/none/a", "/list/0/a"])
def test_pointer_to_nothing_takes_nothing_out(path: str) -> None:
    assert canonical(request(body=b'{"list":[1,2]}'), [pointer(path)]).body == b'{"list":[1,2]}'


def test_regex_keeps_bytes_that_are_no_text() -> None:
    rule = regex(r"at 0x[0-9a-f]+", "at ADDRESS")
    assert canonical(request(body=b"\xffat 0x7f00\xfe"), [rule]).body == b"\xffat ADDRESS\xfe"


def test_header_and_query_take_one_name_out() -> None:
    asked = request("https://h/x?ts=1&v=2", headers=(("X-Run", "1"), ("X-Other", "2")))
    found = canonical(asked, [header("x-run"), query("TS")])
    assert (found.url, found.headers) == ("https://h/x?v=2", (("x-other", "2"),))


def test_python_rewrites_with_a_function_or_its_name() -> None:
    asked = request(body=b"ABC")
    assert canonical(asked, [python(lower_body)]).body == b"abc"
    named = python("reenact.engine.normalize:public")
    assert canonical(request("https://a:b@h/"), [named]).url == "https://h/"


def test_python_says_which_normalizer_failed() -> None:
    def broken(_: Request) -> Request:
        raise KeyError("id")

    with pytest.raises(NormalizerError, match="normalizer 'mine' raised KeyError: 'id'"):
        canonical(request(), [python(broken, label="mine")])
    with pytest.raises(NormalizerError, match="'mine' must return a Request, and returned str"):
        canonical(request(), [python(wrong, label="mine")])


@pytest.mark.parametrize(
    ("glob", "applies"),
    [
        ("https://api.example.com/*", True),
        ("*/v1/chat", True),
        ("https://api.example.com/v1/chat[?]beta=1", True),
        ("https://other.example.com/*", False),
    ],
)
def test_a_glob_keeps_a_rule_to_some_urls(glob: str, applies: bool) -> None:
    asked = request("https://api.example.com/v1/chat?beta=1", headers=(("x-run", "1"),))
    assert (canonical(asked, [header("x-run", url=glob)]).headers == ()) is applies


def test_the_shipped_ones_are_all_on_by_default() -> None:
    assert load({}) == SHIPPED
    assert SHIPPED_NAMES == ("credentials", "sigv4", "query-key", "idempotency", "trace", "client")


def test_entries_of_every_kind_load_in_their_order() -> None:
    normalizers = configured(
        """
        [[tool.reenact.normalizers]]
        name = "trace"
        enabled = false
        [[tool.reenact.normalizers]]
        name = "run id"
        pointer = "/metadata/run_id"
        url = "https://api.example.com/*"
        [[tool.reenact.normalizers]]
        name = "addresses"
        regex = 'at 0x[0-9a-f]+'
        replace = "at ADDRESS"
        [[tool.reenact.normalizers]]
        name = "run"
        header = "x-run"
        [[tool.reenact.normalizers]]
        name = "ts"
        query = "ts"
        [[tool.reenact.normalizers]]
        name = "off"
        header = "x-off"
        enabled = false
        [[tool.reenact.normalizers]]
        name = "code"
        python = "reenact.engine.normalize:public"
        url = "https://other.example.com/*"
        """
    )
    assert [normalizer.name for normalizer in normalizers] == [
        "credentials", "sigv4", "query-key", "idempotency", "client", "run id", "addresses", "run", "ts", "code",
    ]  # fmt: skip
    rule = normalizers[5]
    assert isinstance(rule, Rule)
    assert rule.url == "https://api.example.com/*"
    assert canonical(request(headers=(("b3", "1"), ("x-off", "2"))), normalizers).headers == (
        ("b3", "1"),
        ("x-off", "2"),
    )


HEAD = "[[tool.reenact.normalizers]]\n"
FIRST = r"\[\[tool.reenact.normalizers\]\] entry 1"


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[tool.reenact.normalizers]\nname = 'a'", "must be tables: write "),
        ("[tool.reenact]\nnormalizers = ['trace']", f"{FIRST} must be a table with the keys 'name', .* is 'trace'"),
        (HEAD + "header = 'a'", f"{FIRST}: the key 'name' is needed"),
        (HEAD + "name = 1", f"{FIRST}: the key 'name' is needed, and must be a string"),
        (
            HEAD + "name = 'a'\nheaders = 'b'",
            rf"{FIRST} \('a'\): unknown key 'headers'; allowed are 'name', .*'header'",
        ),
        (HEAD + "name = 'a'\nheader = 1", f"{FIRST} .*'header' must be a string, and is 1"),
        (HEAD + "name = 'a'\nheader = 'b'\nenabled = 'no'", "'enabled' must be true or false, and is 'no'"),
        (HEAD + "name = 'a'", "exactly one of 'pointer', 'regex', 'header', 'query', 'python' is needed; it has none"),
        (HEAD + "name = 'a'\nheader = 'b'\nquery = 'c'", "it has 'header', 'query'"),
        (HEAD + "name = 'a'\nregex = 'b'", "'replace' goes with 'regex'"),
        (HEAD + "name = 'a'\nheader = 'b'\nreplace = 'c'", "'replace' goes with 'regex'"),
        (HEAD + "name = 'a'\nregex = '('\nreplace = ''", "key 'regex': .* does not work: missing"),
        (HEAD + "name = 'a'\nregex = 'b'\nreplace = '\\1'", "key 'regex': .* does not work: invalid group"),
        (HEAD + "name = 'a'\npointer = 'x/y'", "key 'pointer': 'x/y' is no JSON pointer: it must start with '/'"),
        (HEAD + "name = 'a'\npython = 'mod.fn'", "key 'python': 'mod.fn' must have the form 'package.module:function'"),
        (HEAD + "name = 'a'\npython = 'no_such_module:fn'", "'no_such_module:fn' cannot be imported: No module named"),
        (HEAD + "name = 'a'\npython = 'json:no_such'", "'json:no_such' cannot be imported: .*no_such"),
        (HEAD + "name = 'a'\npython = 'json:__name__'", "'json:__name__' is no function"),
        (HEAD + "name = 'client'\nheader = 'b'", "'client' is a normalizer that reenact ships"),
        (
            HEAD + "name = 'a'\nheader = 'b'\n" + HEAD + "name = 'a'\nquery = 'b'",
            "entry 2: there is a normalizer named 'a'",
        ),
    ],
)
def test_a_bad_entry_is_told_by_number_name_and_key(toml: str, message: str) -> None:
    with pytest.raises(NormalizerError, match=message) as caught:
        configured(toml)
    assert isinstance(caught.value, ValueError)
