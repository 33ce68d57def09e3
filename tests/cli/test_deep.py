"""`record --deep` and `verify --deep`: the program's own variables are compared, though nothing that it asks shows them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pytest

from reenact.launch import manifest as manifests
from reenact.tape.event import LOCALS_SALT
from reenact.tape.reader import read
from reenact.tape.recording import Recording
from tests.cli.desk import Desk

NATIVE_CLOCK = """
    import ctypes, time
    def native_clock():
        held = (ctypes.c_long * 2)()
        ctypes.CDLL(None).clock_gettime(1, held)
        return held[0] * 10**9 + held[1]
"""
STAMPED = (
    NATIVE_CLOCK
    + """
    class Agent:
        def __init__(self):
            self.history = []

        def step(self, number):
            stamp = native_clock()
            self.history.append(number)
            time.sleep(0.001)
            return len(self.history)

    def main():
        agent = Agent()
        print(sum(agent.step(number) for number in range(3)))

    main()
"""
)
STEADY = """
    import asyncio, collections, dataclasses, datetime, decimal, enum, pathlib, random, time, uuid
    import numpy

    class Color(enum.Enum):
        RED = 1

    class Names(dict):
        pass

    @dataclasses.dataclass
    class Order:
        number: int
        placed: datetime.datetime
        inside: object = None

    class Slots:
        __slots__ = ("one", "two")
        def __init__(self):
            self.one = "one"

    class Other:
        pass

    async def task(number):
        here = [number, random.random(), uuid.uuid4()]
        await asyncio.sleep(random.random() / 100)
        time.sleep(0.001)
        return here

    async def many():
        found = await asyncio.gather(*(task(number) for number in range(5)))
        time.sleep(0.001)

    def main():
        words = {"red", "green", "blue"}
        objects = {Other() for _ in range(9)}
        round = [1, 2]
        round.append(round)
        order = Order(7, datetime.datetime.now(datetime.timezone.utc), Slots())
        order.inside.two = order
        names = Names(a=1, b=decimal.Decimal("1.5"), c=pathlib.Path("x/y"))
        array, scalar = numpy.arange(5.0), numpy.float32(1.5)
        mixed = [Color.RED, ValueError("no", 3), frozenset({1, "a"}), collections.deque([1]), 1j, None, ..., range(3)]
        large = [str(number) for number in range(20_000)] + ["x" * 1_000_000]
        later, opened = datetime.time(3), open(__file__)
        asyncio.run(many())
        time.sleep(0.001)

    main()
"""
SHY = """
    import time

    def complain(*_):
        print("called")
        raise RuntimeError

    class Metaclass(type):
        __instancecheck__ = __subclasscheck__ = complain
        __module__ = __mro__ = __dict__ = property(complain)

    class Plain:
        pass

    class Shy(Plain, metaclass=Metaclass):
        __slots__ = ("held",)
        __eq__ = __hash__ = __repr__ = __str__ = __len__ = __iter__ = __bool__ = __getattribute__ = __getattr__ = complain
        __class__ = __dict__ = shown = property(complain)

    class Pairs(dict):
        items = keys = __iter__ = __getitem__ = __len__ = complain

    class Word(str):
        __str__ = __repr__ = __eq__ = __hash__ = encode = complain

    class Number(int):
        __int__ = __index__ = __eq__ = __format__ = complain

    def main():
        shy, pairs, word, number = Shy(), Pairs(a=1), Word("word"), Number(3)
        several = [shy, pairs, word, number]
        time.sleep(0.001)

    main()
    print("done")
"""
LET_GO = """
    import time, weakref
    class Thing:
        pass
    def main():
        thing = Thing()
        seen = weakref.ref(thing)
        time.sleep(0.001)
        del thing
        print(seen() is None)
        known = locals()
        time.sleep(0.001)
        print("seen" in known)
    main()
"""
SECRETS = """
    import os, time
    class Client:
        def __init__(self):
            self.password = "1234"
            self.url = "https://me:1234@example.org/"
            self.pin = 4321
    def main():
        client = Client()
        api_key = "1234"
        headers = {"Authorization": "1234", "x": "Bearer " + os.environ["SHOP_API_KEY"]}
        harmless = "as it is"
        time.sleep(0.001)
    main()
"""


def record(desk: Desk, source: str, *options: str, env: dict[str, str] | None = None) -> Recording:
    """The tape of a program."""
    desk.write(source)
    done = desk.reenact("record", "--quiet", *options, "agent.py", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = (desk.folder / ".reenact").glob("*.tape")
    return read(path)


def verify(desk: Desk, *options: str) -> tuple[int, dict[str, Any]]:
    """Status and answer of `verify --json`."""
    done = desk.reenact("verify", "last", "--json", *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_variable_that_no_request_shows_is_named(desk: Desk) -> None:
    record(desk, STAMPED, "--deep")
    assert verify(desk)[0] == 0
    status, document = verify(desk, "--deep")
    assert status == 1
    assert document["verdict"] == "diverged"
    assert document["boundaries"] == {"recorded": 3, "asked": 3, "identical": 3, "kinds": {"sleep": 3}}
    (found,) = document["divergences"]
    assert (found["what"], found["event"], found["lane"]) == ("local", 0, "0")
    assert (found["site"]["function"], found["site"]["source"]) == ("Agent.step", "time.sleep(0.001)")
    assert found["actual"]["name"] == "stamp"
    assert re.fullmatch(r"\d{10,}", found["actual"]["text"])


def test_the_variable_is_told_in_the_text(desk: Desk) -> None:
    record(desk, STAMPED, "--deep")
    done = desk.reenact("verify", "last", "--deep")
    assert done.returncode == 1
    assert re.match(r"DIVERGED  agent-\w+: a variable holds something else than when recorded\n", done.stdout)
    assert re.search(r"\n  agent\.py:\d+ in Agent\.step\n      time\.sleep\(0\.001\)\n", done.stdout)
    assert "\n  variable        stamp  (before event 0)\n" in done.stdout
    assert "holds digests of variables only" in done.stdout
    assert re.search(r"\n    \+ \d{10,}\n", done.stdout)


def test_an_attribute_is_named_in_the_outermost_function_that_has_it(desk: Desk) -> None:
    record(desk, STAMPED.replace("stamp =", "self.stamp ="), "--deep")
    _, document = verify(desk, "--deep")
    told = [(one["site"]["function"], one["actual"]["name"]) for one in document["divergences"]]
    assert told == [("main", "agent.stamp"), ("main.<locals>.<genexpr>", "agent.stamp"), ("Agent.step", "self.stamp")]


def test_a_difference_that_is_asked_too_comes_after_the_variable(desk: Desk) -> None:
    record(desk, STAMPED.replace("sleep(0.001)", "sleep(stamp % 1000 / 1e6)"), "--deep")
    _, document = verify(desk, "--deep")
    assert [one["what"] for one in document["divergences"]] == ["local", "mismatch"]


def test_another_way_to_a_call_is_told(desk: Desk) -> None:
    program = """
        import time
        def one():
            time.sleep(0.001)
        def other():
            time.sleep(0.001)
        def main():
            one()
        main()
    """
    record(desk, program, "--deep")
    desk.write(program.replace("    one()", "    other()"))
    assert verify(desk)[0] == 0
    status, document = verify(desk, "--deep")
    assert status == 1
    assert [one["actual"]["name"] for one in document["divergences"]] == ["the way to this call"]
    (note,) = document["divergences"][0]["notes"]
    assert note.endswith("__main__:<module>, __main__:main, __main__:one")


def test_a_program_without_a_leak_passes(desk: Desk) -> None:
    tape = record(desk, STEADY, "--deep")
    assert len(tape.lanes) > 5
    status, document = verify(desk, "--deep")
    assert status == 0, document["divergences"]
    compared = document["variables"]
    assert compared["events"] == len(tape.events)
    assert compared["values"] == 22
    assert compared["partly"] > 0
    assert compared["types"] == {"_io:TextIOWrapper": 1}


def test_what_was_compared_is_told(desk: Desk) -> None:
    record(desk, STEADY, "--deep")
    done = desk.reenact("verify", "last", "--deep")
    assert re.search(r"\n  variables +\d+ values at \d+ calls as recorded, \d+ of them in part\n", done.stdout)
    assert "not compared, for their types: _io:TextIOWrapper (1)" in done.stdout


def test_nothing_of_the_agents_own_is_called(desk: Desk) -> None:
    desk.write(SHY)
    done = desk.reenact("record", "--deep", "--quiet", "agent.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    status, document = verify(desk, "--deep")
    assert status == 0, document
    assert document["variables"]["values"] > 0


def test_what_a_function_lets_go_is_gone(desk: Desk) -> None:
    desk.write(LET_GO)
    assert desk.reenact("record", "--deep", "--quiet", "agent.py").stdout == "True\nTrue\n"
    assert verify(desk, "--deep")[0] == 0


def test_no_digest_of_a_secret_is_kept(desk: Desk) -> None:
    secret = "sk-of-the-shop-1234"
    tape = record(desk, SECRETS, "--deep", env={"SHOP_API_KEY": secret})
    (frames,) = tape.lanes["0"].locals.values()
    kept = {name: digest for _, digests in frames for name, digest in digests.items()}
    assert set(kept) == {"client.url", "headers", "harmless"}

    def text(letters: str) -> bytes:
        return f"s{len(letters)}:{letters}".encode()

    def digest(data: bytes) -> bytes:
        return hashlib.blake2b(data, digest_size=8, key=tape.snapshots[LOCALS_SALT]).digest()

    assert kept["harmless"] == digest(text("as it is"))
    assert kept["client.url"] == digest(text("https://reenact-placeholder-credential@example.org/"))
    stands = manifests.decode(tape.manifest).environment["SHOP_API_KEY"]
    assert stands != secret
    inside = [text("x"), text(f"Bearer {stands}"), text("Authorization")]
    assert kept["headers"] == digest(b"\0".join([b"<builtins:dict", b"2", *inside, b">"]))
    status, document = verify(desk, "--deep")
    assert status == 0, document["divergences"]
    assert document["variables"]["secret"] == 4


def test_a_tape_without_digests_says_so(desk: Desk) -> None:
    record(desk, STAMPED)
    done = desk.reenact("verify", "last", "--deep")
    assert done.returncode == 2
    assert "was recorded without --deep" in done.stderr


@pytest.mark.parametrize("options", [(), ("--deep",)])
def test_a_deep_recording_replays_like_any(desk: Desk, options: tuple[str, ...]) -> None:
    record(desk, STEADY, "--deep")
    status, document = verify(desk, *options)
    assert status == 0, document["divergences"]
    assert (document["variables"] is None) == (not options)
