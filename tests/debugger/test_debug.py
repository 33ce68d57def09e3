"""`reenact debug`: at a terminal, from a pipe, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from reenact.report.terminal import columns
from reenact.testing import Call, ModelServer, Say, Turn
from tests.cli.desk import Desk
from tests.debugger.terminal import Terminal, processes_in
from tests.runs import Bench, Run, settings

PLAIN = """\
import json
from openai import OpenAI

TOOL = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}

def book(city, nights):
    if nights > 30:
        raise ValueError(f"{nights} nights")
    return {"city": city, "price": 90 * nights}

def trim(messages):
    if len(messages) > 5:
        messages[1]["content"] = "(left out)"

def main():
    client = OpenAI(max_retries=0)
    messages = [{"role": "system", "content": "You book."}, {"role": "user", "content": "A room, please."}]
    while True:
        message = client.chat.completions.create(model="gpt-5", messages=messages, tools=[TOOL]).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            try:
                result = book(**json.loads(call.function.arguments))
            except ValueError as error:
                result = {"error": str(error)}
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        trim(messages)
    while messages:
        messages.pop()
    return messages[0]

main()
"""
RAISES, TRIMS, ASKS, LAST = 8, 13, 19, 32
NIGHTS = [2, 40, 3, 4]


def books(turn: Turn) -> Call | Say:
    done = sum(message.role == "assistant" for message in turn.messages)
    return Call("book", {"city": "Oslo", "nights": NIGHTS[done]}) if done < len(NIGHTS) else Say("Done.")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A plain agent on the official SDK: four bookings, and a message that is lost on the way."""
    bench = Bench(tmp_path_factory.mktemp("plain"))
    with ModelServer(books) as server:
        return bench.record(PLAIN, env=settings(server))


@pytest.fixture
def desk(recorded: Run) -> Desk:
    return Desk(recorded.bench.folder)


@pytest.fixture
def terminal(desk: Desk) -> Iterator[Terminal]:
    terminal = Terminal(desk.folder, desk.environment({"HOME": str(desk.folder), "COLUMNS": "100"}), "debug", "last")
    terminal.until("begin> ")
    yield terminal
    terminal.kill()


def answers(desk: Desk, *commands: str, status: int = 0) -> list[dict[str, Any]]:
    """What `reenact debug --json` says to commands, without its first words."""
    done = desk.reenact("debug", "last", "--json", said="\n".join(commands))
    assert done.returncode == status, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["command"] for one in told] == ["info", *commands]
    return told[1:]


def where(told: dict[str, Any]) -> tuple[int, int]:
    """The step and the line where one has come to."""
    position = told["position"]
    return position["step"], position["place"]["line"]


def test_goes_through_a_run_by_steps_tools_texts_and_values(desk: Desk) -> None:
    told = answers(
        desk,
        "j 3",
        "p len(messages)",
        "b tool book",
        "rc",
        "b book if nights == 4",
        "delete 1",
        "c",
        "up",
        'when messages[1]["content"]',
        "find left out",
        "raised",
        "j 2",
        "when messages",
    )
    assert where(told[0]) == (3, ASKS)
    assert told[1]["result"]["text"] == "6"
    assert told[3]["result"]["stop"]["numbers"] == [1]
    assert told[3]["position"]["step"] == 2
    assert told[6]["result"]["stop"]["numbers"] == [2]
    assert told[6]["position"]["step"] == 4
    assert (where(told[8]), told[8]["result"]["stop"]["why"]) == ((2, TRIMS), "watch")
    assert told[8]["result"]["stop"]["text"] == "'A room, please.' → '(left out)'"
    assert (told[9]["result"]["told"]["step"], told[9]["position"]["step"]) == (3, 3)
    assert where(told[10]) == (5, LAST)
    assert "IndexError" in told[10]["result"]["stop"]["text"]
    assert told[12]["result"]["stop"]["text"].startswith("[3] is new: {'role': 'tool', ")


def test_a_breakpoint_says_where_it_really_is(desk: Desk) -> None:
    told = answers(desk, "b agent.py:5", "b nowhere.py:4", "tb 12 if len(messages) > 7", "c", "c", "b")
    notes = [one["result"]["note"] for one in told[:3]]
    assert (notes[0], notes[2]) == ("line 5 has no code: it is at 6", "")
    assert "no such file is found" in notes[1]
    assert [one["result"]["stop"]["numbers"] for one in told[3:5]] == [[1], [3]]
    assert where(told[4]) == (3, TRIMS - 1)
    assert [point["number"] for point in told[5]["result"]["points"]] == [1, 2]


def test_a_command_that_fails_says_why_and_ends_a_script_with_1(desk: Desk) -> None:
    told = answers(desk, "j 9", "p nobody", "b 99", "b tool fly", "lane 0.7", "nonsense", "due 1 x", "u", status=1)
    wanted = [
        "steps 1 to 5",
        "go on first",
        "last is",
        "calls book",
        "no lane 0.7",
        "no command",
        "no breakpoint 1",
        "",
    ]
    for one, words in zip(told, wanted, strict=True):
        assert words in one["error"]


def test_at_a_terminal_one_sees_where_one_is(desk: Desk, terminal: Terminal) -> None:
    assert "step 1  gpt-5  calls book" in terminal.screen
    assert "begin" in terminal.says("bs")
    shown = terminal.says("j 2")
    assert "step 2  gpt-5  calls book" in shown
    assert f"→ {ASKS} │" in shown
    assert f"step 2 · agent.py:{ASKS}" in shown
    assert f"→ {ASKS + 1} │" in terminal.says("n")
    assert f"→ {ASKS + 2} │" in terminal.says("")
    assert f"→ {ASKS + 1} │" in terminal.says("rn")
    assert "nights" in terminal.says("p 'nigh' + 'ts'")
    terminal.press(b"p cli\t")
    terminal.until("p client")
    sleep(0.5)  # Python's input() does not see a signal between what it draws and its wait for the next key
    terminal.press(b"\x03")
    terminal.until("> ")
    assert "calls book" in terminal.says("steps")
    assert "It ended by IndexError" in terminal.says("c")
    assert "Raised: IndexError" in terminal.says("raised")
    terminal.press(b"q\n")
    assert terminal.status() == 0
    history = desk.folder / ".local" / "state" / "reenact" / "debug_history"
    assert "raised" in history.read_text().splitlines()


def test_ctrl_c_ends_what_goes_on_and_one_is_where_one_was(terminal: Terminal) -> None:
    terminal.says("j 2")
    terminal.says("b book if sum(range(10**11))")
    terminal.press(b"c\n")
    sleep(2)
    terminal.press(b"\x03")
    assert "interrupted" in terminal.until("> ")
    assert f"→ {ASKS}" in terminal.says("l")
    terminal.says("delete")
    assert f"→ {ASKS + 1} │" in terminal.says("n")
    assert "The end" in terminal.says("c")


def test_a_killed_debugger_leaves_no_process_behind(desk: Desk, terminal: Terminal) -> None:
    terminal.says("j 4")
    terminal.says("bs")
    assert len(processes_in(desk.folder)) > 1
    terminal.kill()
    deadline = monotonic() + 30
    while (left := processes_in(desk.folder)) and monotonic() < deadline:
        sleep(0.1)
    assert not left


def test_commands_come_from_options_files_and_pipes(desk: Desk) -> None:
    (desk.folder / "commands").write_text("# a comment\nj 2\nn\n")
    done = desk.reenact("debug", "last@1", "-x", "commands", "-e", "p 6 * 7")
    assert done.returncode == 0, done.stderr
    assert f"step 1 · agent.py:{ASKS}> p 6 * 7\n  42\n" in done.stdout
    assert f"step 2 · agent.py:{ASKS}> n" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(columns, done.stdout.splitlines())) <= 100
    piped = desk.reenact("debug", "last", said="j 2\nq\nj 99\n")
    assert (piped.returncode, piped.stdout.count("> j 99")) == (0, 0)


def test_misuse_is_told(desk: Desk) -> None:
    done = desk.reenact("debug", "last@2", "--step", "3")
    assert (done.returncode, "one place to begin at" in done.stderr) == (2, True)
    done = desk.reenact("debug", "nothing")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    done = desk.reenact("debug", "last", "--step", "77")
    assert (done.returncode, "there is no step 77: the run has steps 1 to 5" in done.stderr) == (2, True)


def test_the_agent_that_has_changed_is_told_of(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / ".reenact").mkdir()
    bench = Bench(tmp_path)
    with ModelServer(books) as server:
        bench.record(PLAIN, env=settings(server))
    (tmp_path / "agent.py").write_text(PLAIN.replace("A room, please.", "Two rooms, please."))
    done = desk.reenact("debug", "last", "-e", "j end")
    told = " ".join(done.stdout.split())
    assert "the replay has left its tape (it asked something else)" in told
    assert f"reenact verify {bench.store.ids()[0]}" in told


WRITES = """
import sys
def work(n):
    print("working on", n)
    print(f"\\x1b[31mred {n}", file=sys.stderr)
    return n

for n in range(3):
    work(n)
for n in range(3000):
    print("line", n)
print("é" * 200, "without an end", end="")
"""


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A program that writes."""
    bench = Bench(tmp_path_factory.mktemp("writing"))
    bench.record(WRITES)
    return Desk(bench.folder)


def _pieces(told: dict[str, Any]) -> list[tuple[str, str]]:
    wrote = told["result"].get("wrote", told["result"])
    return [(piece["stream"], piece["text"]) for piece in wrote["pieces"]]


def test_what_the_program_has_written_since_is_told_at_each_stop(writing: Desk) -> None:
    commands = (
        "b work",
        "c",
        "c",
        "output",
        "c",
        "output",
        "rc",
        "output",
        "n",
        "n",
        "output",
        "j end",
        "output",
        "output all",
    )
    told = answers(writing, *commands)
    one, two = ([("stdout", f"working on {n}\n"), ("stderr", f"\x1b[31mred {n}\n")] for n in (0, 1))
    assert [_pieces(each) for each in told[1:11]] == [
        [],
        one,
        one,
        two,
        one + two,
        [],
        one,
        two[:1],
        two[1:],
        one + two,
    ]
    rest = [("stdout", "working on 2\n"), ("stderr", "\x1b[31mred 2\n")]
    every = "".join(f"line {n}\n" for n in range(3000)) + "é" * 200 + " without an end"
    at_stop, asked, all_of_it = (each["result"].get("wrote", each["result"]) for each in told[11:])
    assert at_stop["pieces"] == [{"stream": "stdout", "text": every[-2000:]}]
    assert at_stop["left_out"] == sum(len(text) for _, text in rest) + len(every) - 2000
    assert asked["pieces"][-1]["text"] == every[-20_000:]
    assert _pieces({"result": all_of_it}) == [*one, *two, *rest, ("stdout", every)]
    assert all_of_it["left_out"] == 0


def test_what_the_program_writes_is_marked_and_has_no_escapes(writing: Desk) -> None:
    done = writing.reenact(
        "debug", "last", *(part for word in ("b work", "c", "c", "j end", "output") for part in ("-e", word))
    )
    assert done.returncode == 0, done.stderr
    first, _, later = done.stdout.partition("> j end\n")
    assert "> c\n  stdout │ working on 0\n  stderr │ \\x1b[31mred 0\nBreakpoint 1\n" in first
    at_stop, _, asked = later.partition("> output\n")
    assert at_stop.startswith("  … and more before this: `output` shows it\n  stdout │ line 2989\n")
    assert at_stop.count("│") == 12
    assert asked.startswith("  … and ")
    assert " letters before this: `output all` shows them\n" in asked
    assert "\x1b" not in done.stdout
    assert asked.endswith(f"  stdout │ {'é' * 200} without an end\n")


def test_the_end_has_all_that_the_process_has_written_and_no_more(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    program = """
        import atexit, threading
        atexit.register(print, "at exit")
        print("one", flush=True)
        thread = threading.Thread(target=print, args=("in a thread",))
        thread.start(); thread.join()
        raise ValueError(3)
    """
    run = bench.record(program)
    (told,) = answers(Desk(tmp_path), "j end")
    for stream, data in ((1, run.stdout), (2, run.stderr)):
        name = "stdout" if stream == 1 else "stderr"
        found = [line for one, text in _pieces(told) if one == name for line in text.splitlines()]
        assert sorted(found) == sorted(data.decode().splitlines())
    (tmp_path / "agent.py").write_text("print('one', flush=True)")
    (told,) = answers(Desk(tmp_path), "j end")
    assert _pieces(told) == [("stdout", "one\n")]
