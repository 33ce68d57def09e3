"""What is secret is not written, in whatever form and however it is cut, and what stands for it is as long."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.tape import event as ev
from reenact.tape import nature
from reenact.tape.contents import Contents
from reenact.tape.delta import Bodies
from reenact.tape.journal import Packer, encode, unpack
from reenact.tape.packed import repacked
from reenact.tape.placeholder import placeholder
from reenact.tape.scrub import scrubbed
from reenact.tape.sealed import Sealed
from reenact.tape.vault import Vault
from reenact.tape.writer import TapeWriter

SECRET = b'p4ss/W0rd+"x\\y&z'
TOKEN = b"sk-proj-4b1c0d8e7f6a5b4c"
JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"someone","exp":1999999999}', b"signature-of-32-bytes-or-nearly")
)  # fmt: skip
ALIKE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60)


def knowing(*secrets: bytes, contents: Contents | None = None) -> Vault:
    vault = Vault(b"key", contents=contents)
    vault.learn(secrets, bool)
    return vault


def written(vault: Vault, *commits: list[ev.AnyRecord]) -> tuple[bytes, list[ev.AnyRecord]]:
    """What a vault makes of commits: the bytes, and the records in them."""
    packer = Packer()
    packer.encode = vault.encode
    pieces = [packer.pack(records) for records in commits]
    return b"".join(piece.data for piece in pieces), [record for batch in unpack(pieces) for record in batch]


# What stands for a secret


@given(ALIKE)
def test_what_stands_for_a_secret_is_as_long_and_not_the_secret(secret: str) -> None:
    stands = placeholder(secret.encode(), b"key")
    assert len(stands) == len(secret.encode())
    assert stands != secret.encode()
    assert stands == placeholder(secret.encode(), b"key")


def test_it_has_the_shape_of_the_secret() -> None:
    made = placeholder(b"sk-proj-ABCdef0123456789", b"key").decode()
    assert made.startswith("sk-")
    assert [one.isdigit() for one in made] == [one.isdigit() for one in "sk-proj-ABCdef0123456789"]
    assert [one.isupper() for one in made] == [one.isupper() for one in "sk-proj-ABCdef0123456789"]
    bytes.fromhex(placeholder(b"0123456789abcdef", b"key").decode())
    key = b"-----BEGIN RSA PRIVATE KEY-----\nMIIEabc123\n-----END RSA PRIVATE KEY-----\n"
    made = placeholder(key, b"key").decode()
    assert made.startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert "MIIEabc123" not in made


def test_a_json_web_token_can_still_be_read_and_says_nothing() -> None:
    head, claims, _ = placeholder(JWT.encode(), b"key").decode().split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {
        "alg": "HS256",
        "typ": "JWT",
    }
    told = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert told["exp"] == 1999999999
    assert told["sub"] != "someone"


def test_another_key_makes_another() -> None:
    assert placeholder(TOKEN, b"one") != placeholder(TOKEN, b"two")


# In whatever form


@given(st.sampled_from([SECRET, TOKEN]), st.binary(max_size=9), st.binary(max_size=9))
def test_base64_of_it_becomes_base64_of_what_stands_for_it(secret: bytes, before: bytes, after: bytes) -> None:
    vault, stands = knowing(secret), placeholder(secret, b"key")
    cleaned = vault.clean(base64.b64encode(before + secret + after))
    assert base64.b64decode(cleaned) == before + stands + after


@pytest.mark.parametrize("secret", [SECRET, TOKEN])
@pytest.mark.parametrize(
    "write",
    [
        lambda text: text,
        lambda text: json.dumps({"a": text}),
        lambda text: json.dumps({"a": json.dumps({"b": text})}),
        quote_plus,
        lambda text: text.encode().hex(),
        repr,
    ],
)
def test_so_does_what_is_escaped(secret: bytes, write: object) -> None:
    vault, stands = knowing(secret), placeholder(secret, b"key")
    assert callable(write)
    assert vault.clean(write(secret.decode()).encode()) == write(stands.decode()).encode()


# However it is cut


@given(st.integers(1, len(TOKEN) - 1), st.integers(0, 20))
def test_a_secret_that_is_cut_by_the_border_of_two_records_is_not_written(at: int, pad: int) -> None:
    text = b"x" * pad + TOKEN + b" and more"
    cut = pad + at
    for one, other in (
        (ev.Part(0, ev.PartKind.CHUNK, 1, text[:cut]), ev.Part(0, ev.PartKind.CHUNK, 2, text[cut:])),
        (ev.Wrote(0, 1, text[:cut]), ev.Wrote(0, 1, text[cut:])),
    ):
        raw, (first, second, *_) = written(knowing(TOKEN), [one, other])
        assert TOKEN not in raw
        joined = first.data + second.data  # type: ignore[union-attr]
        assert joined == text.replace(TOKEN, placeholder(TOKEN, b"key"))
        assert len(first.data) == cut  # type: ignore[union-attr]


def test_one_that_is_cut_by_two_commits_is_gone_when_the_tape_is_closed() -> None:
    vault = knowing(TOKEN)
    commits: list[list[ev.AnyRecord]] = [[ev.Wrote(0, 1, b"a " + TOKEN[:9])], [ev.Wrote(0, 1, TOKEN[9:] + b" z")]]
    _, records = written(vault, *commits)
    assert vault.late, "what is on disk has to be looked through again"
    texts = [record.data for record in scrubbed(records, vault) if isinstance(record, ev.Wrote)]
    assert b"".join(texts) == b"a " + placeholder(TOKEN, b"key") + b" z"


@given(st.lists(st.sampled_from([TOKEN, b"sk-proj-4b1c0d8e7f6a5b4d", b"sk-proj-", b"x" * 70]), max_size=12))
def test_bodies_come_back_cleaned_whatever_they_have_in_common(parts: list[bytes]) -> None:
    vault = knowing(TOKEN, b"sk-proj-4b1c0d8e7f6a5b4d")
    writer, reader = Bodies(), Bodies()
    body = b"y" * 70
    for event, part in enumerate(parts):
        body += part
        for sent in (body, body[:70] + part + body[70:]):
            number = 2 * event + (sent is not body)
            delta = writer.shrink(number, sent, number - 1, vault)
            kept = ev.Delta(delta.base, delta.prefix, delta.suffix, vault.clean(delta.middle))
            assert reader.restore(number, kept) == vault.clean(sent)


def test_what_gzip_has_packed_is_packed_anew_to_the_same_length() -> None:
    packed = gzip.compress(b"plain words " * 20 + TOKEN + b" end", mtime=0)
    head = ev.Part(0, ev.PartKind.HEAD, 1, b'{"status":200,"headers":[["content-encoding","gzip"]]}')
    chunks = [ev.Part(0, ev.PartKind.CHUNK, 2, packed[:30]), ev.Part(0, ev.PartKind.CHUNK, 3, packed[30:])]
    _, records = written(knowing(TOKEN), [head, *chunks, ev.Part(0, ev.PartKind.END, 4, b"")])
    data = b"".join(record.data for record in records if isinstance(record, ev.Part) and record.kind == 2)
    assert len(data) == len(packed)
    assert gzip.decompress(data) == gzip.decompress(packed).replace(TOKEN, placeholder(TOKEN, b"key"))


@given(st.binary(max_size=500), st.integers(0, 90))
def test_gzip_can_be_made_longer_by_any_number_of_bytes(plain: bytes, more: int) -> None:
    shortest = next(size for size in range(10_000) if repacked("gzip", plain, size) is not None)
    made = repacked("gzip", plain, shortest + more)
    assert made is not None
    assert len(made) == shortest + more
    assert gzip.decompress(made) == plain


# How it becomes known


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b'{"access_token": "abcDEF123456"}', b"abcDEF123456"),
        (b'"{\\"refreshToken\\":\\"abcDEF123456\\"}"', b"abcDEF123456"),
        (b"grant=x&client_secret=abcDEF123456&a=b", b"abcDEF123456"),
        (b"<SessionToken>abcDEF123456</SessionToken>", b"abcDEF123456"),
        (b"<SecretAccessKey>abcDEF123456</SecretAccessKey>", b"abcDEF123456"),
        (b'["x-auth-token","abcDEF123456"]', b"abcDEF123456"),
        (b'["set-cookie","sid=abcDEF123456; Path=/"]', b"abcDEF123456"),
        (b"Set-Cookie: sid=a1b2; Path=/", b"sid=a1b2"),
        (b"set-cookie: theme=dark; Path=/", None),
        (b'{"completion_tokens": 12, "max_tokens": "abcDEF123456"}', None),
        (b'{"password": "The password of the user"}', None),
        (b'{"token": "Hello"}', None),
    ],
)
def test_names_in_a_text_say_what_is_a_secret(text: bytes, found: bytes | None) -> None:
    assert [*nature.of_text(text)] == ([] if found is None else [found])


def test_what_stands_for_a_secret_is_none() -> None:
    vault = knowing(TOKEN)
    stands = placeholder(TOKEN, b"key")
    vault.discover(b'{"access_token": "' + stands + b'"}')
    assert not vault.holds(stands)


def test_a_variable_that_names_a_path_or_an_address_stays(tmp_path: Path) -> None:
    assert [*nature.of_variable(str(tmp_path))] == []
    assert [*nature.of_variable("https://example.org/path")] == []
    assert b"hunter22" in [*nature.of_variable("postgres://me:hunter22@host/db")]


def test_what_the_processes_of_a_run_tell_each_other_can_be_read_by_them_alone(tmp_path: Path) -> None:
    book = tmp_path / "book"
    one, other = Sealed(book, b"key"), Sealed(book, b"key")
    one.add([TOKEN, SECRET])
    other.add([b"third"])
    assert one.read() == [TOKEN, SECRET, b"third"]
    assert one.read() == []
    assert TOKEN not in book.read_bytes()
    assert book.stat().st_mode & 0o777 == 0o600
    assert TOKEN not in Sealed(book, b"another").read()


def test_a_process_is_handed_what_is_known_by_then(tmp_path: Path) -> None:
    first = Vault(book=tmp_path / "book", contents=Contents(["CASE-[0-9]+"]))
    first.learn([TOKEN])
    other = Vault.handed(first.hand_on())
    assert other.clean(TOKEN) == first.clean(TOKEN) != TOKEN
    other.discover(b"in CASE-4711 it")
    assert b"CASE-4711" not in other.clean(b"CASE-4711")


# Contents


def test_contents_are_redacted_where_a_pattern_matches_and_then_everywhere() -> None:
    vault = Vault(b"key", contents=Contents([r"CASE-[0-9]+"]))
    asked = ev.Began(0, 0, ev.Kind.HTTP, "POST http://h/", -1, 1, b"", ev.Delta(-1, 0, 0, b"about CASE-4711"))
    raw, records = written(vault, [asked])
    assert b"CASE-4711" not in raw
    assert [record.lost for record in records if isinstance(record, ev.Redacted)] == [0], "nothing of it came in"
    raw, records = written(vault, [ev.Part(0, ev.PartKind.CHUNK, 1, b"and CASE-4711 is")])
    assert b"CASE-4711" not in raw
    assert [record.lost for record in records if isinstance(record, ev.Redacted)] == [1]


@pytest.mark.parametrize("pattern", ["(", "x*", ""])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"regular expression|everywhere"):
        Contents([pattern])


def test_persons_are_found_by_form_and_check_digit() -> None:
    found = Contents(pii=True)
    text = b"bob@example.org, +49 30 901820, 4111 1111 1111 1111, 4111 1111 1111 1112, 1795432189000000003, DE89 3704 0044 0532 0130 00."
    assert set(found(text)) == {
        b"bob@example.org", b"+49 30 901820", b"4111 1111 1111 1111", b"DE89 3704 0044 0532 0130 00",
    }  # fmt: skip


# What is not secret


@given(st.binary(max_size=200))
def test_records_without_secrets_are_written_as_they_are(data: bytes) -> None:
    records: list[ev.AnyRecord] = [ev.Wrote(0, 1, data), ev.Part(0, ev.PartKind.CHUNK, 1, data)]
    vault = Vault(b"key", learns=False)
    assert vault.encode(records) == encode(records)


def test_a_tape_is_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        TapeWriter.create(tmp_path / "a.tape", "a", "a", 0).close()
    finally:
        os.umask(old)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
