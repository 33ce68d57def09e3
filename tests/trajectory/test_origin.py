"""Where a text came from, in passages that are made: what a run of an agent would hold by accident only."""

import pytest

from reenact.trajectory.origin import Start, Verdict, origin
from reenact.trajectory.passage import Passage, Source, Way


def found(text: str, drawn: str) -> Verdict:
    chance = Passage(Way.IN, Source.CHANCE, "entropy", drawn, 1)
    said = Passage(Way.OUT, Source.OUTPUT, "stdout", f"The number is {text}.", 2)
    return origin(text, [chance, said], [], Start()).verdict


ID = "0f3a19c2-77de-4200-9b1c-5a6d7e8f9012"


@pytest.mark.parametrize("text", ["4200", "77de"])
def test_a_group_of_four_of_a_drawn_id_is_there_by_accident(text: str) -> None:
    assert found(text, f"{ID}\n{ID.upper()}") == Verdict.PROGRAM


@pytest.mark.parametrize("text", [ID, "0f3a19c2", "5a6d7e8f9012"])
def test_what_programs_cut_from_an_id_was_drawn(text: str) -> None:
    assert found(text, f"{ID}\n{ID.replace('-', '')}") == Verdict.CAME


@pytest.mark.parametrize("drawn", ["4200", "17\n4200", "4200\n17", "17\n4200\n18"])
def test_a_whole_value_is_enough_however_short(drawn: str) -> None:
    assert found("4200", drawn) == Verdict.CAME
