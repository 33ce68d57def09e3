"""Secrets in answers that are packed, or that spell them over events: something as long stands in their place."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from reenact.tape import event as ev
from reenact.tape.contents import Contents
from reenact.tape.journal import Packer, unpack
from reenact.tape.packed import repacked, unpacked
from reenact.tape.placeholder import placeholder
from reenact.tape.scrub import scrubbed
from reenact.tape.vault import Vault
from tests.tape.spelling import EVENTS, FORMATS, FRAMES, cut, frame, spelled, sse

TOKEN = b"sk-proj-4b1c0d8e7f6a5b4c"
STANDS = placeholder(TOKEN, b"key")
CODINGS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    "gzip": (lambda data: gzip.compress(data, 6), gzip.decompress),
    "deflate": (zlib.compress, zlib.decompress),
    "br": (lambda data: brotli.compress(data, quality=5), brotli.decompress),
    "zstd": (zstandard.compress, lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
}


def knowing(*secrets: bytes, contents: Contents | None = None) -> Vault:
    vault = Vault(b"key", contents=contents)
    vault.learn(secrets, bool)
    return vault


def answered(head: bytes, *chunks: bytes, end: bool = True) -> list[ev.AnyRecord]:
    parts = [ev.Part(0, ev.PartKind.HEAD, 1, head), *(ev.Part(0, ev.PartKind.CHUNK, 2, chunk) for chunk in chunks)]
    return [*parts, ev.Part(0, ev.PartKind.END, 4, b"")] if end else [*parts]


def kept(vault: Vault, *commits: list[ev.AnyRecord]) -> list[ev.AnyRecord]:
    """What is on the tape when it is closed."""
    packer = Packer()
    packer.encode = vault.encode
    records = [record for batch in unpack([packer.pack(records) for records in commits]) for record in batch]
    vault.finish()
    return scrubbed(records, vault) if vault.late else records


def body(records: list[ev.AnyRecord]) -> bytes:
    return b"".join(record.data for record in records if isinstance(record, ev.Part) and record.kind == 2)


def lost(records: list[ev.AnyRecord]) -> int:
    return max((record.lost for record in records if isinstance(record, ev.Redacted)), default=0)


# Packed


def coded(coding: str) -> bytes:
    return b'{"status":200,"headers":[["content-encoding","%s"]]}' % coding.encode()


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("commits", ["one", "several", "no end"])
def test_what_is_packed_is_packed_anew_to_the_same_length(coding: str, commits: str) -> None:
    pack, unpack_ = CODINGS[coding]
    text = b" ".join(b"%d plain words" % (number**5) for number in range(200)) + TOKEN + b" end"
    packed = pack(text)
    records = answered(coded(coding), packed[:900], packed[900:], end=commits != "no end")
    vault = knowing(TOKEN)
    found = kept(vault, records) if commits == "one" else kept(vault, *([one] for one in records))
    assert len(body(found)) == len(packed)
    assert unpack_(body(found)) == text.replace(TOKEN, STANDS)
    assert vault.late == (commits != "one")
    assert lost(found) == 0


@pytest.mark.parametrize("coding", CODINGS)
def test_an_answer_without_a_secret_stays_as_it_came_and_needs_no_second_look(coding: str) -> None:
    packed = CODINGS[coding][0](b"plain words " * 20)
    vault = knowing(TOKEN)
    assert body(kept(vault, *([one] for one in answered(coded(coding), packed[:9], packed[9:])))) == packed
    assert not vault.late


@pytest.mark.parametrize("coding", CODINGS)
def test_what_cannot_be_packed_as_small_holds_no_secret_and_the_tape_says_that_no_replay_is_exact(coding: str) -> None:
    text = b"".join(bytes((one,)) + TOKEN for one in b"abcdefghijklmnopqrstuvwxyz") + b"z" * 9
    secret = b"aaaaaaaaaaaaaaaaaaaaaaaa"  # it packs better than what stands for it
    text = text.replace(TOKEN, secret)
    packed = min(
        (CODINGS[coding][0](text), *filter(None, (repacked(coding, text, size) for size in range(400)))), key=len
    )
    found = kept(knowing(secret), answered(coded(coding), packed))
    assert len(body(found)) == len(packed)
    assert secret not in (unpacked(coding, body(found)) or b"")
    assert lost(found) == 1


@pytest.mark.parametrize("coding", CODINGS)
@settings(max_examples=30)
@given(plain=st.binary(max_size=300), more=st.integers(0, 40))
def test_a_packed_text_can_be_made_longer_by_any_number_of_bytes(coding: str, plain: bytes, more: int) -> None:
    size = 60 + len(plain) + more
    made = repacked(coding, plain, size)
    assert made is not None
    assert len(made) == size
    assert CODINGS[coding][1](made) == plain


# Spelled


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("commits", ["one", "several", "no end"])
@pytest.mark.parametrize("size", [1, 4, 11])
def test_a_secret_that_a_model_spells_is_replaced_letter_for_letter(name: str, commits: str, size: int) -> None:
    head, spell = FORMATS[name]
    events = spell(["the key: ", *cut(TOKEN.decode(), size), ", ok"])
    records = answered(head, *events, end=commits != "no end")
    vault = knowing(TOKEN)
    found = body(kept(vault, records) if commits == "one" else kept(vault, *([one] for one in records)))
    assert [*map(len, spelled(found))] == [*map(len, spelled(b"".join(events)))]
    assert any(STANDS.decode() in text for text in spelled(found))
    assert not any(TOKEN.decode() in text for text in spelled(found))
    assert len(found) == len(b"".join(events))
    assert vault.late == (commits != "one")


@given(st.integers(1, 11), st.integers(1, 4), st.lists(st.sampled_from(["", "a", "no"]), max_size=12), st.booleans())
def test_what_events_have_in_common_hides_none_of_it(alike: int, size: int, before: list[str], twice: bool) -> None:
    """Neither pieces that are alike one after the other, nor a text that has the same name further out."""
    secret = "ab" * alike + "c7" * (12 - alike)
    more = {"text": "always the same"} if twice else {}
    about = {"id": "answer-1", "of": "a model that is asked", **more}
    events = sse(*({**about, "delta": {"text": one}, "n": "x"} for one in [*before, *cut(secret, size), *before]))
    found = "".join(spelled(body(kept(knowing(secret.encode()), answered(EVENTS, *events)))))
    assert secret not in found
    assert placeholder(secret.encode(), b"key").decode() in found


def in_passing(vault: Vault, records: list[ev.AnyRecord]) -> list[list[ev.AnyRecord]]:
    """What goes to disk together when it does so as soon as nothing is parted by it."""
    packer, pieces, pending = Packer(), [], []
    packer.encode = vault.encode
    for record in records:
        pending.append(record)
        if record is records[-1] or not vault.are_cut(pending):
            pieces.append(packer.pack(pending))
            pending = []
    return [*unpack(pieces)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [2, 4, 11])
def test_a_secret_of_which_the_rest_is_still_to_come_waits_for_it(name: str, size: int) -> None:
    head, spell = FORMATS[name]
    events = b"".join(spell(["the key: ", *cut(TOKEN.decode(), size), ", ok", " and more", " of that"]))
    vault = knowing(TOKEN)
    commits = in_passing(vault, answered(head, *(events[at : at + 9] for at in range(0, len(events), 9))))
    assert not vault.late
    found = body([record for records in commits for record in records])
    assert any(STANDS.decode() in text for text in spelled(found))
    assert not any(TOKEN.decode() in text for text in spelled(found))
    commits = in_passing(vault, answered(head, *spell(cut("an answer with nothing in it", 3))))
    assert len(commits) == sum(map(len, commits))  # nothing else waits


def test_what_is_packed_waits_for_its_end_and_what_is_not_waits_for_no_more_than_a_secret() -> None:
    packed = gzip.compress(b"it is " + TOKEN)
    assert knowing(TOKEN).are_cut(answered(coded("gzip"), packed, end=False))
    assert not knowing(TOKEN).are_cut(answered(coded("gzip"), packed))
    for text, cut_there in ((b"it is sk", True), (b"it is s", False), (b"it is sk?", False), (b"it is " + TOKEN, True)):
        assert knowing(TOKEN).are_cut(answered(b"{}", text, end=False)) == cut_there, text
    learned = Vault(b"key")
    assert learned.are_cut(answered(b"{}", b'"api_key": "xT5-99aB7c31ffE0', end=False))
    assert not learned.are_cut(answered(b"{}", b'"api_key": "xT5-99aB7c31ffE0", ', end=False))


@pytest.mark.parametrize("name", FORMATS)
def test_a_stream_without_a_secret_stays_as_it_came_and_needs_no_second_look(name: str) -> None:
    head, spell = FORMATS[name]
    events = spell(cut("an answer with nothing in it", 3))
    vault = knowing(TOKEN)
    assert body(kept(vault, *([one] for one in answered(head, *events)))) == b"".join(events)
    assert not vault.late


@given(st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=30), st.booleans())
def test_letters_that_json_escapes_count(secret: str, ascii_only: bool) -> None:
    secret = f"k7{secret}"  # what holds letters or digits keeps its signs
    pieces = ["a ", *cut(secret, 2), " z"]
    lines = (json.dumps({"text": piece}, ensure_ascii=ascii_only).encode() for piece in pieces)
    stands = placeholder(secret.encode(), b"key").decode()
    found = body(kept(knowing(secret.encode()), answered(EVENTS, *(b"data: " + line + b"\n\n" for line in lines))))
    assert [*spelled(found)] == ["".join(pieces).replace(secret, stands)]


def test_letters_that_are_written_by_their_number_count() -> None:
    lines = [b'data: {"text": "sk-\\u0070roj"}\n\n', b'data: {"text": "-4b1c0d8e7f6a5b4c"}\n\n']
    found = body(kept(knowing(TOKEN), answered(EVENTS, *lines)))
    assert [*spelled(found)] == [STANDS.decode()]
    assert b"\\u00" in found


def test_what_stands_whole_in_a_frame_leaves_its_checksum_right() -> None:
    frames = [frame({"delta": {"text": f"a {TOKEN.decode()}"}}), frame({"stop": 1})]
    for commits in ([answered(FRAMES, *frames)], [[one] for one in answered(FRAMES, *frames)]):
        assert [*spelled(body(kept(knowing(TOKEN), *commits)))] == [f"a {STANDS.decode()}"]


def test_what_the_user_redacts_is_found_where_it_is_spelled() -> None:
    vault = Vault(b"key", contents=Contents(["CASE-[0-9]+"]))
    found = kept(vault, answered(EVENTS, *sse(*({"text": piece} for piece in cut("in CASE-4711, yes", 2)))))
    assert not any("CASE-4711" in text for text in spelled(body(found)))


def test_spelled_events_may_be_packed_and_in_chunks() -> None:
    packed = gzip.compress(b"".join(FORMATS["chat"][1](cut(f"it is {TOKEN.decode()}", 2))))
    head = b'{"framing":"chunked","headers":[["content-type","text/event-stream"],["content-encoding","gzip"]]}'
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    found = body(kept(knowing(TOKEN), answered(head, chunked)))
    assert len(found) == len(chunked)
    plain = gzip.decompress(found.partition(b"\r\n")[2].removesuffix(b"\r\n0\r\n\r\n"))
    assert any(STANDS.decode() in text for text in spelled(plain))
