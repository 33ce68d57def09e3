"""The manifest: what a run was comes back from its tape, whatever characters it is made of."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import TapeCorruptError
from reenact.launch.manifest import Manifest, decode, describe, encode
from reenact.tape.event import Failed

PLAIN = Manifest("run-1", "run", 5, "0.1.0", "3.12.1", "/usr/bin/python3", "linux", "/home/a")

text = st.text(max_size=12)
lists = st.lists(text, max_size=3)
mappings = st.dictionaries(text, text, max_size=3)
manifests = st.builds(
    Manifest,
    *[text] * 2,
    st.integers(0, 2**62),
    *[text] * 5,
    flags=lists,
    target=lists,
    entry=text,
    arguments=text,
    import_path=lists,
    hash_seed=text,
    hash_seed_set=st.booleans(),
    environment=mappings,
    secrets=lists,
    packages=mappings,
    sources=mappings,
    git_commit=text,
    git_diff=text,
    terminal=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    tags=mappings,
)


def with_(**changes: object) -> Manifest:
    return msgspec.structs.replace(PLAIN, **changes)


@given(manifests)
def test_any_manifest_comes_back(manifest: Manifest) -> None:
    assert decode(encode(manifest)) == manifest


def test_what_is_not_set_takes_no_room() -> None:
    assert set(json.loads(encode(PLAIN))) == set(Manifest.__struct_fields__[:8])


def test_a_manifest_of_a_newer_minor_version_can_be_read() -> None:
    assert decode(encode(PLAIN)[:-1] + b',"weather":"fine"}') == PLAIN


@pytest.mark.parametrize(
    "manifest",
    [
        with_(environment={"ODD": "\udcff"}), with_(environment={"\udcff": "x"}), with_(target=["\udcff.py"]),
        with_(cwd="/\udc80"), with_(name="\ud800"), with_(git_diff="+ \udcff"),
    ],
)  # fmt: skip
def test_text_that_is_no_utf_8_keeps_nobody_from_recording(manifest: Manifest) -> None:
    """A name on disk may be any bytes, and Python has them as lone surrogates."""
    back = decode(encode(manifest))
    assert (back.run_id, back.started, back.terminal) == (manifest.run_id, manifest.started, manifest.terminal)
    assert repr(back).isprintable()


@given(st.dictionaries(st.text(st.characters(), max_size=5), st.text(st.characters(), max_size=9), max_size=3))
def test_any_environment_can_be_kept(environment: dict[str, str]) -> None:
    decode(encode(with_(environment=environment)))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"{}", b"text", b"\xff", encode(PLAIN)[:-1], encode(PLAIN).replace(b":5,", b':"5",'),
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_corrupt(data: bytes) -> None:
    with pytest.raises(TapeCorruptError, match="does not say what was run"):
        decode(data)


@pytest.mark.parametrize(
    ("failed", "line"),
    [
        (Failed("builtins", "ValueError", ["no"], {}), "ValueError: no"),
        (Failed("builtins", "KeyError", [], {}), "KeyError: "),
        (Failed("httpx", "ReadTimeout", ["timed out"], {}), "httpx.ReadTimeout: timed out"),
        (Failed("builtins", "OSError", [2, "No such file", None], {}), "OSError: 2, No such file, None"),
    ],
)
def test_an_exception_is_told_in_a_line(failed: Failed, line: str) -> None:
    assert describe(failed) == line
