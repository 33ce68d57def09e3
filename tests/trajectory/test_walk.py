"""Steps of tapes written by hand: what belongs together, and what is new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reenact import providers
from reenact.errors import TapeTooLargeError
from reenact.providers import Text, ToolResult, Wire
from reenact.tape.event import Failed, Kind, PartKind
from reenact.tape.recording import Recording
from reenact.trajectory import Step, history, step_of_event, steps, trajectory, walk
from tests.trajectory.made import CHAT, Made, calls, gave, says, system, user


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path / "desk-0000.tape")


def new(step: Step) -> list[str]:
    """The words that are new in a step's request."""
    parts = [part for message in step.news.messages for part in message.parts]
    return [part.text for part in parts if isinstance(part, Text | ToolResult)]


def events(step: Step) -> list[int]:
    return [entry.event for entry in step.entries]


def outside(recording: Recording) -> list[int]:
    return [entry.event for entry in trajectory(recording).outside]


def test_a_step_is_a_decision_and_what_its_tools_did(made: Made) -> None:
    messages = [system("Be brief."), user("Where is order 5512?")]
    made.http("GET https://shop.example/config", 200, b"{}")
    made.ask(messages, calls(c1={"order": 5512}))
    made.http("GET https://shop.example/orders/5512", 200, b"{}")
    made.sleep(0.1)
    messages += [calls(c1={"order": 5512}), gave("c1", "It left Oslo.")]
    made.ask(messages, says("On its way."))
    made.http("POST https://shop.example/mail", 200)
    recording = made.done()
    first, second = steps(recording)
    assert (first.number, second.number) == (1, 2)
    assert events(first) == [1, 2, 3]
    assert events(second) == [4]
    assert outside(recording) == [0, 5]
    assert step_of_event(recording) == {1: 1, 2: 1, 3: 1, 4: 2}
    assert new(first) == ["Be brief.", "Where is order 5512?"]
    assert new(second) == ["It left Oslo."]
    assert [(call.name, call.arguments) for call in first.calls] == [("look_up", '{"order": 5512}')]
    result = second.news.messages[0].parts[0]
    assert isinstance(result, ToolResult)
    assert result.name == "look_up"


def test_a_step_tells_who_answered_when_from_where_and_for_how_much(made: Made) -> None:
    made.ask([user("Hello")], says("Hi"))
    (step,) = steps(made.done())
    assert (step.provider, step.api, step.model, step.served) == ("openai", "openai.chat", "gpt-5", "gpt-5-2026")
    assert (step.began, step.answered, step.ended) == (100_000_000, 135_000_000, 135_000_000)
    assert step.site is not None
    assert (step.site.file, step.site.line) == ("/work/desk.py", 7)
    assert step.usage is not None
    assert (step.usage.input, step.usage.cached_input, step.usage.output) == (40, 8, 12)
    assert (step.complete, step.finish_reason, step.tools) == (True, "stop", ("look_up",))
    assert step.begins


def test_asking_again_after_a_failure_is_the_same_step(made: Made) -> None:
    made.ask([user("Hello")], 429)
    made.sleep(0.5)
    made.ask([user("Hello")], 500)
    made.sleep(1.0)
    made.ask([user("Hello")], says("Hi"))
    (step,) = steps(made.done())
    assert step.attempts == (0, 2, 4)
    assert events(step) == [0, 1, 2, 3, 4]
    assert [(trouble.event, trouble.status, trouble.message) for trouble in step.troubles] == [
        (0, 429, "try later"),
        (2, 500, "try later"),
    ]
    assert step.complete
    assert step.began == 100_000_000


def test_a_fall_back_to_another_model_is_an_attempt_too(made: Made) -> None:
    made.ask([user("Hello")], 500)
    body = b'{"model":"gpt-5-mini","messages":[{"role":"user","content":"Hello"}]}'
    made.http(CHAT, 200, b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}', body)
    (step,) = steps(made.done())
    assert step.model == "gpt-5-mini"
    assert [entry.model for entry in step.entries] == ["gpt-5", "gpt-5-mini"]


def test_a_step_that_never_got_an_answer_says_why(made: Made) -> None:
    refused = Failed("httpx2", "ConnectError", ["[Errno 111] refused"], {})
    made.part(made.begin(CHAT, b'{"model":"m","messages":[]}'), PartKind.FAILURE, failed=refused)
    (step,) = steps(made.done(1))
    assert not step.complete
    assert step.answer is None
    (trouble,) = step.troubles
    assert (trouble.status, trouble.type, trouble.message) == (None, "httpx2.ConnectError", "[Errno 111] refused")


def test_an_answer_that_breaks_off_is_kept_as_far_as_it_came(made: Made) -> None:
    event = made.begin(CHAT, b'{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}')
    chunk = b'data: {"choices":[{"delta":{"content":"It is"}}]}\n\n'
    made.answer(event, 200, chunk, headers=[("content-type", "text/event-stream")], end=False)
    made.part(event, PartKind.FAILURE, failed=Failed("httpx2", "ReadError", ["reset"], {}))
    (step,) = steps(made.done(1))
    assert step.answer is not None
    assert step.answer.text == "It is"
    assert not step.complete
    assert step.troubles[0].type == "httpx2.ReadError"


def test_a_request_that_the_kill_left_unanswered_is_a_step_without_an_end(made: Made) -> None:
    made.begin(CHAT, b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}')
    (step,) = steps(made.done(None))
    assert (step.answered, step.ended, step.complete) == (None, None, False)
    assert step.troubles[0].type == "unfinished"
    assert new(step) == ["Hello"]


def test_asking_the_same_again_after_an_answer_is_a_step_of_its_own(made: Made) -> None:
    made.ask([user("Throw a die")], says("4"))
    made.ask([user("Throw a die")], says("6"))
    first, second = steps(made.done())
    assert second.news.messages == ()
    assert not second.begins
    assert first.number + 1 == second.number


def test_conversations_that_take_turns_are_told_apart(made: Made) -> None:
    plans, works = [system("Plan."), user("plan")], [system("Work."), user("work")]
    for turn in range(3):
        for messages in (plans, works):
            made.ask(messages, says(f"answer {turn}"))
            messages += [says(f"answer {turn}"), user(f"{messages[1]['content']} {turn}")]
    found = steps(made.done())
    assert [new(step) for step in found] == [
        ["Plan.", "plan"],
        ["Work.", "work"],
        ["plan 0"],
        ["work 0"],
        ["plan 1"],
        ["work 1"],
    ]
    assert [step.begins for step in found] == [True, True, False, False, False, False]
    assert [step.news.kept for step in found] == [0, 0, 2, 2, 4, 4]


def test_another_question_under_the_same_system_prompt_begins_a_conversation(made: Made) -> None:
    made.ask([system("Classify."), user("one")], says("A"))
    made.ask([system("Classify."), user("two")], says("B"))
    second = steps(made.done())[1]
    assert new(second) == ["two"]
    assert second.begins
    assert not second.news.rewritten


def test_a_history_that_was_cut_down_is_called_rewritten(made: Made) -> None:
    messages = [user("a"), says("b"), user("c"), says("d"), user("e")]
    made.ask(messages, says("f"))
    made.ask([user("summary of a to c"), *messages[3:], says("f"), user("g")], says("h"))
    second = steps(made.done())[1]
    assert new(second) == ["summary of a to c", "g"]
    assert second.news.rewritten
    assert [message.text for message in second.news.lost] == ["a", "b", "c"]


def test_what_a_lane_does_before_it_decides_belongs_to_who_made_it(made: Made) -> None:
    made.ask([user("Look both up")], calls(c1={"order": 1}, c2={"order": 2}))
    for number in (1, 2):
        made.lane(f"0.{number}", "tool")
        made.http(f"GET https://shop.example/orders/{number}", 200, b"{}", lane=f"0.{number}")
    recording = made.done()
    assert events(steps(recording)[0]) == [0, 1, 2]


def test_agents_side_by_side_keep_their_tools_apart(made: Made) -> None:
    for lane in ("0.1", "0.2"):
        made.lane(lane, "agent")
        made.ask([user(f"I am {lane}")], calls(c={"order": 1}), lane=lane)
    for lane in ("0.2", "0.1"):
        made.http(f"GET https://shop.example/{lane}", 200, b"{}", lane=lane)
    assert [events(step) for step in steps(made.done())] == [[0, 3], [1, 2]]


def test_the_same_question_in_other_lanes_is_told_each_time(made: Made) -> None:
    for lane in ("0.1", "0.2", "0.3"):
        made.lane(lane, "sample")
        made.ask([user("Throw a die")], says("4"), lane=lane)
    assert [new(step) for step in steps(made.done())] == [["Throw a die"]] * 3


def test_a_lane_for_every_call_is_one_conversation(made: Made) -> None:
    made.lane("0.1", "worker")
    made.ask([user("Hello")], calls(c1={"order": 1}), lane="0.1")
    made.http("GET https://shop.example/orders/1", 200, b"{}")
    made.lane("0.2", "worker")
    made.ask([user("Hello"), calls(c1={"order": 1}), gave("c1", "sent")], says("Sent."), lane="0.2")
    first, second = steps(made.done())
    assert events(first) == [0, 1]
    assert new(second) == ["sent"]


def test_a_lane_for_every_attempt_is_one_step(made: Made) -> None:
    answers: list[Any] = [503, 503, says("Hi")]
    for number, answer in enumerate(answers, 1):
        made.lane(f"0.{number}", "attempt")
        made.ask([user("Hello")], answer, lane=f"0.{number}")
    (step,) = steps(made.done())
    assert step.attempts == (0, 1, 2)


def test_tools_that_the_text_asks_for_belong_to_the_step_when_the_conversation_goes_on(made: Made) -> None:
    messages = [user("Look it up")]
    made.ask(messages, says("Action: fetch"))
    made.http("GET https://shop.example/orders/1", 200, b"{}")
    made.ask([*messages, says("Action: fetch"), user("Observation: sent")], says("It was sent."))
    assert [events(step) for step in steps(made.done())] == [[0, 1], [2]]


def test_what_a_person_types_belongs_to_no_step(made: Made) -> None:
    made.ask([user("Hello")], says("Hi"))
    event = made.begin("input", kind=Kind.STDIN)
    made.part(event, PartKind.VALUE, "Tromsø?".encode())
    made.ask([user("Hello"), says("Hi"), user("Tromsø?")], says("North."))
    recording = made.done()
    assert outside(recording) == [1]
    assert trajectory(recording).outside[0].value == "Tromsø?"


def test_embeddings_decide_nothing(made: Made) -> None:
    answer = b'{"model":"e-3","data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":3}}'
    made.http("POST https://api.openai.com/v1/embeddings", 200, answer, b'{"model":"e-3","input":"a"}')
    found = trajectory(made.done())
    assert found.steps == ()
    (entry,) = found.outside
    assert entry.model == "e-3"
    assert entry.usage is not None
    assert entry.usage.input == 3


def test_vectors_from_a_model_of_any_api_decide_nothing(made: Made) -> None:
    url = "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/titan/invoke"
    made.http(url, 200, b'{"embedding":[0.5],"inputTextTokenCount":1}', b'{"inputText":"a"}')
    assert steps(made.done()) == ()


def test_an_answer_that_is_fetched_later_is_of_the_step_that_asked(made: Made) -> None:
    url = "https://api.openai.com/v1/responses"
    made.http(
        f"POST {url}", 200, b'{"id":"resp_1","status":"queued","output":[]}', b'{"model":"gpt-5","input":"Think"}'
    )
    made.sleep(1.0)
    said = b'"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"42"}]}]'
    made.http(f"GET {url}/resp_1", 200, b'{"id":"resp_1","status":"in_progress","output":[]}')
    made.http(f"GET {url}/resp_1", 200, b'{"id":"resp_1","status":"completed",' + said + b"}")
    (step,) = steps(made.done())
    assert step.attempts == (0, 2, 3)
    assert step.answer is not None
    assert step.answer.text == "42"
    assert step.model == "gpt-5"
    assert step.troubles == ()
    assert events(step) == [0, 1, 2, 3]


def test_a_conversation_that_the_provider_keeps_says_only_what_is_new(made: Made) -> None:
    url = "POST https://api.openai.com/v1/responses"
    done = b'{"id":"resp_1","status":"completed","output":[]}'
    made.http(url, 200, done, b'{"model":"gpt-5","instructions":"Be brief.","input":"go on"}')
    body = b'{"model":"gpt-5","instructions":"Be brief.","previous_response_id":"resp_1","input":"go on"}'
    made.http(url, 200, done.replace(b"_1", b"_2"), body)
    first, second = steps(made.done())
    assert new(first) == ["Be brief.", "go on"]
    assert new(second) == ["go on"]
    assert not second.begins


def test_a_long_run_is_read_in_proportion_to_its_news(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counting(original: Callable[..., object]) -> Callable[..., object]:
        def reading(wire: Wire) -> object:
            read.append(len(wire.request_body))
            return original(wire)

        return reading

    monkeypatch.setattr(history, "read", counting(providers.read))
    messages = [user("Begin")]
    for number in range(60):
        answer = calls(**{f"c{number}": {"order": number}})
        made.ask(messages, answer)
        messages += [answer, gave(f"c{number}", "word " * 100)]
    found = steps(made.done())
    assert [len(new(step)) for step in found] == [1] * 60
    assert [step.news.kept for step in found[:3]] == [0, 1, 3]
    assert max(read) < 8 * 1024, "no step reads more than the last few messages"


def test_requests_that_say_more_than_can_be_held_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As differences to one another they take next to nothing on tape."""
    made = Made(tmp_path / "desk-7f3a.tape")
    for number in range(20):
        made.ask([user("long " * 20_000 + str(number))], says("Yes"))
    recording = made.done()
    assert recording.path.stat().st_size < 40_000
    assert len(trajectory(recording).steps) == 20
    monkeypatch.setattr(walk, "_MOST_TOLD", 1 << 20)
    with pytest.raises(TapeTooLargeError, match="comes to more than can be shown"):
        trajectory(recording)
