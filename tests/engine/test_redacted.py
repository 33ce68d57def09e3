"""A tape without secrets, compared with a run that may have them."""

from __future__ import annotations

from reenact.engine.divergence import Request
from reenact.engine.redacted import Redactions

STANDS, OTHER = b"sk-redacted01", b"tok-zzzz-0002"


def redactions() -> tuple[Redactions, dict[bytes, bytes]]:
    bound: dict[bytes, bytes] = {}
    return Redactions({STANDS, OTHER}, bound.__setitem__), bound


def test_a_secret_of_the_same_length_fits_in_the_place_of_what_stands_for_it() -> None:
    compared, bound = redactions()
    assert compared.fits(b"the key is sk-redacted01.", b"the key is sk-abcdefgh99.")
    assert bound == {b"sk-abcdefgh99": STANDS}


def test_another_length_or_other_words_around_it_do_not() -> None:
    compared, bound = redactions()
    assert not compared.fits(b"the key is sk-redacted01.", b"the key is sk-abcdefg-99999.")
    assert not compared.fits(b"the key is sk-redacted01.", b"a key, it is sk-redacted1.")
    assert not bound


def test_it_has_to_be_the_same_secret_wherever_it_comes_again() -> None:
    compared, _ = redactions()
    assert compared.fits(b"sk-redacted01", b"sk-abcdefgh11")
    assert compared.fits(b"[sk-redacted01]", b"[sk-abcdefgh11]")
    assert compared.fits(b"[sk-redacted01]", b"[sk-redacted01]")
    assert not compared.fits(b"[sk-redacted01]", b"[sk-XXXXXXXX11]")
    assert not compared.fits(b"sk-redacted01 sk-redacted01", b"sk-abcdefgh11 sk-XXXXXXXX11")


def test_one_text_may_hold_several() -> None:
    compared, bound = redactions()
    assert compared.fits(b"sk-redacted01 and tok-zzzz-0002", b"sk-abcdefgh11 and tok-12345-789")
    assert bound == {b"sk-abcdefgh11": STANDS, b"tok-12345-789": OTHER}


def test_output_may_come_in_any_pieces() -> None:
    expected = b"say sk-redacted01 now"
    for cut in range(1, len(expected)):
        compared, _ = redactions()
        actual = b"say sk-abcdefgh11 now"
        assert compared.continues(expected, 0, actual[:cut])
        assert compared.continues(expected, cut, actual[cut:])
        assert not compared.continues(expected, cut, b"!" + actual[cut + 1 :]) or 4 <= cut < 17


def test_a_request_is_compared_in_all_its_parts() -> None:
    def request(key: str, body: bytes, method: str = "POST") -> Request:
        return Request(method, f"http://h/?a={key}", (("x-key", key),), body)

    on_tape = request("sk-redacted01", b"of sk-redacted01")
    assert redactions()[0].fit(on_tape, request("sk-abcdefgh11", b"of sk-abcdefgh11"))
    assert not redactions()[0].fit(on_tape, request("sk-abcdefgh11", b"of sk-XXXXXXXX11"))
    assert not redactions()[0].fit(on_tape, request("sk-abcdefgh11", b"of sk-abcdefgh11", "PUT"))


def test_without_anything_redacted_only_the_same_fits() -> None:
    compared = Redactions((), lambda _secret, _stands: None)
    assert compared.fits(b"a", b"a")
    assert not compared.fits(b"a", b"b")
    assert not compared.continues(b"abc", 0, b"abd")
