"""Exceptions as data and back: the same type and arguments where a seam allows the class, and never an import."""

from __future__ import annotations

import builtins
import errno
import json
import socket
import ssl
import sys
import traceback
from types import ModuleType

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine.failure import RecordedError, decode, encode
from reenact.tape.event import Failed, Part
from reenact.tape.journal import Packer, unpack


def again(error: BaseException, *modules: ModuleType) -> BaseException:
    """The error as it comes back from a tape."""
    (batch,) = unpack([Packer().pack([Part(0, 4, 0, b"", encode(error))])])
    (part,) = batch
    assert isinstance(part, Part)
    assert part.failed is not None
    return decode(part.failed, modules)


def raised_while(handled: BaseException, error: BaseException) -> BaseException:
    """The error as it is when it was raised while another was handled."""
    try:
        try:
            raise handled
        finally:
            raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("name"),
        RuntimeError(),
        RuntimeError("two", 2, 2.5, None, True),
        TimeoutError("timed out"),
        StopIteration(3),
        UnicodeError("label too long"),
        ValueError("grün \N{SNOWMAN}"),
    ],
    ids=repr,
)
def test_a_builtin_comes_back_with_its_type_arguments_and_text(error: Exception) -> None:
    back = again(error)
    assert type(back) is type(error)
    assert back.args == error.args
    assert (str(back), repr(back)) == (str(error), repr(error))


OS_ERRORS = sorted(
    {kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, OSError)}, key=str
)
NUMBERS = [
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EPIPE,
    errno.ETIMEDOUT,
    errno.ENOENT,
    errno.EHOSTUNREACH,
    errno.EINTR,
]


@pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
def test_an_error_of_the_system_keeps_its_number(number: int) -> None:
    error = OSError(number, "what the system says")
    back = again(error)
    assert isinstance(back, OSError)
    assert type(back) is type(error)
    assert (back.errno, back.strerror, back.args, str(back)) == (number, error.strerror, error.args, str(error))


@pytest.mark.parametrize("kind", OS_ERRORS, ids=lambda kind: kind.__name__)
def test_every_subclass_of_oserror_comes_back_with_and_without_a_number(kind: type[OSError]) -> None:
    for error in (kind("only a message"), kind(), kind(errno.EACCES, "denied")):
        back = again(error)
        assert isinstance(back, OSError)
        assert (type(back), back.args, back.errno, str(back)) == (type(error), error.args, error.errno, str(error))


def test_a_file_name_is_part_of_what_an_error_says() -> None:
    error = OSError(errno.ENOENT, "No such file", "/etc/ca.pem")
    assert str(again(error)) == str(error)


def test_classes_of_an_allowed_module_come_back() -> None:
    error = httpx.ConnectTimeout("timed out")
    back = again(error, httpx)
    assert type(back) is httpx.ConnectTimeout
    assert str(back) == "timed out"
    assert type(again(ssl.SSLCertVerificationError(1, "bad certificate"), ssl)) is ssl.SSLCertVerificationError
    assert type(again(socket.gaierror(-2, "Name or service not known"), socket)) is socket.gaierror


def test_what_the_seam_sets_is_there_before_the_causes() -> None:
    asked = httpx.Request("GET", "http://h/")

    def dress(error: BaseException) -> None:
        assert isinstance(error, httpx.RequestError)
        error.request = asked

    back = decode(encode(httpx.ReadError("gone")), (httpx,), dress)
    assert isinstance(back, httpx.ReadError)
    assert back.request is asked


def test_a_class_that_is_not_allowed_is_named() -> None:
    back = again(httpx.ReadError("gone"))
    assert isinstance(back, RecordedError)
    assert traceback.format_exception_only(back) == ["httpx.ReadError: gone\n"]
    assert type(back) is type(again(httpx.ReadError("gone")))


def test_a_class_of_the_agents_own_is_not_looked_for() -> None:
    class Own(Exception):  # noqa: N818
        pass

    assert isinstance(again(Own("x")), RecordedError)


def test_attributes_that_are_plain_come_back() -> None:
    error = ValueError("no")
    error.code = 7  # type: ignore[attr-defined]
    error.client = object()  # type: ignore[attr-defined]
    back = again(error)
    assert vars(back) == {"code": 7}


def test_arguments_that_are_not_plain_are_told_as_text() -> None:
    assert again(ValueError([1, 2], b"x")).args == ("[1, 2]", "b'x'")


def test_exceptions_among_the_arguments_come_back() -> None:
    inner = again(RuntimeError("no pool", ConnectionResetError(errno.ECONNRESET, "reset"))).args[1]
    assert type(inner) is ConnectionResetError
    assert inner.errno == errno.ECONNRESET


# Chains


def test_a_cause_comes_back() -> None:
    error = httpx.ConnectError("no route")
    error.__cause__ = OSError(errno.EHOSTUNREACH, "no route")
    back = again(error, httpx)
    assert isinstance(back.__cause__, OSError)
    assert back.__cause__.errno == errno.EHOSTUNREACH
    assert back.__suppress_context__


def test_a_context_comes_back_as_such() -> None:
    back = again(raised_while(KeyError("first"), ValueError("second")))
    assert type(back.__context__) is KeyError
    assert back.__cause__ is None
    assert not back.__suppress_context__


def test_a_suppressed_context_stays_suppressed() -> None:
    error = raised_while(KeyError("first"), ValueError("second"))
    error.__cause__ = None  # as `raise … from None` does
    back = again(error)
    assert back.__suppress_context__
    assert back.__context__ is None


def test_a_cause_that_is_not_allowed_does_not_hide_its_own_cause() -> None:
    import httpcore  # noqa: PLC0415

    error, middle = httpx.ConnectError("x"), httpcore.ConnectError("x")
    error.__cause__, middle.__cause__ = middle, ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    back = again(error, httpx)
    assert isinstance(back.__cause__, RecordedError)
    assert type(back.__cause__.__cause__) is ConnectionRefusedError


def test_a_chain_without_end_has_one_on_tape() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    texts: list[str] = []
    error: BaseException | None = again(one)
    while error is not None:
        texts.append(str(error))
        error = error.__cause__
    assert texts == ["one", "two", "one", "two", "one"]


def test_an_error_that_holds_itself_can_be_kept() -> None:
    error = ValueError("round")
    error.args = ("round", error)
    assert again(error).args[0] == "round"


def test_a_group_in_the_chain_comes_back_with_its_members() -> None:
    """Anyio has one as the cause where a host has several addresses and none of them answers."""
    error = OSError("All connection attempts failed")
    error.__cause__ = ExceptionGroup("multiple connection attempts failed", [OSError(1, "one"), OSError(2, "two")])
    back = again(error)
    assert type(back) is OSError
    group = back.__cause__
    assert isinstance(group, ExceptionGroup)
    assert group.message == "multiple connection attempts failed"
    assert [(type(member), member.args) for member in group.exceptions] == [
        (PermissionError, (1, "one")),
        (FileNotFoundError, (2, "two")),
    ]


# Tracebacks


def test_a_traceback_comes_back_line_by_line() -> None:
    def parse() -> object:
        return json.loads(
            "{"  # a call over several lines, so that columns count
        )

    with pytest.raises(ValueError, match="property name") as raised:
        parse()
    told = traceback.format_exception(raised.value)
    back = again(raised.value, json.decoder)
    assert len(told) > 3
    assert traceback.format_exception(back)[1:-1] == told[1:-1]


def test_what_the_caller_was_handling_is_not_kept_but_is_the_context_again() -> None:
    def cross() -> tuple[Failed, BaseException | None]:
        try:
            int("x")
        except ValueError as error:
            failed = encode(error)
        return failed, decode(failed, ()).__context__

    try:
        {}["the agent's"]
    except KeyError as handled:
        agents = handled
        failed, context = cross()
    assert failed.cause is None
    assert context is agents


# Odd and hostile


@pytest.mark.parametrize(
    "error", [ValueError("\udcff\ud800"), ValueError(2**64), ValueError(-(10**30)), OSError(2, "\udc80")], ids=ascii
)
def test_what_a_tape_cannot_hold_is_kept_in_other_words(error: Exception) -> None:
    assert type(again(error)) is type(error)


HOSTILE = [
    ("os", "system"), ("subprocess", "Popen"), ("builtins", "eval"), ("builtins", "__import__"), ("builtins", "object"),
    ("this", "Zen"), ("antigravity", "Error"), ("httpx", "Client"), ("httpx", "__loader__"), ("", ""), ("httpx", ""),
    ("../../etc/passwd", "x"), ("httpx._exceptions", "os"), ("\0", "\0"), ("builtins", "exit"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name"), HOSTILE)
def test_nothing_is_imported_or_called_for_what_a_tape_names(module: str, name: str) -> None:
    before = set(sys.modules)
    back = decode(Failed(module, name, ["echo"], {}), (httpx,))
    assert isinstance(back, RecordedError)
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    "kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseExceptionGroup", "UnicodeDecodeError"]
)
@pytest.mark.parametrize("args", [[], ["x"], [1, "x", None]])
def test_every_builtin_can_be_made_with_any_arguments(kind: str, args: list[str | int | float | bool | None]) -> None:
    assert isinstance(decode(Failed("builtins", kind, args, {}), ()), BaseException)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("__class__", "x"), ("__dict__", 1), ("__traceback__", "x"), ("__cause__", "x"), ("args", 5), ("errno", "x"),
        ("characters_written", 2**63), ("characters_written", "x"), ("with_traceback", 1), ("", 1), ("\0", 1),
    ],
)  # fmt: skip
def test_odd_attributes_harm_nobody(name: str, value: str | int) -> None:
    for kind in ("BlockingIOError", "ValueError", "StopIteration"):
        assert isinstance(decode(Failed("builtins", kind, ["x"], {name: value}), ()), Exception)


@pytest.mark.parametrize("at", [-1, -7, 0, 3, 2**40])
def test_odd_places_of_nested_errors_harm_nobody(at: int) -> None:
    failed = Failed("builtins", "ValueError", ["x"], {}, None, False, {at: Failed("builtins", "KeyError", [], {})})
    assert type(decode(failed, ())) is ValueError


plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text()
odd = plain | st.integers() | st.text(st.characters())
names = st.text(max_size=9) | st.sampled_from(dir(builtins))
failures = st.recursive(
    st.builds(
        Failed,
        st.sampled_from(["builtins", "httpx", "os", "x.y"]),
        names,
        st.lists(odd, max_size=3),
        st.dictionaries(names, odd, max_size=3),
    ),
    lambda inner: st.builds(msgspec.structs.replace, inner, cause=inner, suppressed=st.booleans()),
    max_leaves=4,
)


@given(failures)
def test_whatever_stands_on_a_tape_becomes_an_exception(failed: Failed) -> None:
    assert isinstance(decode(failed, (httpx,)), BaseException)


BUILTINS = [kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, Exception)]
PICKY = (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError, ExceptionGroup, SyntaxError, OSError)


@given(st.sampled_from([kind for kind in BUILTINS if not issubclass(kind, PICKY)]), st.lists(plain, max_size=3))
def test_every_builtin_comes_back_the_same(kind: type[Exception], args: list[object]) -> None:
    error = kind(*args)
    back = again(error)
    assert type(back) is type(error)
    assert (back.args, str(back)) == (error.args, str(error))
