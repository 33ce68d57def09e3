"""Tools: what they are given and give back is on tape, in its types; a replay runs none of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import reenact
from reenact.engine.dotted import named
from reenact.errors import UsageError
from reenact.tape.event import Kind
from tests.runs import Bench, Run

SHOP = """
    import dataclasses, datetime, os, sqlite3, threading, urllib.request
    import pydantic

    @dataclasses.dataclass
    class Row:
        name: str
        price: float
        at: datetime.datetime

    class Offer(pydantic.BaseModel):
        row: Row
        tags: set[str]

    class Sold(Exception):
        def __init__(self, name, left=0):
            super().__init__(name)
            self.left = left

    def query(name, *, limit=3):
        with open("ran", "a") as ran:
            print("query", name, file=ran)
        print("the tool itself", flush=True)
        if name == "nothing":
            raise Sold(name, left=limit)
        return [Row(name, 1.5 * number, datetime.datetime.now()) for number in range(limit)]

    async def offer(name):
        import asyncio
        await asyncio.sleep(0.01)
        return Offer(row=query(name)[0], tags={"new", name})

    def push(rows):
        rows.append(len(rows))
        return rows[-1]

    def unkept(what):
        return threading.Lock()

    class Store:
        def __init__(self):
            self.connection = sqlite3.connect(":memory:")

        def find(self, key, default=None):
            return self.connection.execute("SELECT ?, random() % 2 + 5", (key,)).fetchone() or default

        @classmethod
        def open(cls, where):
            return {"where": where, "by": cls.__name__}

        @staticmethod
        def version():
            return (3, os.getpid() > 0)
"""
PROJECT = """
    [tool.reenact]
    boundaries = ["shop:query", "shop:offer", "shop:push", "shop:unkept", "shop:Store.find", "shop:Store.open", "shop:Store.version"]
"""
AGENT = """
    import asyncio
    from shop import Row, Sold, Store, offer, query
    import shop

    rows = query("tea", limit=2)
    print(type(rows[0]) is Row, rows)
    try:
        query("nothing")
    except Sold as error:
        print(repr(error), error.left)
    async def both():
        return await asyncio.gather(offer("milk"), offer("bread"))
    for each in asyncio.run(both()):
        print(type(each).__name__, each.row.price, sorted(each.tags))
    store = Store()
    print(store.find("key"), Store.open("there"), store.version(), shop.query.__name__)
"""


@pytest.fixture
def shop(bench: Bench) -> Path:
    """A folder with a module that has tools, and a project that names them."""
    (bench.folder / "shop.py").write_text(_text(SHOP), encoding="utf-8")
    (bench.folder / "pyproject.toml").write_text(_text(PROJECT), encoding="utf-8")
    return bench.folder


def _text(text: str) -> str:
    return "\n".join(line[4:] for line in text.splitlines())


def tools(run: Run) -> list[str]:
    """The tools on tape."""
    return [event.name for event in run.tape.events if event.kind is Kind.TOOL]


def test_named_functions_are_boundaries_and_no_replay_runs_them(bench: Bench, shop: Path) -> None:
    run = bench.record(AGENT)
    assert run.status == 0, run.stderr.decode()
    assert tools(run).count("shop:query") == 2  # what one tool asks of another is below the boundary
    assert len(tools(run)) == 7
    assert "the tool itself" in run.text
    source = (shop / "shop.py").read_text("utf-8")
    (shop / "shop.py").write_text(source.replace('with open("ran"', 'assert False, "it runs"\n    with open("ran"'))
    before = (shop / "ran").read_text("utf-8")
    verified = run.verify()
    assert not verified.divergences, verified.told()
    assert (shop / "ran").read_text("utf-8") == before


def test_decorated_functions_are_boundaries(bench: Bench) -> None:
    program = """
        import asyncio, datetime, itertools, sys
        from pathlib import Path
        import reenact
        counter = itertools.count()
        @reenact.tool
        def look(city: str, *, at: datetime.date) -> dict:
            print("effect", file=sys.stderr)
            return {"city": city, "at": at, "where": Path("a/b"), "count": next(counter), "raw": b"\\xff", 3: (1, {2})}
        @reenact.tool
        async def send(what):
            await asyncio.sleep(0.01)
            raise ConnectionError("refused", what)
        async def main():
            for result in await asyncio.gather(send(1), send("two"), return_exceptions=True):
                print(repr(result))
        print(look("Oslo", at=datetime.date(2026, 11, 22)), next(counter))
        asyncio.run(main())
    """
    plain, run = bench.plain(program), bench.record(program)
    assert (run.status, run.stdout, run.stderr) == (0, plain.stdout, plain.stderr)
    found = run.verify().divergences
    # the counter stands where it stood before the tool: what a tool changes elsewhere, a replay does not
    assert [each["what"] for each in found] == ["output"], found


def test_other_arguments_are_a_difference(bench: Bench, shop: Path) -> None:
    run = bench.record("import shop; print(shop.query('tea', limit=1)[0].name)")
    bench.write("import shop; print(shop.query('tee', limit=1)[0].name)")
    (found,) = run.verify().divergences
    assert (found["what"], found["expected"]["name"]) == ("mismatch", "shop:query")


@pytest.mark.parametrize("call", ["shop.query(iter(()))", "shop.unkept(1)"])
def test_what_cannot_be_kept_is_refused_with_its_name(bench: Bench, shop: Path, call: str) -> None:
    program = f"""
        import shop
        try:
            {call}
        except Exception as error:
            print(type(error).__name__, error)
    """
    run = bench.record(program)
    assert run.status == 0
    assert run.text.startswith("ArgumentError its "), run.text
    assert "which cannot be kept. Give it data" in run.text
    run.reproduced()


def test_a_tool_that_changes_what_it_is_given_is_told(bench: Bench, shop: Path) -> None:
    run = bench.record("import shop; print(shop.push([1, 2]))")
    assert b"shop:push changes what it is given, which a replay does not do" in run.stderr


def test_a_boundary_that_is_not_there_is_told(bench: Bench) -> None:
    (bench.folder / "shop.py").write_text("x = 1\n")
    (bench.folder / "pyproject.toml").write_text('[tool.reenact]\nboundaries = ["shop:gone", "shop:x.y", "later:f"]\n')
    run = bench.record("import shop; print(shop.x)")
    assert run.text == "1\n"
    assert [note.text for note, _ in run.tape.notes if note.slug == "boundary"] == [
        "[tool.reenact] boundaries: shop:gone is not there",
        "[tool.reenact] boundaries: shop:x.y is not there",
    ]
    assert b"not a tool, so what it does is part of the run" in run.stderr


@pytest.mark.parametrize("given", ['["shop"]', '["shop:"]', '["shop query"]', '"shop:query"', "[3]", '["a b:c"]'])
def test_a_boundary_that_is_no_path_is_misuse(bench: Bench, given: str) -> None:
    (bench.folder / "pyproject.toml").write_text(f"[tool.reenact]\nboundaries = {given}\n")
    done = bench.run("-m", "reenact", "record", bench.write("print(1)"))
    assert done.status == 2
    assert b"[tool.reenact] boundaries" in done.stderr
    assert not bench.store.ids()


def test_runs_in_code_have_tools_too(bench: Bench, shop: Path) -> None:
    program = """
        import reenact, shop
        @reenact.record
        def work(name):
            return shop.query(name, limit=1)[0].price
        if __name__ == "__main__":
            print(work("tea"), shop.query("outside"))
    """
    run = bench.run(bench.write(program))
    assert run.status == 0, run.stderr.decode()
    (run_id,) = bench.store.ids()
    before = (shop / "ran").read_text("utf-8")
    assert before == "query tea\nquery outside\n"
    done = bench.run("-m", "reenact", "verify", run_id)
    assert done.status == 0, done.stdout.decode()
    assert b"1 of 1 as recorded: 1 tool call" in done.stdout
    assert (shop / "ran").read_text("utf-8") == before


def test_outside_of_a_run_a_tool_is_the_function_as_it_was() -> None:
    seen: list[object] = []

    @reenact.tool
    def keep(what: object) -> list[object]:
        """Keeps it."""
        seen.append(what)
        return seen

    @reenact.tool
    async def later(what: object) -> object:
        return what

    thing = object()
    assert keep(thing) is seen
    assert seen == [thing]
    assert asyncio.run(later(thing)) is thing
    assert (keep.__name__, keep.__doc__) == ("keep", "Keeps it.")


def test_a_generator_cannot_be_a_tool() -> None:
    def numbers() -> object:
        yield 1

    with pytest.raises(UsageError, match="is a generator function"):
        reenact.tool(numbers)


def test_a_path_is_a_module_and_names() -> None:
    assert named("shop.db:query") == ("shop.db", ["query"])
    assert named("shop:Store.find") == ("shop", ["Store", "find"])
