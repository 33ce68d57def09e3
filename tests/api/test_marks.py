"""What a program says of itself: agents and steps on tape where they were, in every sort of strand, and replayed."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

import reenact
from reenact.errors import UsageError
from reenact.tape.event import MarkKind, Part
from reenact.tape.reader import records
from reenact.tape.recording import Recording
from reenact.testing import ModelServer, Say
from tests.runs import Bench, Run, settings

STRANDS = """
    import asyncio, contextvars, threading, time
    from concurrent.futures import ThreadPoolExecutor
    import reenact

    def nap(number):
        time.sleep(number / 10000)

    @reenact.agent("decorated", role="naps")
    async def decorated(number):
        await asyncio.to_thread(nap, number)
        with reenact.step("inner"):
            nap(number + 1)

    @reenact.step
    def numbers():
        nap(20)
        yield 1
        with reenact.step("within a generator"):
            nap(21)
            yield 2
            nap(22)

    @reenact.step("stream")
    async def stream():
        for number in (30, 31):
            nap(number)
            yield number

    class Worker:
        @reenact.step
        @classmethod
        def make(cls):
            nap(40)
            return cls()

        @reenact.step("work")
        def work(self):
            nap(41)

    async def main():
        async with reenact.agent("planner"):
            late = asyncio.create_task(decorated(10))
            with reenact.step("gathering"):
                await asyncio.gather(decorated(12), decorated(14))
            await late
            later = asyncio.create_task(asyncio.to_thread(nap, 16))
            asyncio.get_running_loop().call_soon(nap, 17)
        nap(18)  # outside, though a task that was begun inside goes on
        await later
        async for _ in stream():
            nap(32)

    with reenact.agent("main", role="everything"):
        nap(1)
        with reenact.agent("pool"), ThreadPoolExecutor(2) as pool:
            list(pool.map(nap, (2, 3, 4)))
        thread = threading.Thread(target=nap, args=(5,))
        thread.start()
        thread.join()
    nap(6)
    for _ in numbers():
        nap(23)
    nap(24)
    Worker.make().work()
    asyncio.run(main())
    outer, inner = reenact.step("outer"), reenact.step("inner")
    outer.__enter__(), inner.__enter__()
    outer.__exit__(None, None, None)  # not the innermost
    nap(50)
    inner.__exit__(None, None, None)
    nap(51)
    shared = reenact.step("shared")
    with shared:
        with shared:
            nap(52)
        nap(53)
    other = contextvars.copy_context()
    elsewhere = reenact.step("elsewhere")
    other.run(elsewhere.__enter__)
    nap(54)
    other.run(nap, 55)
    elsewhere.__exit__(None, None, None)
    print("done")
"""

WHERE = {
    1: "main", 2: "main/pool", 3: "main/pool", 4: "main/pool", 5: "main", 6: "",
    10: "planner/decorated", 11: "planner/decorated/inner",
    12: "planner/gathering/decorated", 13: "planner/gathering/decorated/inner",
    14: "planner/gathering/decorated", 15: "planner/gathering/decorated/inner",
    16: "planner", 17: "planner", 18: "",
    20: "numbers", 21: "numbers/within a generator", 22: "numbers/within a generator", 23: "", 24: "",
    30: "stream", 31: "stream", 32: "", 40: "make", 41: "work",
    50: "outer/inner", 51: "", 52: "shared/shared", 53: "shared", 54: "", 55: "elsewhere",
}  # fmt: skip


def path(tape: Recording, number: int) -> str:
    names: list[str] = []
    while number >= 0:
        names.insert(0, tape.marks[number].name)
        number = tape.marks[number].within
    return "/".join(names)


def where(tape: Recording) -> dict[int, str]:
    """The marks around each nap."""
    naps = [event for event in tape.events if event.name.startswith("sleep ")]
    return {round(float(event.name.partition(" ")[2]) * 10000): path(tape, event.mark) for event in naps}


def test_what_is_done_in_every_sort_of_strand_is_where_it_was_begun(bench: Bench) -> None:
    run = bench.record(STRANDS)
    assert run.text == "done\n", run.stderr.decode()
    assert where(run.tape) == WHERE
    assert all(mark.ended is not None and mark.ended >= mark.began for mark in run.tape.marks)
    roles = {mark.name: mark.attributes for mark in run.tape.marks if mark.attributes}
    assert roles == {"main": {"role": "everything"}, "decorated": {"role": "naps"}}
    run.reproduced()


UNMARKED = """
class step:
    def __new__(cls, what="", **attributes):
        return object.__new__(cls) if isinstance(what, str) else what

    def __enter__(self): pass

    def __exit__(self, *error): pass

    async def __aenter__(self): pass

    async def __aexit__(self, *error): pass

    def __call__(self, function): return function

agent = step
"""


def test_marks_are_no_events_and_no_ticks(bench: Bench) -> None:
    run = bench.record(STRANDS)
    (bench.folder / "unmarked.py").write_text(UNMARKED)
    without = bench.record(STRANDS.replace("import reenact\n", "import unmarked as reenact\n"))
    assert without.text == "done\n"
    assert not without.tape.marks
    assert {path: [event.name for event in lane.events] for path, lane in run.tape.lanes.items()} == {
        path: [event.name for event in lane.events] for path, lane in without.tape.lanes.items()
    }
    ticks = [sum(isinstance(tick, Part) for tick in one.tape.ticks) for one in (run, without)]
    assert ticks[0] == ticks[1] == len(run.tape.events)


IN_CODE = """
    import asyncio, time
    from concurrent.futures import ThreadPoolExecutor
    import reenact

    @reenact.agent("helper")
    async def help_with(number):
        await asyncio.to_thread(time.sleep, number / 10000)

    @reenact.record("trip", session=lambda city: f"trip to {city}")
    @reenact.agent("planner", role="plans")
    async def trip(city):
        with reenact.step("ask around", city=city):
            await asyncio.gather(help_with(1), help_with(2))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(time.sleep, (0.0003, 0.0004)))
        return reenact.current_run()

    @reenact.record
    @reenact.step("stream")
    def stream():
        for number in (5, 6):
            time.sleep(number / 10000)
            yield reenact.current_run()

    async def main():
        return await asyncio.gather(trip("Oslo"), trip("Rome"))

    if __name__ == "__main__":
        with reenact.agent("in no run"):
            print(*asyncio.run(main()), *set(stream()), reenact.current_run())
        with reenact.record("block") as run, reenact.step("one"):
            time.sleep(0.0007)
"""


def test_runs_in_code_have_marks_of_their_own_and_replay(bench: Bench) -> None:
    done = bench.plain(IN_CODE)
    assert done.status == 0, done.stderr.decode()
    said = done.stdout.decode().split()
    assert said[-1] == "None"
    assert sorted(said[:-1]) == [run for run in bench.store.ids() if not run.startswith("block")]
    found = {}
    for run_id in bench.store.ids():
        run = Run(bench, bench.store.path(run_id), done)
        run.verified()
        found[run_id.rpartition("-")[0]] = where(run.tape)
    helped = "planner/ask around/helper"
    assert found == {
        "trip": {1: helped, 2: helped, 3: "planner", 4: "planner"},
        "stream": {5: "stream", 6: "stream"},
        "block": {7: "one"},
    }


DRIFTING = """
    import ctypes, time
    import reenact

    def look(number):
        with reenact.step(f"look from {ctypes.CDLL(None).getpid()}"):  # as C code sees it
            time.sleep(number / 10000)

    def begin():
        reenact.session("first")
        reenact.tag(build=1)

    def wait():
        with reenact.step("wait"):
            time.sleep(0.0004)

    with reenact.agent("planner", role="plans"):
        for number in range(1, 4):
            look(number)
    begin()
    wait()
    print("done")
"""


def test_a_name_that_is_another_each_time_is_drift_and_verifies(bench: Bench) -> None:
    run = bench.record(DRIFTING)
    verified = run.verified(drift=True)
    ((told, count),) = verified.document["drifts"].items()
    assert re.fullmatch(r"marked step 'look from \d+' in place of marked step 'look from \d+' at __main__:look", told)
    assert count == 3
    assert "drift" in bench.run("-m", "reenact", "verify", run.path.stem).stdout.decode()
    assert run.replay().stdout == b"done\n"


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ('"planner"', '"critic"', "marked agent 'critic' in place of marked agent 'planner' at __main__:<module>"),
        ('"plans"', '"plots"', "marked agent 'planner' with another role at __main__:<module>"),
        ('"first"', '"second"', "marked session 'second' in place of marked session 'first' at __main__:begin"),
        ("build=1", "build=2", "marked tags 'build' with another build at __main__:begin"),
        ("build=1", "bild=1", "marked tags 'bild' with another bild, build at __main__:begin"),
        ('with reenact.step("wait")', "if True", "marked step 'wait' not again at __main__:wait"),
        (
            "        time.sleep(0.0004)",
            '        time.sleep(0.0004)\n    with reenact.step("more"): pass',
            "marked step 'more' once more at __main__:wait",
        ),
    ],
)
def test_drift_says_which_mark_differs_and_where(bench: Bench, was: str, now: str, told: str) -> None:
    source = textwrap.dedent(DRIFTING).replace("ctypes.CDLL(None).getpid()", "0")
    run = bench.record(source)
    assert source.count(was) == 1
    (bench.folder / "agent.py").write_text(source.replace(was, now))
    verified = run.verify()
    assert verified.passed, verified.told()
    assert verified.document["drifts"] == {told: 1}


def test_a_divergence_names_the_agent_and_the_step(bench: Bench) -> None:
    source = textwrap.dedent("""
        import asyncio, time, reenact

        async def fly():
            async with reenact.agent("pilot"):
                with reenact.step("fly"):
                    time.sleep(0.001)
                    time.sleep(0.002)

        async def main():
            with reenact.agent("planner"), reenact.step("delegate"):
                await asyncio.create_task(fly())
            print("landed")

        asyncio.run(main())
    """)
    run = bench.record(source)
    pilot = [{"kind": "agent", "name": "planner"}, {"kind": "step", "name": "delegate"},
             {"kind": "agent", "name": "pilot"}, {"kind": "step", "name": "fly"}]  # fmt: skip
    for was, now, what in (
        ("0.002", "0.003", "mismatch"),
        ("0.002)", "0.002), time.sleep(1)", "extra"),
        ("0.002)", "0.002), print()", "output"),
        ("            time.sleep(0.002)\n", "", "missing"),
    ):
        (bench.folder / "agent.py").write_text(source.replace(was, now))
        (found, *_) = run.verify().divergences
        assert (found["what"], found["marks"]) == (what, pilot)
        text = bench.run("-m", "reenact", "verify", run.path.stem).stdout.decode()
        assert re.search(r"^  agent +planner > pilot\n  doing +fly$", text, re.MULTILINE), text


def test_secrets_do_not_reach_the_tape(bench: Bench) -> None:
    program = """
        import os, reenact
        os.environ["LATE_API_KEY"] = "late-secret-4711"  # as from a file that the program loads
        key = os.environ["OPENAI_API_KEY"]
        with reenact.agent(f"asks with {key}", role=f"at https://me:hunter22@host/?api_key=abc {key}", api_key="short"):
            with reenact.step("late-secret-4711", url="https://me:hunter22@host", password="x"):
                pass
        reenact.session(f"session {key}")
        reenact.tag(access_token="tok", who=key)
    """
    run = bench.record(program, options=["--tag", "client_secret=shh", "--session", "s sk-test-only"])
    data = b"".join(bytes(repr(record), "utf-8") for record in records(run.path)) + run.path.read_bytes()
    for secret in (
        b"sk-test-only",
        b"late-secret-4711",
        b"hunter22",
        b"api_key=abc",
        b"'short'",
        b"'x'",
        b"shh",
        b"tok'",
    ):
        assert secret not in data, secret
    (agent, step) = run.tape.marks
    assert re.fullmatch(r"asks with [a-z]{2}-[a-z]{4}-[a-z]{4}", agent.name)
    assert step.attributes["password"] == "reenact-placeholder-credential"
    run.reproduced()


def test_whatever_a_program_says_it_goes_on(bench: Bench) -> None:
    program = """
        import decimal, enum, unittest.mock, uuid, reenact

        class Text(str):
            def __str__(self): raise RuntimeError
            __len__ = __eq__ = __hash__ = __str__

        class Level(enum.IntEnum):
            HIGH = 3

        class Evil:
            def __getattr__(self, name): raise RuntimeError
            def __repr__(self): raise RuntimeError
            def __class__(self): raise RuntimeError

        values = dict(
            text=Text("text"), level=Level.HIGH, large=2**80, small=-(2**70), nothing=None, yes=True, half=0.5,
            infinite=float("inf"), half_a_pair="\\ud800", long="x" * 5000, evil=Evil(), mock=unittest.mock.Mock(spec=str),
            nested=[1], exact=decimal.Decimal(1),
        )
        for name in (*values.values(), "", "\\x1b[2J\\n", Text("name")):
            if not callable(name):
                with reenact.agent(name):
                    pass
        with reenact.step("step", **values, **{f"many{number}": number for number in range(100)}):
            pass
        for given in (*values.values(), {}, "", "a\\nb", uuid.UUID(int=1), 5):
            reenact.session(given)
            reenact.tag(key=given)
            reenact.tag(given)
        reenact.tag(**{"a b": 1, "": 2})
        print("done")
    """
    run = bench.record(program)
    assert run.text == "done\n", run.stderr.decode()
    assert {note.slug for note, _ in run.tape.notes} == {"mark"}
    step = run.tape.marks[-1]
    assert len(step.attributes) == 64
    kept = {
        name: step.attributes[name] for name in ("text", "level", "nothing", "yes", "half", "evil", "nested", "small")
    }
    assert kept == {
        "text": "text", "level": 3, "nothing": None, "yes": True, "half": 0.5, "evil": "<Evil>", "nested": "<list>",
        "small": hex(-(2**70)),
    }  # fmt: skip
    assert len(str(step.attributes["long"])) == 1000
    assert run.tape.session == "5"
    assert run.tape.tags == {"key": "5", "text": ""}
    verified = run.verify()
    assert verified.passed, verified.told()
    assert not verified.document["drifts"]
    assert b"\x1b" not in bench.run("-m", "reenact", "show", run.path.stem).stdout


@pytest.mark.parametrize("options", [[], ["--deep"]])
def test_an_exception_passes_through_and_is_told(bench: Bench, options: list[str]) -> None:
    program = """
        import asyncio, reenact

        @reenact.agent("fails")
        def fails(): raise KeyError("gone")

        @reenact.step
        def generator():
            try:
                yield 1
            except LookupError as error:
                yield f"caught {error}"
            raise ValueError("last")

        async def cancelled():
            async with reenact.step("waits"):
                await asyncio.sleep(60)

        async def main():
            task = asyncio.create_task(cancelled())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        try:
            fails()
        except KeyError as error:
            print(repr(error))
        one = generator()
        print(next(one), one.throw(LookupError("x")))
        try:
            next(one)
        except ValueError as error:
            print(repr(error))
        asyncio.run(main())
        with reenact.step("exits"):
            raise SystemExit(3)
    """
    run = bench.record(program, options=options)
    assert run.text.splitlines() == ["KeyError('gone')", "1 caught x", "ValueError('last')"]
    assert run.status == 3
    errors = {mark.name: mark.error for mark in run.tape.marks}
    assert errors == {"fails": "KeyError", "generator": "ValueError", "waits": "CancelledError", "exits": "SystemExit"}
    run.reproduced()


def test_a_generator_that_is_let_go_of_ends_its_mark(bench: Bench) -> None:
    run = bench.record("""
        import time, reenact

        @reenact.step("counts")
        def count():
            try:
                while True:
                    time.sleep(0.0001)
                    yield
            finally:
                time.sleep(0.0002)

        counting = count()
        next(counting)
        time.sleep(0.0003)
        counting.close()
        time.sleep(0.0004)
    """)
    assert where(run.tape) == {1: "counts", 2: "counts", 3: "", 4: ""}
    assert run.tape.marks[0].ended is not None
    run.reproduced()


def test_a_signal_s_handler_may_mark_wherever_it_comes(bench: Bench) -> None:
    run = bench.record("""
        import os, signal, reenact
        came = 0

        def handler(number, frame):
            global came
            with reenact.step("handles"):
                came += 1

        reenact.step("is there")  # a handler finds no module that is half imported
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        while came < 40:
            with reenact.agent("works", text="a longer text"):
                reenact.tag("busy")
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.fork() == 0:
            with reenact.step("of another process"):
                os._exit(0)
        os.wait()
        print("done")
    """)
    assert run.text == "done\n", run.stderr.decode()
    assert [mark.name for mark in run.tape.marks].count("handles") >= 40
    assert "of another process" not in {mark.name for mark in run.tape.marks}
    assert "fault" not in {note.slug for note, _ in run.tape.notes}


def test_one_mark_for_many_runs_at_once(bench: Bench) -> None:
    done = bench.plain("""
        import sys, threading, time, reenact
        sys.setswitchinterval(1e-6)
        turn = reenact.step("turn")

        @reenact.record
        def work():
            for _ in range(20):
                with turn:
                    with turn:
                        time.sleep(0)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    assert (done.status, done.stderr) == (0, b"")
    for run_id in bench.store.ids():
        tape = Run(bench, bench.store.path(run_id), done).tape
        assert {path(tape, event.mark) for event in tape.events} == {"turn/turn"}
        assert len(tape.marks) == 40
        assert all(mark.ended is not None for mark in tape.marks)
    assert len(bench.store.ids()) == 6


def test_a_tool_marks_nothing_inside(bench: Bench) -> None:
    run = bench.record("""
        import reenact

        @reenact.tool
        def look_up(name: str) -> str:
            with reenact.step("inside"):
                return f"{name} {reenact.current_run()}"

        with reenact.agent("asks"):
            print(look_up("x"))
    """)
    assert [mark.name for mark in run.tape.marks] == ["asks"]
    assert [path(run.tape, event.mark) for event in run.tape.events] == ["asks"]
    run.reproduced()


def test_a_killed_run_has_its_marks_until_then(bench: Bench) -> None:
    run = bench.record("""
        import os, signal, time, reenact
        with reenact.agent("planner"), reenact.step("last"):
            time.sleep(0.0001)
            reenact.session("s-1")
            os.write(1, b"")
            time.sleep(0.0002)
            import subprocess
            subprocess.run(["kill", "-KILL", str(os.getpid())])
    """)
    assert where(run.tape)[2] == "planner/last"
    assert [mark.ended for mark in run.tape.marks] == [None, None]
    assert run.tape.summary["session"] == "s-1"
    assert run.verify().document["drifts"] == {}


@pytest.mark.slow
def test_marks_are_kept_while_a_run_is_explored(bench: Bench) -> None:
    program = """
        import threading, time
        import os, requests, reenact
        order = []

        def work(name):
            with reenact.agent(name):
                requests.get(os.environ["BASE"] + "/v1/models?" + name)
                order.append(name)

        threads = [threading.Thread(target=work, args=[name]) for name in ("first", "second")]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(order)
    """
    with ModelServer(lambda _: Say("yes")) as server:
        run = bench.record(program, env=settings(server))
    done = bench.run("-m", "reenact", "explore", run.path.stem, "--json")
    assert done.status == 1, done.stdout.decode()
    (kept,) = [name for name in bench.store.ids() if "order" in name]
    other = Run(bench, bench.store.path(kept), done)
    assert [path(other.tape, event.mark) for event in other.tape.events] == ["first", "second"]
    assert other.verify().passed


def test_outside_of_a_run_they_do_nothing_and_load_next_to_nothing() -> None:
    code = """if True:
        import sys
        import reenact
        before = set(sys.modules)
        with reenact.agent("planner", role="plans") as agent, reenact.step("look", at=object()):
            reenact.session(object())
            reenact.tag(object(), x=object())
            assert reenact.current_run() is None
        @reenact.agent("planner")
        def plan(city): "Plans."; return city
        assert (plan("Oslo"), plan.__name__, plan.__doc__) == ("Oslo", "plan", "Plans.")
        print(*sorted(name for name in set(sys.modules) - before if name.startswith(("reenact", "msgspec"))))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "reenact.marks", "reenact._real", "reenact.errors", "reenact.engine", "reenact.engine.around",
        "reenact.engine.lane", "reenact.engine.place", "reenact.engine.scope",
    }  # fmt: skip


def test_a_class_is_no_function_to_be_marked() -> None:
    with pytest.raises(UsageError, match="mark the methods of Planner"):

        @reenact.agent("planner")
        class Planner:
            """Plans."""


def test_the_numbers_of_marks_are_those_of_the_tape() -> None:
    assert [(kind.name, kind.value) for kind in MarkKind] == [
        ("AGENT", 1), ("STEP", 2), ("ENDED", 3), ("INSIDE", 4), ("SESSION", 5), ("TAGS", 6)
    ]  # fmt: skip
