"""Parts of another answer in the place of those on tape: every HTTP seam hands them to its library, and an SDK reads them."""

from __future__ import annotations

import pytest

from reenact.edits import Call, Decision, decided
from reenact.errors import EditError
from reenact.launch.served import answer_of, decision_of, with_decision, with_result
from reenact.tape import event as ev
from reenact.tape.journal import Packer
from reenact.tape.recording import Event
from reenact.testing import Call as Called
from reenact.testing import Calls, ModelServer
from reenact.testing.coding import Coding
from reenact.trajectory.exchange import Exchange
from reenact.trajectory.exchanges import Exchanges
from tests.runs import Bench, Run, settings
from tests.tape.records import journal, put

HTTPX = """
import openai
with openai.OpenAI(max_retries=0) as client:
    if {stream}:
        with client.chat.completions.stream(model="m", messages=[{{"role": "user", "content": "?"}}]) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="m", messages=[{{"role": "user", "content": "?"}}]).choices[0].message
print("said", message.content, [(c.function.name, c.function.arguments, c.id) for c in message.tool_calls or ()])
"""
URLLIB3 = """
import boto3
client = boto3.client("bedrock-runtime")
asked = {{"modelId": "m", "messages": [{{"role": "user", "content": [{{"text": "?"}}]}}]}}
if {stream}:
    events = list(client.converse_stream(**asked)["stream"])
    deltas = [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]
    text = "".join(d.get("text", "") for d in deltas)
    given = "".join(d["toolUse"]["input"] for d in deltas if "toolUse" in d)
    calls = [(e["contentBlockStart"]["start"]["toolUse"]["name"], given) for e in events if "contentBlockStart" in e]
else:
    content = client.converse(**asked)["output"]["message"]["content"]
    text = "".join(b.get("text", "") for b in content)
    calls = [(b["toolUse"]["name"], b["toolUse"]["input"]) for b in content if "toolUse" in b]
print("said", text, calls)
"""
AIOHTTP = """
import asyncio
from google import genai
async def main():
    client = genai.Client().aio
    if {stream}:
        answers = [one async for one in await client.models.generate_content_stream(model="m", contents="?")]
    else:
        answers = [await client.models.generate_content(model="m", contents="?")]
    parts = [part for one in answers for part in one.candidates[0].content.parts]
    await client.aclose()
    print("said", "".join(p.text for p in parts if p.text), [(p.function_call.name, p.function_call.args) for p in parts if p.function_call])
asyncio.run(main())
"""
PROGRAMS = {"httpx": HTTPX, "urllib3": URLLIB3, "aiohttp": AIOHTTP}
REPLY = Calls((Called("weather", {"city": "Oslo"}),), text="Let me see what it is like.")
NEW = Decision("Längér words than there were before, and then some.", (Call("clock", '{"zone":"UTC"}'),))


def recorded(bench: Bench, library: str, *, stream: bool, encoding: Coding | None = None) -> Run:
    with ModelServer(lambda _: REPLY, encoding=encoding) as server:
        run = bench.record(PROGRAMS[library].format(stream=stream), env=settings(server))
    assert run.status == 0, run.stderr.decode()
    assert run.text.startswith("said Let me see what it is like. [('weather'")
    return run


def asked(run: Run) -> Exchange:
    (event,) = run.http
    return Exchanges(run.tape).of(event)


QUICK = [("httpx", True, "gzip"), ("urllib3", True, None)]
CASES = [(library, stream, coding) for library in PROGRAMS for stream in (False, True) for coding in (None, "gzip")]


@pytest.mark.parametrize(
    ("library", "stream", "encoding"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES],
)
def test_a_program_reads_the_other_answer_through_its_library(
    bench: Bench, library: str, stream: bool, encoding: Coding | None
) -> None:
    run = recorded(bench, library, stream=stream, encoding=encoding)
    exchange = asked(run)
    assert with_decision(exchange, decision_of(exchange)) == tuple(part for _, part in exchange.event.parts)
    put_parts(run, with_decision(exchange, NEW))
    edited = asked(Run(bench, run.path, run.bench.run("-c", "")))
    assert decided(answer_of(edited)).text == NEW.text
    replayed = run.replay()
    seen = (replayed.stdout + replayed.stderr).decode()
    assert f"said {NEW.text} [('clock', " in seen, seen
    assert "UTC" in seen


def put_parts(run: Run, parts: tuple[ev.Part, ...]) -> None:
    """Has the tape answer its request with these."""
    event, packer, given = parts[0].event, Packer(), False
    records: list[ev.AnyRecord] = []
    for record in journal(run.path):
        if isinstance(record, ev.Part) and record.event == event:
            records += [] if given else parts
            given = True
        else:
            records.append(record)
    put(run.path, [packer.pack([record]) for record in records])


def test_an_event_that_is_no_answer_of_a_model_is_refused(bench: Bench) -> None:
    run = recorded(bench, "httpx", stream=False)
    exchange = asked(run)
    with pytest.raises(EditError, match="gave back no value"):
        with_result(exchange.event, "x")
    exchange.event.parts[:] = exchange.event.parts[:0]
    with pytest.raises(EditError, match="got no answer that could be edited"):
        decision_of(Exchange(exchange.event, b""))


def test_a_tool_that_is_a_boundary_gives_back_another_value() -> None:
    parts = [(0, ev.Part(7, ev.PartKind.VALUE, 5, b'"fair"'))]
    event = Event(7, "0", ev.Kind.TOOL, "agent:weather", None, 1, b"", ev.Delta(-1, 0, 0, b""), parts)
    assert with_result(event, "snow") == (ev.Part(7, ev.PartKind.VALUE, 5, b'"snow"'),)
