"""The certificate as text and as JSON, and what the end of a recording tells."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from reenact.engine.divergence import Datum, Divergence, What
from reenact.report import certificate as certificates
from reenact.report import recorded
from reenact.report.certificate import Boundaries, Bytes, Certificate, Ending, Tape, Verdict
from reenact.report.figures import counted, seconds, size
from reenact.report.terminal import Paint
from reenact.tape.event import Ended, Note, SiteNamed
from reenact.tape.recording import Recording

VERIFIED = Certificate(
    verdict=Verdict.VERIFIED,
    run="support-agent-7f3a",
    entry="",
    program=["python", "agent.py", "--city", "New York"],
    cwd="/work",
    python="3.12.5",
    packages={"httpx2": "2.16.2", "openai": "3.54.0"},
    sources={"agent.py": "ab" * 32},
    commit="23669e1b0c44c9998ffd4605e34246d6bc2d48fe",
    uncommitted=True,
    boundaries=Boundaries(12, 12, 12, {"http": 9, "sleep": 2, "stdin": 1}),
    bytes=Bytes(48_213, 12_345, 35_000, 868),
    draws=57,
    drifts={},
    side_traffic={},
    observed=False,
    finished=True,
    ending=Ending(0, 0, "", ""),
    tape=Tape("5f" * 32, 31),
    incomplete=[],
    network=certificates.NETWORK,
    placeholders=["OPENAI_API_KEY"],
    not_restored=[],
    normalizers=[],
    faults=[],
    recorded_seconds=8.2,
    replayed_seconds=0.4,
    divergences=[],
)
OTHER_END = Divergence(
    What.EXIT, "0", expected=Datum("exit", "exit", b"exit status 0"), actual=Datum("exit", "exit", b"killed by SIGSEGV")
)
DIVERGED = msgspec.structs.replace(
    VERIFIED, verdict=Verdict.DIVERGED, boundaries=Boundaries(12, 8, 7, {"http": 12}), divergences=[OTHER_END] * 30
)


def test_a_certificate_reads_like_this() -> None:
    assert certificates.text(VERIFIED) == (
        "VERIFIED  support-agent-7f3a: run again offline, the same to the byte\n"
        "\n"
        "  calls           12 of 12 as recorded: 9 HTTP exchanges, 2 sleeps and 1 read of stdin\n"
        "  compared        48,213 bytes: requests 12,345, answers 35,000, output 868\n"
        "  ended           exit status 0, as recorded, after 400 ms (recorded in 8.2 s)\n"
    )


def test_its_summary_is_one_line() -> None:
    assert certificates.line(VERIFIED) == (
        "reenact: replayed support-agent-7f3a offline: 12 of 12 calls as recorded, in 400 ms"
    )


@pytest.mark.parametrize(
    ("verdict", "headline", "met"),
    [
        (Verdict.VERIFIED, "VERIFIED  support-agent-7f3a: run again offline, the same to the byte\n", True),
        (Verdict.CUT, "VERIFIED UP TO THE CUT  support-agent-7f3a: ", True),
        (
            Verdict.UNVERIFIED,
            "NOT VERIFIED  support-agent-7f3a: no difference was seen, but reenact itself failed",
            False,
        ),
        (Verdict.DIVERGED, "DIVERGED  support-agent-7f3a: the run ended in another way than when recorded\n", False),
    ],
)
def test_the_headline_says_the_verdict(verdict: Verdict, headline: str, met: bool) -> None:
    found = [OTHER_END] if verdict is Verdict.DIVERGED else []
    certificate = msgspec.structs.replace(VERIFIED, verdict=verdict, divergences=found)
    assert certificates.text(certificate).startswith(headline)
    assert certificates.passed(certificate) is met
    color = certificates.text(certificate, paint=Paint(on=True))
    assert color.startswith("\x1b[1;32mVERIFIED" if met else "\x1b[1;31m")


def test_only_the_first_difference_is_told_unless_observed() -> None:
    text = certificates.text(DIVERGED)
    assert text.count("- exit status 0") == 1
    assert "  more            29 differences, which may follow from this one\n" in text
    assert "  calls           7 of 12 as recorded; verify --observe lists what else differs\n" in text
    observed = certificates.text(msgspec.structs.replace(DIVERGED, observed=True))
    assert observed.startswith("DIVERGED  support-agent-7f3a: 7 of 12 calls as recorded, 30 differences\n")
    assert observed.count("Divergence:") == certificates.MAX_TOLD
    assert "… and 10 differences more; --json lists them" in observed


def test_a_replay_that_was_gone_counts_nothing() -> None:
    text = certificates.text(msgspec.structs.replace(DIVERGED, finished=False))
    assert text.startswith("DIVERGED  support-agent-7f3a: the replay did not come to its end\n\nDivergence: ")
    assert "as recorded" not in text


def test_what_to_know_before_relying_on_it_is_told_always() -> None:
    for certificate in (VERIFIED, DIVERGED):
        warned = msgspec.structs.replace(
            certificate,
            incomplete=["a fault"],
            drifts={"time read once more at agent:main": 3},
            not_restored=[f"package{number} was 1, now 2" for number in range(9)],
            normalizers=["stamps"],
            faults=["Traceback\n  somewhere\nKeyError: 'x'"],
        )
        text = certificates.text(warned)
        assert "  incomplete      a fault\n" in text
        assert "  drift           time read once more at agent:main (3 times)\n" in text
        assert "  normalizers     what these take out was not compared: stamps\n" in text
        assert "  not as it was   package0 was 1, now 2\n" in text
        assert "                  … and 3 more; -v lists them\n" in text
        assert "  faults          KeyError: 'x'\n" in text
        assert "package8 was 1, now 2" in certificates.text(warned, verbose=True)


def test_a_recorded_function_is_named_and_has_no_exit_status() -> None:
    function = msgspec.structs.replace(VERIFIED, entry="agent:answer")
    text = certificates.text(function)
    assert "  ended           without an exception, as recorded, after 400 ms" in text
    assert "  entry           agent:answer\n" in certificates.text(function, verbose=True)
    raised = msgspec.structs.replace(function, ending=Ending(0, 0, "ValueError: bad", "ValueError: bad"))
    assert "  ended           raised ValueError: bad, as recorded, after" in certificates.text(raised)


def test_more_is_told_on_request() -> None:
    text = certificates.text(VERIFIED, verbose=True)
    assert text.startswith(certificates.text(VERIFIED).rstrip())
    assert "  program         python agent.py --city 'New York'   (Python 3.12.5)\n" in text
    assert "  commit          23669e1b0c44c9998ffd4605e34246d6bc2d48fe with uncommitted changes\n" in text
    assert f"  source          agent.py  sha256 {'ab' * 32}\n" in text
    assert "  draws           57 reads of clock and randomness, answered from the tape\n" in text
    assert "  network         closed: " in text
    assert "  packages        httpx2 2.16.2, openai 3.54.0\n" in text
    assert "  credentials     placeholders for OPENAI_API_KEY\n" in text
    assert f"  tape            sha256 {'5f' * 32}, 31 pieces\n" in text.replace(",\n" + " " * 18, ", ")
    assert "  not covered     what other programs" in text


def test_a_hostile_tape_cannot_write_to_the_terminal() -> None:
    name = "\x1b[2Jpwned\x07\nVERIFIED"
    hostile = msgspec.structs.replace(
        VERIFIED,
        run=name,
        program=["python", name],
        cwd=name,
        placeholders=[name],
        drifts={name: 1},
        packages={name: name},
    )
    text = certificates.text(hostile, verbose=True)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\nVERIFIED" not in text
    assert "\x1b" not in certificates.line(hostile)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = msgspec.structs.replace(VERIFIED, program=["python", "agent.py", *("word" * 5 for _ in range(40))])
    for certificate in (wide, DIVERGED, msgspec.structs.replace(DIVERGED, observed=True)):
        assert max(map(len, certificates.text(certificate, width=width, verbose=True).splitlines())) <= width


def test_the_json_form_is_its_fields_and_the_reports_of_its_divergences() -> None:
    document = json.loads(certificates.json(DIVERGED))
    assert set(document) == set(Certificate.__struct_fields__)
    assert document["verdict"] == "diverged"
    assert document["bytes"] == {"compared": 48_213, "requests": 12_345, "answers": 35_000, "output": 868}
    assert document["divergences"][0]["expected"] == {
        "type": "datum", "kind": "exit", "name": "exit", "bytes": 13, "text": "exit status 0",
    }  # fmt: skip


# The end of a recording


def recording(*notes: tuple[Note, SiteNamed | None], status: int = 0) -> Recording:
    return Recording(
        Path("/store/agent-7f3a.tape"),
        {"run_id": "agent-7f3a"},
        notes=list(notes),
        ended=Ended(8_240_000_000, None),
        status=status,
    )


def test_the_end_of_a_recording_reads_like_this() -> None:
    assert recorded.text(recording(), 12_345) == (
        "reenact: recorded agent-7f3a: 0 events, 8.2 s, 12.3 kB\n"
        "reenact: try  reenact show last  or  reenact verify last\n"
    )


def test_what_went_past_us_is_told_even_when_quiet() -> None:
    site = SiteNamed(0, "db:connect", str(Path.cwd() / "db.py"), 12)
    notes = [(Note("unseen", f"connected to db:{port}", 0), site) for port in range(10)]
    fault = Note("fault", "Traceback (most recent call last):\nKeyError: '\x1b[2J'", -1)
    assert recorded.text(recording(*notes, (fault, None)), 0, quiet=True) == (
        "reenact: past every seam, so not on tape; replay refuses it:\n"
        + "".join(f"    connected to db:{port}  at db.py:12 in connect\n" for port in range(8))
        + "    … and 2 more\n"
        "reenact: reenact itself failed, so the tape is incomplete:\n"
        "    KeyError: '\\x1b[2J'\n"
    )


def test_how_a_program_ended_is_told_when_it_failed() -> None:
    assert "12.3 kB, killed by SIGTERM\n" in recorded.text(recording(status=-15), 12_345)
    assert "12.3 kB, exit status 3\n" in recorded.text(recording(status=3), 12_345)


# Figures


@pytest.mark.parametrize(
    ("ns", "read"),
    [
        (-1, "0 ms"), (4_400_000, "4 ms"), (999_400_000, "999 ms"), (999_600_000, "1.0 s"), (1_000_000_000, "1.0 s"),
        (59_960_000_000, "1 min 0 s"), (61_000_000_000, "1 min 1 s"), (7_500_000_000_000, "2 h 5 min"),
    ],
)  # fmt: skip
def test_durations(ns: int, read: str) -> None:
    assert seconds(ns) == read


@pytest.mark.parametrize(
    ("count", "read"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (13_700_000, "13.7 MB")],
)
def test_sizes(count: int, read: str) -> None:
    assert size(count) == read


def test_counts() -> None:
    assert [counted(number, "read of stdin") for number in (0, 1, 1200)] == [
        "0 reads of stdin", "1 read of stdin", "1,200 reads of stdin",
    ]  # fmt: skip
