"""The interpreter, played step by step: within a lane in order, across lanes in any, and never by likeness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine.boundary import Boundary, Refuse, Serve
from reenact.engine.divergence import Datum, Divergence, Request, What
from reenact.engine.normalize import SHIPPED, load
from reenact.engine.plan import RECORD, Live, Plan, replay
from reenact.tape.event import DrawKind, Kind, PartKind, SiteNamed, Stream
from reenact.tape.recording import Recording
from tests.engine.playbook import CUTS, PERFORMS, Asked, Journal, Playbook, asks, refuses, serves


def play(tape: Recording, **config: Any) -> Playbook:
    return Playbook(Boundary(replay(tape), load(config)))


def two_exchanges() -> Recording:
    journal = Journal()
    journal.exchange("POST /a", b"one")
    journal.exchange("POST /b", b"two")
    return journal.ended()


def refused(playbook: Playbook, asked: Asked) -> Divergence:
    decision = playbook.boundary.enter(*asked, None)
    assert isinstance(decision, Refuse)
    return decision.divergence


# What answers


def test_without_a_tape_the_world_answers() -> None:
    Playbook(Boundary(RECORD)) >> asks("POST /a") << PERFORMS >> asks("POST /a") << PERFORMS


def test_the_tape_answers_in_order() -> None:
    playbook = play(two_exchanges())
    playbook >> asks("POST /a", b"one") << serves(0) >> asks("POST /b", b"two") << serves(1)
    assert playbook.boundary.left() == []
    assert playbook.boundary.asked == 2


def test_a_call_beyond_the_tape_is_refused() -> None:
    playbook = play(two_exchanges()) >> asks("POST /a", b"one") << serves(0) >> asks("POST /b", b"two") << serves(1)
    playbook >> asks("POST /b", b"two") << refuses(What.EXTRA)


def test_a_lane_that_the_tape_does_not_have_is_refused() -> None:
    play(two_exchanges()) >> asks("POST /a", b"one", lane="0.1") << refuses(What.EXTRA)


def test_calls_in_another_order_are_not_looked_for() -> None:
    play(two_exchanges()) >> asks("POST /b", b"two") << refuses(What.MISMATCH, 0)


def test_after_a_refusal_the_tape_goes_on_with_the_next_event() -> None:
    play(two_exchanges()) >> asks("POST /x") << refuses(What.MISMATCH, 0) >> asks("POST /b", b"two") << serves(1)


def test_another_kind_of_call_is_refused() -> None:
    play(two_exchanges()) >> asks("sleep 1", kind=Kind.SLEEP) << refuses(What.MISMATCH, 0)


def test_a_recording_that_was_killed_cuts_where_it_ends() -> None:
    journal = Journal()
    journal.exchange("POST /a")
    play(journal.recording) >> asks("POST /a") << serves(0) >> asks("POST /b") << CUTS


def test_after_the_prefix_the_world_may_answer() -> None:
    playbook = Playbook(Boundary(Plan(two_exchanges(), Live.AFTER_PREFIX)))
    playbook >> asks("POST /a", b"one") << serves(0)
    assert playbook.boundary.left() == []
    playbook >> asks("POST /b", b"two") << serves(1) >> asks("POST /c") << PERFORMS


def test_lanes_do_not_wait_for_each_other() -> None:
    journal = Journal()
    first = journal.asked("GET /1", lane="0.1")
    second = journal.asked("GET /2", lane="0.2")
    journal.answered(second)
    journal.answered(first)
    journal.exchange("GET /3", lane="0.1")
    playbook = play(journal.ended())
    playbook >> asks("GET /1", lane="0.1") << serves(0) >> asks("GET /3", lane="0.1") << serves(2)
    playbook >> asks("GET /2", lane="0.2") << serves(1)
    assert playbook.boundary.left() == []


@given(st.data())
def test_every_interleaving_of_the_lanes_is_served(data: st.DataObject) -> None:
    """Within each lane in order, the lanes as they come: nothing is refused and nothing is left."""
    turns = [lane for lane, length in enumerate(data.draw(st.lists(st.integers(0, 5)))) for _ in range(length)]
    journal, numbers = Journal(), dict[tuple[int, int], int]()
    for lane, step in steps(data.draw(st.permutations(turns))):
        numbers[lane, step] = journal.exchange(f"GET /{lane}/{step}", lane=f"0.{lane}")
    playbook = play(journal.ended())
    for lane, step in steps(data.draw(st.permutations(turns))):
        playbook >> asks(f"GET /{lane}/{step}", lane=f"0.{lane}") << serves(numbers[lane, step])
    assert playbook.boundary.left() == []


def steps(turns: list[int]) -> list[tuple[int, int]]:
    """Each lane in `turns` with how often it had its turn before."""
    return [(lane, turns[:at].count(lane)) for at, lane in enumerate(turns)]


# What counts as the same


def test_one_other_byte_in_the_body_is_another_call() -> None:
    divergence = refused(play(two_exchanges()), asks("POST /a", b"onE"))
    assert divergence.expected == Request("POST", "/a", (), b"one")
    assert divergence.actual == Request("POST", "/a", (), b"onE")
    assert (divergence.lane, divergence.event) == ("0", 0)


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(["POST /a", "PUT /a", "POST /b"]))
def test_a_call_is_served_exactly_when_it_is_the_same(recorded: bytes, now: bytes, name: str) -> None:
    journal = Journal()
    journal.exchange("POST /a", recorded)
    decision = Boundary(replay(journal.ended()), SHIPPED).enter(*asks(name, now), None)
    assert isinstance(decision, Serve) == (recorded == now and name == "POST /a")


HEAD = (("Content-Type", "application/json"), ("Authorization", "[redacted]"), ("X-Tenant", "acme"))


@pytest.mark.parametrize(
    ("head", "same"),
    [
        (HEAD, True),
        (tuple((name.lower(), value) for name, value in reversed(HEAD)), True),
        ((*HEAD, ("User-Agent", "another/2")), True),
        ((*HEAD[:1], ("authorization", "Bearer other"), *HEAD[2:]), True),
        ((*HEAD[:2], ("X-Tenant", "other")), False),
        (HEAD[:2], False),
        ((*HEAD, ("X-Tenant", "acme")), False),
        ((*HEAD, ("X-New", "1")), False),
    ],
    ids=["same", "order-and-case", "volatile-added", "credential", "changed", "missing", "twice", "added"],
)
def test_headers_count_but_for_the_volatile_ones(head: tuple[tuple[str, str], ...], same: bool) -> None:
    journal = Journal()
    journal.exchange("POST /a", b"{}", head=HEAD)
    decision = play(journal.ended()).boundary.enter(*asks("POST /a", b"{}", head=head), None)
    assert isinstance(decision, Serve) == same


def test_a_normalizer_of_the_user_decides_what_is_compared() -> None:
    journal = Journal()
    journal.exchange("POST http://h/a", b'{"id": 1, "text": "x"}')
    playbook = play(journal.ended(), normalizers=[{"name": "id", "pointer": "/id"}])
    playbook >> asks("POST http://h/a", b'{"text": "x", "id": 2}') << serves(0)


def test_other_kinds_are_compared_whole_and_without_normalizers() -> None:
    journal = Journal()
    for _ in range(2):
        journal.got(journal.asked("sleep 0.5", kind=Kind.SLEEP), PartKind.VALUE)
    playbook = play(journal.ended(), normalizers=[{"name": "all", "regex": ".*", "replace": ""}])
    playbook >> asks("sleep 0.5", kind=Kind.SLEEP) << serves(0)
    divergence = refused(playbook, asks("sleep 0.6", kind=Kind.SLEEP))
    assert (divergence.expected, divergence.actual) == (Datum("sleep", "sleep 0.5"), Datum("sleep", "sleep 0.6"))


def test_bytes_compared_are_counted() -> None:
    playbook = play(two_exchanges()) >> asks("POST /a", b"one") << serves(0)
    assert playbook.boundary.compared == len("POST /a") + len(b"one")
    refused(playbook, asks("POST /x", b"other"))
    assert playbook.boundary.compared == len("POST /a") + len(b"one")


# Draws


def test_draws_are_served_by_lane_kind_and_place() -> None:
    journal = Journal()
    journal.drew("agent:plan", 1.0, 2.0)
    journal.drew("agent:log", 3.0)
    journal.drew("agent:plan", 4.0, lane="0.1")
    journal.drew("agent:plan", 5, kind=DrawKind.TIME_NS)
    boundary = Boundary(replay(journal.ended()))
    assert boundary.draw("0", DrawKind.TIME, "agent:log") == 3.0
    assert boundary.draw("0", DrawKind.TIME, "agent:plan") == 1.0
    assert boundary.draw("0.1", DrawKind.TIME, "agent:plan") == 4.0
    assert boundary.draw("0", DrawKind.TIME_NS, "agent:plan") == 5
    assert boundary.draw("0", DrawKind.TIME, "agent:plan") == 2.0


def test_a_draw_too_many_and_one_at_an_unknown_place_are_none() -> None:
    journal = Journal()
    journal.drew("agent:plan", 1.0)
    boundary = Boundary(replay(journal.ended()))
    boundary.draw("0", DrawKind.TIME, "agent:plan")
    assert boundary.draw("0", DrawKind.TIME, "agent:plan") is None
    assert boundary.draw("0", DrawKind.TIME, "agent:other") is None
    assert boundary.draw("0.7", DrawKind.TIME, "agent:plan") is None
    assert Boundary(RECORD).draw("0", DrawKind.TIME, "agent:plan") is None


def test_a_recording_is_not_used_up_by_its_replay() -> None:
    journal = Journal()
    journal.drew("agent:plan", 1.0, 2.0)
    tape = journal.ended()
    for _ in range(2):
        boundary = Boundary(replay(tape))
        assert [boundary.draw("0", DrawKind.TIME, "agent:plan") for _ in range(3)] == [1.0, 2.0, None]


# Output


def written(*data: bytes, ended: bool = True) -> Boundary:
    journal = Journal()
    for each in data:
        journal.wrote(each)
    return Boundary(replay(journal.ended() if ended else journal.recording))


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=6), st.data())
def test_the_same_output_in_other_pieces_is_the_same(pieces: list[bytes], data: st.DataObject) -> None:
    boundary, rest = written(*pieces), b"".join(pieces)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        assert boundary.wrote("0", Stream.STDOUT, rest[:size], None) is None
        rest = rest[size:]
    assert boundary.left() == []


def test_other_output_is_told_with_its_line() -> None:
    boundary = written(b"first\nthe answer is 42\nlast\n")
    assert boundary.wrote("0", Stream.STDOUT, b"first\nthe answer ", None) is None
    divergence = boundary.wrote("0", Stream.STDOUT, b"is 43\n", None)
    assert divergence is not None
    assert divergence.what is What.OUTPUT
    assert divergence.expected == Datum("stdout", "stdout", b"the answer is 42\n")
    assert divergence.actual == Datum("stdout", "stdout", b"the answer is 43\n")


def test_a_line_that_is_not_written_to_its_end_differs_in_what_is_there() -> None:
    divergence = written(b"the answer is 42\nlast\n").wrote("0", Stream.STDOUT, b"the answer is 43", None)
    assert divergence is not None
    assert divergence.expected == Datum("stdout", "stdout", b"the answer is 42")
    assert divergence.actual == Datum("stdout", "stdout", b"the answer is 43")


def test_other_output_is_told_with_the_event_before_it() -> None:
    journal = Journal()
    journal.wrote(b"before\n")
    for name in ("POST /a", "POST /b"):
        journal.exchange(name)
    journal.exchange("POST /c", lane="0.1.1")
    boundary = Boundary(replay(journal.ended()))

    def after(lane: str) -> int | None:
        divergence = boundary.wrote(lane, Stream.STDERR, b"x", None)
        assert divergence is not None
        return divergence.after

    assert after("0") is None
    play_on = Playbook(boundary) >> asks("POST /a") << serves(0)
    assert (after("0"), after("0.1.1")) == (0, 0)
    play_on >> asks("POST /b") << serves(1) >> asks("POST /c", lane="0.1.1") << serves(2)
    assert (after("0"), after("0.1"), after("0.1.1"), after("0.1.1.7")) == (1, 1, 2, 2)


def test_the_streams_are_compared_apart() -> None:
    journal = Journal()
    journal.wrote(b"out")
    journal.wrote(b"err", Stream.STDERR)
    boundary = Boundary(replay(journal.ended()))
    assert boundary.wrote("0", Stream.STDERR, b"err", None) is None
    assert boundary.wrote("0", Stream.STDOUT, b"out", None) is None


def test_output_beyond_the_recorded_one_differs() -> None:
    boundary = written(b"all\n")
    assert boundary.wrote("0", Stream.STDOUT, b"all\n", None) is None
    assert boundary.wrote("0", Stream.STDOUT, b"more", None) is not None


def test_output_of_a_killed_recording_may_go_on() -> None:
    boundary = written(b"as far as", ended=False)
    assert boundary.wrote("0", Stream.STDOUT, b"as far as it got", None) is None
    assert boundary.wrote("0", Stream.STDOUT, b"and on", None) is None
    assert written(b"as far as", ended=False).wrote("0", Stream.STDOUT, b"is far as it got", None) is not None


def test_output_that_was_not_written_is_left() -> None:
    boundary = written(b"one\n", b"two\n")
    boundary.wrote("0", Stream.STDOUT, b"one\n", None)
    (divergence,) = boundary.left()
    assert divergence.what is What.OUTPUT
    assert divergence.expected == Datum("stdout", "stdout", b"two\n")
    assert divergence.actual == Datum("stdout", "stdout")


# What is left


def test_calls_that_were_not_made_are_left() -> None:
    journal = Journal()
    journal.exchange("POST /a", b"one")
    journal.add(SiteNamed(7, "agent:Planner.step", "/home/agent.py", 42))
    journal.exchange("POST /b", b"two", lane="0.1")
    tape = journal.ended()
    tape.events[1].site = SiteNamed(7, "agent:Planner.step", "/home/agent.py", 42)
    playbook = play(tape) >> asks("POST /a", b"one") << serves(0)
    (missing,) = playbook.boundary.left()
    assert (missing.what, missing.lane, missing.event) == (What.MISSING, "0.1", 1)
    assert missing.expected == Request("POST", "/b", (), b"two")
    assert missing.site is not None
    assert (missing.site.file, missing.site.line, missing.site.function) == ("/home/agent.py", 42, "Planner.step")
