"""What the model says to every program: it looks two places up at once, books one, looks again, and answers."""

from __future__ import annotations

import json
import re

from reenact.testing import Call, Calls, Reply, Say, Turn

CITIES = ("Oslo", "Bergen")
LOOK, BOOK, HAND_OVER, FINAL = "look_up", "book", "transfer_to_booker", "final_answer"


COMMANDS = (
    "wc -l tools.py",
    "wc -l < tools.py > count.txt; date +%s.%N > when.txt",
    "cat count.txt when.txt",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat count.txt",
)
REACT = (
    (LOOK, {"city": CITIES[0]}),
    (LOOK, {"city": CITIES[1]}),
    (BOOK, {"city": CITIES[0], "hour": 20}),
    ("finish", {}),
)


def policy(turn: Turn) -> Reply:
    """What the model says next: as a tool's call where it can, in the words of the framework where that has its own."""
    asked = turn.messages[0].text + turn.prompt
    if "bash" in turn.tools:
        done = sum(call.name == "bash" for message in turn.messages for call in message.calls)
        return Call("bash", {"command": COMMANDS[min(done, len(COMMANDS) - 1)]})
    if "[[ ## next_tool_name ## ]]" in asked:
        return _react(turn)
    if "[[ ## answer ## ]]" in asked:
        return Say(_fields(reasoning="It is all done.", answer="The evening is planned."))
    return _four_steps(turn)


def _react(turn: Turn) -> Reply:
    """DSPy's ReAct."""
    done = len(re.findall(r"observation_(\d+)", turn.prompt))
    name, arguments = REACT[min(done, len(REACT) - 1)]
    return Say(_fields(next_thought=f"Now {name}.", next_tool_name=name, next_tool_args=json.dumps(arguments)))


def _fields(**fields: str) -> str:
    texts = [f"[[ ## {name} ## ]]\n{text}" for name, text in fields.items()]
    return "\n\n".join([*texts, "[[ ## completed ## ]]"])


def _four_steps(turn: Turn) -> Reply:
    """The next of four steps, by how many tools have answered."""
    answers = [result for message in turn.messages for result in message.results]
    names = [call.name for message in turn.messages for call in message.calls]
    if FINAL in turn.tools:  # smolagents tells its model in words which tools were called
        names = [name for message in turn.messages for name in re.findall(r"'name': '(\w+)'", message.text)]
    if HAND_OVER in turn.tools and HAND_OVER not in names:
        return Call(HAND_OVER, {})
    done = [name for name in names if name in (LOOK, BOOK)]
    if not done:
        return Calls(tuple(Call(LOOK, {"city": city}) for city in CITIES))
    if BOOK not in done:
        return Call(BOOK, {"city": CITIES[0], "hour": 20})
    if done.count(LOOK) < len(CITIES) + 1:
        return Call(LOOK, {"city": CITIES[0]})
    answer = f"It is done, after {len(answers)} answers: {answers[-1].text[:60] if answers else ''}"
    return Call(FINAL, {"answer": answer}) if FINAL in turn.tools else Say(answer)
