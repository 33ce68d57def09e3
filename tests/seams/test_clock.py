"""Clocks: whatever a program reads of the time, it reads again in replay; a sleep takes none."""

from __future__ import annotations

import pytest

from tests.runs import Bench


def test_every_reading_of_the_clock_comes_back(bench: Bench) -> None:
    run = bench.record("""
        import datetime, time, uuid, email.utils, logging, calendar, locale
        from datetime import date, datetime as moment, timezone, UTC, timedelta
        from time import time as now, monotonic, perf_counter as ticks, strftime, localtime, time_ns

        for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
                     "process_time", "process_time_ns", "thread_time", "thread_time_ns",
                     "gmtime", "localtime", "ctime", "asctime"):
            print(name, getattr(time, name)(), getattr(time, name)())
        for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_BOOTTIME):
            print(clock, time.clock_gettime(clock), time.clock_gettime_ns(clock))
        print(time.strftime("%Y-%m-%d %H:%M:%S"), strftime("%c %Z"), localtime().tm_sec, now(), monotonic(), ticks(), time_ns())
        print(datetime.datetime.now(), datetime.datetime.now(UTC), moment.now(timezone(timedelta(hours=5))))
        print(moment.today(), datetime.datetime.utcnow(), date.today(), datetime.date.today(), moment.now().astimezone())
        print(moment.fromtimestamp(now()), email.utils.formatdate(), email.utils.localtime())
        print(calendar.timegm(time.gmtime()), logging.Formatter("%(asctime)s").format(logging.makeLogRecord({"created": now()})))

        class Moment(moment):
            pass

        class Day(date):
            pass

        print(repr(Moment.now()), repr(Moment.now(UTC)), repr(Moment.today()), repr(Moment.utcnow()), repr(Day.today()))
        print(type(moment.now()), moment.now() <= moment.now(), time.time() <= time.time(), moment.min, isinstance(Moment.now(), moment))
        for _ in range(1000):
            last = ticks()
        print(last, moment.now.__name__, moment.now.__self__)
    """)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


def test_clocks_are_those_of_the_caller_when_called_by_keyword_or_through_functions(bench: Bench) -> None:
    run = bench.record("""
        import datetime, functools, operator, time
        from concurrent.futures import ThreadPoolExecutor
        from datetime import datetime as moment

        print(moment.now(tz=None), moment.now(tz=datetime.UTC), list(map(lambda _: time.time(), range(3))))
        print(functools.partial(moment.now, datetime.UTC)(), operator.methodcaller("now")(moment), sorted([time.time(), time.time()]))
        print([clock() for clock in (time.time, time.monotonic, moment.now, datetime.date.today)])
        with ThreadPoolExecutor(2) as pool:
            print(list(pool.map(lambda _: (time.time(), moment.now()), range(4))))
            print([pool.submit(time.time).result(), pool.submit(moment.now).result()])
        try:
            moment.now("UTC")
        except TypeError as error:
            print(error)
        try:
            time.sleep(-1)
        except ValueError as error:
            print(error)
    """)
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_without_us_the_same_errors_and_types_come_from_the_clock(bench: Bench) -> None:
    program = """
        import datetime, inspect, time
        from datetime import datetime as moment

        class Moment(moment):
            def __new__(cls, *args, **kwargs):
                return super().__new__(cls, *args, **kwargs)

        class Strange(moment):
            def __new__(cls, *args, **kwargs):
                made = super().__new__(cls, *args, **kwargs)
                made.mark = "marked"
                return made

        print(type(Moment.now()), type(Strange.today()), Strange.now().mark, type(datetime.date.today()))
        for call in (lambda: moment.now(1), lambda: moment.now(datetime.UTC, 2), lambda: time.time(1), lambda: time.sleep("x"),
                     lambda: time.sleep(-1), lambda: time.gmtime("x"), lambda: time.strftime(3), lambda: time.ctime([]),
                     lambda: time.sleep()):
            try:
                print(call())
            except Exception as error:
                print(type(error).__name__)
        print(moment.now(datetime.timezone.max).tzinfo, moment.now(tz=datetime.timezone.min).utcoffset())
        print(isinstance(time.time(), float), isinstance(time.time_ns(), int), time.gmtime(0), time.ctime(0))
        print(callable(time.sleep), time.sleep(0), time.sleep(0.0001), time.sleep(True))
    """
    plain, run = bench.plain(program), bench.record(program)
    assert run.stdout == plain.stdout
    assert (run.status, run.stderr) == (plain.status, plain.stderr)
    run.verified()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "body",
    [
        "time.sleep(2)",
        "asyncio.run(asyncio.sleep(2))",
        "threading.Event().wait(2); threading.Timer(2, print).start()",
        "anyio.run(anyio.sleep, 2)",
    ],
)
def test_a_sleep_takes_its_time_once(bench: Bench, body: str) -> None:
    run = bench.record(f"""
        import asyncio, threading, time
        {"import anyio" if "anyio" in body else ""}
        began = time.monotonic()
        {body}
        print(time.monotonic() - began, time.time())
    """)
    assert run.status == 0, run.stderr.decode()
    verified = run.verified()
    assert verified.document["recorded_seconds"] >= 2
    assert verified.document["replayed_seconds"] < 2


def test_a_read_more_in_a_line_of_logging_is_drift_and_shifts_nothing(bench: Bench) -> None:
    run = bench.record("""
        import time, uuid
        def log(text):
            print(text)
        def work():
            return time.time(), uuid.uuid4()
        log("one")
        print(work())
        log("two")
        print(work())
    """)
    source = bench.folder / "agent.py"
    source.write_text(source.read_text().replace("print(text)", "time.time(); print(text)"))
    verified = run.verify()
    assert verified.passed, verified.told()
    assert verified.document["drifts"] == {"time read once more at __main__:log": 2}


def test_call_sites_of_the_same_name_keep_the_order_of_their_readings(bench: Bench) -> None:
    run = bench.record("""
        import os, time, uuid
        readings = [lambda: time.time_ns(), lambda: time.time_ns(), lambda: uuid.uuid4(), lambda: os.urandom(3)]
        for at in range(8):
            print(at, readings[at * 3 % 4]())
        for at in range(3):
            exec(compile("def read():\\n    return time.time_ns()\\nprint(read())", f"step {at}", "exec"))
    """)
    run.reproduced()
