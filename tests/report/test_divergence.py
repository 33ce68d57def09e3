"""The divergence report: golden texts, safe for the terminal, and one JSON object.

With UPDATE_GOLDEN=1 in the environment the golden files are written instead of compared.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine.cause import explain
from reenact.engine.divergence import Cause, Datum, Divergence, Request, Site, What
from reenact.report import divergence as report
from reenact.report.terminal import Paint, columns

GOLDEN: Final = Path(__file__).parent / "golden"
URL: Final = "https://api.openai.com/v1/chat/completions"
SITE: Final = Site(
    "agent/plan.py", 42, "answer", "    reply = client.chat.completions.create(model=MODEL, messages=messages)\n"
)
SYSTEM: Final = (
    "You are a concise assistant for the orders desk of a shop.\nAnswer in one sentence, politely, and never promise "
    "a refund before a tool has confirmed it. You can use: "
)
TOOLS: Final = "<Tool object at 0x7f3a2c1d0e50>, <Tool object at 0x7f3a2c1d0f10>"


def asked(system: str, *more: dict[str, str], **fields: object) -> Request:
    said = [{"role": "system", "content": system}, {"role": "user", "content": "Where is order 5512?"}, *more]
    body = msgspec.json.encode({"model": "gpt-5", "messages": said, **fields})
    return Request("POST", URL, (("Authorization", "Bearer sk-secret"), ("Content-Type", "application/json")), body)


def printed(data: bytes) -> Datum:
    return Datum("stdout", "stdout", data)


def mismatch(expected: Request | Datum, actual: Request | Datum, what: What = What.MISMATCH) -> Divergence:
    return explain(Divergence(what, "main", 17, 3, SITE, expected, actual))


NOISE: Final = " ".join(f"item{number} of the list with some more words to part them well," for number in range(30))

CASES: Final = {
    "prompt-word": mismatch(asked(SYSTEM), asked(SYSTEM.replace("concise", "verbose"))),
    "address": mismatch(asked(SYSTEM + TOOLS), asked(SYSTEM + TOOLS.replace("7f3a2c1d", "7f91b07e"))),
    "extra-call": Divergence(
        What.EXTRA, "0.2.1", None, 4, SITE, None, asked(SYSTEM, {"role": "tool", "content": "It left Oslo on Monday."})
    ),
    "missing-call": Divergence(What.MISSING, "main", 21, 5, SITE, asked(SYSTEM), None),
    "output": mismatch(printed(b"2 orders\ntook 0.123s\n"), printed(b"2 orders\ntook 0.188s\n"), What.OUTPUT),
    "exit": mismatch(Datum("exit", "", b"0"), Datum("exit", "", b"1"), What.EXIT),
    "several": mismatch(
        asked("Be brief.", temperature=0, metadata={"run_id": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}),
        asked(
            "Be brief.",
            {"role": "user", "content": "And order 5513?"},
            temperature=0.7,
            metadata={"run_id": "16fd2706-8baf-433b-82eb-8c7fada847da"},
            tools=[{"name": "search", "description": "Find an order. " * 20}],
        ),
    ),
    "tools-order": mismatch(
        asked("Be brief.", tools=[{"name": "search"}, {"name": "fetch"}]),
        asked("Be brief.", tools=[{"name": "fetch"}, {"name": "search"}]),
    ),
    "many-places": mismatch(asked(NOISE), asked(NOISE.replace("item", "ITEM"))),
    "many-changes": mismatch(
        asked("a", **{f"x{n}": n for n in range(99)}), asked("a", **{f"x{n}": -n for n in range(99)})
    ),
    "wide-letters": mismatch(
        asked("\u4f60\u662f\u4e00\u4e2a\u7b80\u6d01\u7684\u52a9\u624b"),
        asked("\u4f60\u662f\u4e00\u4e2a\u8be6\u7ec6\u7684\u52a9\u624b"),
    ),
    "hostile": mismatch(
        asked("clear\x1b[2J \x07 \u202etxt \u200b"),
        Request(
            "POST",
            "https://user:pass@api.openai.com/v1/chat\x1b[1m?key=sk-secret",
            (("x\x1b", "\udcff\n"),),
            b"\x00\xff",
        ),
    ),
    "binary": mismatch(
        Request("PUT", URL, (), b"\x89PNG" * 99), Request("PUT", URL, (), b"\x89PNG" * 50 + b"\x89JPG" * 49)
    ),
    "another-call": explain(
        Divergence(
            What.MISMATCH, "0", 17, 3, SITE, asked(SYSTEM), Request("GET", URL.replace("chat/completions", "models"))
        )
    ),
    "stuck": Divergence(
        What.STUCK,
        "0.1",
        17,
        None,
        notes=("lane 0.1 waits for event 17 of lane 0.2", "lane 0.2 ended at step 2, before it made event 17"),
    ),
    "socket": Divergence(What.SOCKET, "main", None, 2, Site("agent/net.py", 7), None, Datum("socket", "10.1.2.3:5432")),
}


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_golden_one(name: str) -> None:
    path = GOLDEN / f"divergence-{name}.txt"
    found = report.text(CASES[name])
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_color_adds_nothing_but_color(name: str) -> None:
    bare = re.sub(r"\x1b\[[0-9;]+m", "", report.text(CASES[name], paint=Paint(on=True)))
    without_carets = [line for line in report.text(CASES[name]).split("\n") if not re.fullmatch(r" +[\^ ]*\^", line)]
    assert bare == "\n".join(without_carets)


def test_changed_words_are_inverted_in_red_and_green() -> None:
    colored = report.text(CASES["prompt-word"], paint=Paint(on=True))
    assert "\x1b[7;31mconcise\x1b[0m" in colored
    assert "\x1b[7;32mverbose\x1b[0m" in colored


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", CASES)
def test_lines_stay_within_the_width(name: str, width: int) -> None:
    """But for the lines of TOML that are offered, which are there to be copied."""
    shown, _, _ = report.text(CASES[name], width=width).partition("[[tool.reenact")
    assert max(map(columns, shown.split("\n"))) <= width


@pytest.mark.parametrize("name", CASES)
def test_no_credential_is_shown(name: str) -> None:
    for told in (report.text(CASES[name]), report.json(CASES[name]).decode()):
        assert "secret" not in told
        assert "user:pass" not in told


def test_json_holds_the_fields_with_bodies_cut() -> None:
    divergence = mismatch(asked(SYSTEM * 100), asked(SYSTEM * 100 + "more"))
    told = json.loads(report.json(divergence))
    assert (told["what"], told["lane"], told["event"], told["step"]) == ("mismatch", "main", 17, 3)
    assert told["site"]["line"] == 42
    assert told["changes"][0]["pointer"] == "/messages/0/content"
    assert told["cause"]["slug"] == "prompt"
    assert told["expected"]["type"] == "request"
    assert told["expected"]["headers"] == [["content-type", "application/json"]]
    assert told["expected"]["bytes"] > 10_000
    assert len(told["expected"]["text"]) == 4_000


def test_json_holds_bytes_that_are_no_text_as_base64_and_header_bytes_escaped() -> None:
    told = json.loads(report.json(CASES["hostile"]))
    assert told["actual"]["base64"] == "AP8="
    assert told["actual"]["headers"] == [["x\x1b", "\\udcff\n"]]
    assert report.json(Divergence(What.STUCK, "0"))


def test_a_cause_of_ones_own_is_told_with_its_advice() -> None:
    divergence = Divergence(What.ORDER, "0", cause=Cause("mine", "Two tasks race.", "Await the first.\nmode = 1"))
    told = report.text(divergence)
    assert (
        "  likely cause    Two tasks race.\n  what to do      Await the first.\n\n                  mode = 1\n" in told
    )


def test_every_kind_of_divergence_has_words_of_its_own() -> None:
    headlines = {report.text(Divergence(what, "0")).split("\n")[0] for what in What}
    assert len(headlines) == len(What)


anything: Final = st.text(max_size=30)


@given(anything, anything, anything, st.binary(max_size=30), st.booleans())
def test_no_control_character_reaches_the_terminal(name: str, old: str, new: str, body: bytes, color: bool) -> None:
    site = Site(name, 1, old, new)
    for expected, actual in (
        (
            Request("GET", "https://h/" + old, ((name, old),), body),
            Request("GET", "https://h/" + new, ((name, new),), b"{}"),
        ),
        (Datum(name, old, body), Datum(name, new, new.encode(errors="replace"))),
    ):
        divergence = explain(Divergence(What.MISMATCH, name, 1, 1, site, expected, actual, notes=(name,)))
        bare = report.text(divergence, paint=Paint(on=color))
        if color:
            bare = re.sub(r"\x1b\[[0-9;]+m", "", bare)
        assert bare.replace("\n", "").isprintable()
        assert json.loads(report.json(divergence))
