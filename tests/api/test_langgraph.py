"""A checkpointer of LangGraph whose history is the tape, with the real library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reenact.errors import TapeCorruptError
from reenact.langgraph import STORE, Saver
from reenact.tape.close import close
from reenact.tape.event import Exited, Stored
from reenact.tape.reader import outline
from reenact.tape.writer import TapeWriter
from reenact.testing import ModelServer, Say, Turn
from tests.launch.test_resume import Killer, last, resume
from tests.runs import Bench, Run, settings
from tests.tape.records import journal

GRAPH = """
    import asyncio, json, operator, os, sys
    from typing import Annotated, TypedDict
    import openai
    from langgraph.graph import END, START, StateGraph
    from reenact.langgraph import Saver

    class State(TypedDict):
        asked: Annotated[list, operator.add]
        said: Annotated[list, operator.add]
        trace: Annotated[list, operator.add]

    def think(state):
        client = openai.OpenAI(default_headers={"x-pid": str(os.getpid())}, max_retries=0)
        asked = [{"role": "user", "content": state["asked"][-1]}]
        return {"said": [client.chat.completions.create(model="m", messages=asked).choices[0].message.content]}

    def note(name):
        return lambda state: {"trace": [name]}

    def graph(saver):
        builder = StateGraph(State)
        builder.add_node("think", think)
        for name in ("a", "b"):
            builder.add_node(name, note(name))
            builder.add_edge(START, name)
            builder.add_edge(name, "think")
        builder.add_edge("think", END)
        return builder.compile(checkpointer=saver)

    def told(history):
        return [[one.config["configurable"]["checkpoint_id"], one.values, list(one.next), one.metadata["step"]] for one in history]
"""
AGENT = (
    GRAPH
    + """
    config = {"configurable": {"thread_id": "ada"}}
    app = graph(Saver())
    for question in ("one", "two", "three"):
        print(app.invoke({"asked": [question]}, config)["said"], flush=True)
    print(json.dumps(told(app.get_state_history(config))))
"""
)
ASYNC = (
    GRAPH
    + """
    async def main():
        app = graph(Saver())
        configs = [{"configurable": {"thread_id": name}} for name in ("ada", 7)]
        await asyncio.gather(*(app.ainvoke({"asked": [str(n)]}, config) for n, config in enumerate(configs)))
        print(json.dumps([told([one async for one in app.aget_state_history(config)]) for config in configs]))
    asyncio.run(main())
"""
)
LOOKS = (
    GRAPH
    + """
    app = graph(Saver.of(sys.argv[1]))
    print(json.dumps(told(app.get_state_history({"configurable": {"thread_id": "ada"}}))))
"""
)
GOES_ON = (
    GRAPH
    + """
    saver = Saver.of(sys.argv[1])
    app = graph(saver)
    config = {"configurable": {"thread_id": "ada"}}
    found = next(one for one in app.get_state_history(config) if one.next == ("think",) and one.values["asked"] == ["one", "two"])
    other = app.update_state(found.config, {"asked": ["another"]}, as_node="a")
    print(app.invoke(None, other)["said"])
    print(json.dumps(told(app.get_state_history(config))))
"""
)


def says(turn: Turn) -> Say:
    return Say(f"answer to {turn.prompt}")


@pytest.fixture
def run(bench: Bench) -> Run:
    """An agent that is asked three times in one thread."""
    with ModelServer(says) as server:
        run = bench.record(AGENT, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    return run


def history(text: str) -> Any:
    return json.loads(text.splitlines()[-1])


def test_the_history_is_on_tape_and_a_replay_makes_it_again(bench: Bench, run: Run) -> None:
    run.reproduced()
    assert len(history(run.text)) == 12  # for each question its input, where it is asked, and what came
    looked = bench.run(bench.write(LOOKS), run.path.stem)
    assert looked.status == 0, looked.stderr.decode()
    assert history(looked.stdout.decode()) == history(run.text)
    assert {one.store for one in run.tape.stored} == {STORE}
    assert outline(run.path).stored == []


def test_without_reenact_it_is_a_checkpointer_like_any(bench: Bench) -> None:
    with ModelServer(says) as server:
        plain = bench.plain(AGENT, env=settings(server))
    assert plain.status == 0, plain.stderr.decode()
    assert len(history(plain.stdout.decode())) == 12


def test_one_goes_on_from_a_state_of_a_recorded_run(bench: Bench, run: Run) -> None:
    with ModelServer(says) as server:
        went = bench.record(GOES_ON, run.path.stem, env=settings(server))
        assert went.status == 0, went.stderr.decode()
        assert len(server.requests) == 1
    assert went.text.splitlines()[0] == "['answer to one', 'answer to another']"
    assert [one for one in history(went.text) if one in history(run.text)] == history(run.text)
    # what it goes on from is on its own tape, so that the other need not be there
    run.path.unlink()
    went.verified()
    looked = bench.run(bench.write(LOOKS), went.path.stem)
    assert history(looked.stdout.decode()) == history(went.text)


def test_tasks_and_several_threads(bench: Bench) -> None:
    with ModelServer(says) as server:
        run = bench.record(ASYNC, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    run.reproduced()
    looked = bench.run(bench.write(LOOKS), run.path.stem)
    assert history(looked.stdout.decode()) == history(run.text)[0]
    looked = bench.run(bench.write(LOOKS.replace('"ada"', "7")), run.path.stem)
    assert history(looked.stdout.decode()) == history(run.text)[1]


def test_resumed_runs_and_branches_have_all_of_it_once(bench: Bench) -> None:
    with ModelServer(Killer(1)) as server:
        killed = bench.record(AGENT, env=settings(server))
        resumed = last(bench, resume(bench, "--retry", server=server))
        branch = bench.run("-m", "reenact", "fork", "last", "--live", "--step", "3", env=settings(server))
    assert branch.status == 0, branch.stderr.decode()
    newest = branch.stderr.decode().rpartition("recorded ")[2].partition(":")[0]
    looked = bench.run(bench.write(LOOKS), killed.path.stem)
    assert 0 < len(history(looked.stdout.decode())) < 12
    for run_id, text in ((resumed.path.stem, resumed.text), (newest, branch.stdout.decode())):
        looked = bench.run(bench.write(LOOKS), run_id)
        assert history(looked.stdout.decode()) == history(text)
    bench.write(AGENT)
    for run_id in (resumed.path.stem, newest):
        verified = bench.run("-m", "reenact", "verify", run_id)
        assert verified.status == 0, verified.stdout.decode()
    stored = [one.data for one in resumed.tape.stored]
    assert len(stored) == len(set(stored))


def test_a_thread_that_was_deleted_is_not_there(bench: Bench) -> None:
    program = AGENT + "    app.checkpointer.delete_thread('ada')\n"
    with ModelServer(says) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    looked = bench.run(bench.write(LOOKS), run.path.stem)
    assert history(looked.stdout.decode()) == []


def test_a_value_that_is_long_is_whole(bench: Bench) -> None:
    program = AGENT.replace("[question]", "[question + '.' * 3_000_000]").replace(
        "    print(json.dumps", "    open('told', 'w').write(json.dumps"
    )
    with ModelServer(says) as server:
        run = bench.record(program, env=settings(server))
    assert run.status == 0, run.stderr.decode()
    looked = bench.run(bench.write(LOOKS), run.path.stem)
    assert history(looked.stdout.decode()) == json.loads((bench.folder / "told").read_text())


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x92\xa3put\x01", b"\x91\xa4gone"])
def test_junk_of_a_stranger_is_told(bench: Bench, data: bytes) -> None:
    run = bench.record("print(1)")
    records = journal(run.path)
    path = run.path.with_name("forged.tape")
    writer = TapeWriter.create(path, "forged", "forged", 0)
    for record in records[:-1]:
        writer.add(record)
    writer.add(Stored(0, STORE, data))
    writer.close()
    close(path, next(record.status for record in records if isinstance(record, Exited)))
    with pytest.raises(TapeCorruptError, match="cannot be read"):
        Saver.of(str(path))
