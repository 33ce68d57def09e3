"""What a request adds to the one before it."""

from __future__ import annotations

import json
from itertools import pairwise

from reenact.providers import Message, ModelCall, Text, Thinking, ToolCall, ToolResult, Wire, news, read

SYSTEM = Message("system", (Text("be brief"),))
ASK = Message("user", (Text("weather in Oslo?"),))
CALL = Message("assistant", (Thinking("hm"), ToolCall("c1", "weather", '{"city":"Oslo"}')))
RESULT = Message("tool", (ToolResult("c1", "weather", "rain"),))
MORE = Message("user", (Text("and tomorrow?"),))


def call(*messages: Message, answer: Message | None = None, continues: str | None = None) -> ModelCall:
    return ModelCall(provider="p", api="a.b", model="m", messages=messages, answer=answer, continues=continues)


def test_of_the_first_call_all_is_new() -> None:
    assert news(None, call(SYSTEM, ASK)).messages == (SYSTEM, ASK)


def test_the_answer_handed_back_is_no_news() -> None:
    found = news(call(SYSTEM, ASK, answer=CALL), call(SYSTEM, ASK, CALL, RESULT))
    assert found.messages == (RESULT,)
    assert (found.kept, found.echo, found.rewritten, found.lost) == (2, CALL, False, ())


def test_the_answer_is_known_again_in_other_words() -> None:
    other = Message("assistant", (ToolCall("made-anew", "weather", '{ "city": "Oslo" }'),))
    found = news(call(ASK, answer=CALL), call(ASK, other, RESULT))
    assert (found.messages, found.echo) == ((RESULT,), other)


def test_thinking_put_into_the_text_is_still_an_echo() -> None:
    answer = Message("assistant", (Thinking("hm"), Text("rain")))
    other = Message("assistant", (Text("<think>\nhm\n</think>\n\nrain"),))
    assert news(call(ASK, answer=answer), call(ASK, other, MORE)).messages == (MORE,)


def test_an_answer_that_was_changed_is_news() -> None:
    other = Message("assistant", (ToolCall("c1", "weather", '{"city":"Rome"}'),))
    found = news(call(ASK, answer=CALL), call(ASK, other, RESULT))
    assert (found.messages, found.echo, found.rewritten) == ((other, RESULT), None, False)


def test_the_same_request_again_has_no_news() -> None:
    found = news(call(SYSTEM, ASK), call(SYSTEM, ASK))
    assert (found.messages, found.kept, found.rewritten) == ((), 2, False)


def test_thinking_that_is_left_out_rewrites_nothing() -> None:
    without = Message("assistant", CALL.parts[1:])
    found = news(call(ASK, CALL, RESULT), call(ASK, without, RESULT, MORE))
    assert (found.messages, found.rewritten) == ((MORE,), False)


def test_a_message_that_grew_gives_what_was_added() -> None:
    grown = Message("user", (*ASK.parts, Text("please")))
    found = news(call(SYSTEM, ASK), call(SYSTEM, grown, MORE))
    assert found.messages == (Message("user", (Text("please"),)), MORE)
    assert (found.kept, found.rewritten) == (2, False)


def test_another_system_prompt_is_a_rewritten_history() -> None:
    other = Message("system", (Text("it is 12:01"),))
    found = news(call(SYSTEM, ASK, answer=CALL), call(other, ASK, CALL, RESULT))
    assert found.messages == (other, RESULT)
    assert (found.kept, found.rewritten, found.lost, found.echo) == (0, True, (SYSTEM,), CALL)


def test_a_compacted_history_tells_what_was_lost() -> None:
    summary = Message("user", (Text("so far: rain"),))
    found = news(call(SYSTEM, ASK, CALL, RESULT), call(SYSTEM, summary, MORE))
    assert found.messages == (summary, MORE)
    assert (found.kept, found.rewritten, found.lost) == (1, True, (ASK, CALL, RESULT))


def test_a_dropped_message_is_told_though_nothing_is_new() -> None:
    found = news(call(SYSTEM, ASK, MORE), call(SYSTEM, MORE))
    assert (found.messages, found.rewritten, found.lost) == ((), True, (ASK,))


def test_another_order_is_a_rewritten_history_without_loss() -> None:
    found = news(call(ASK, MORE), call(MORE, ASK))
    assert (found.messages, found.rewritten, found.lost) == ((), True, ())


def test_a_repeated_message_is_new_each_time() -> None:
    found = news(call(ASK), call(ASK, ASK))
    assert (found.messages, found.rewritten) == ((ASK,), False)


def test_where_the_provider_keeps_the_history_all_but_the_system_prompt_is_new() -> None:
    found = news(call(SYSTEM, ASK, answer=CALL), call(SYSTEM, RESULT, continues="resp_1"))
    assert (found.messages, found.kept, found.rewritten) == ((RESULT,), 1, False)
    again = news(call(SYSTEM, ASK), call(SYSTEM, ASK, continues="resp_1"))
    assert again.messages == (ASK,)


def test_recorded_conversations_add_up(cassettes: dict[str, list[Wire]]) -> None:
    pairs = rewritten = echoed = 0
    for name, exchanges in cassettes.items():
        calls = [reading for wire in exchanges if isinstance(reading := read(wire), ModelCall) and reading.messages]
        for before, after in pairwise(calls):
            if before.api != after.api or len(after.messages) <= len(before.messages) or after.continues:
                continue
            found = news(before, after)
            pairs += 1
            rewritten += found.rewritten
            echoed += found.echo is not None
            if not found.rewritten:
                echo = 0 if found.echo is None else 1
                assert found.kept + echo + len(found.messages) == len(after.messages), name
                assert found.kept == len(before.messages), name
            assert all(message in after.messages for message in found.messages), name
    assert (pairs, rewritten, echoed) == (159, 0, 153)


def test_a_long_history_takes_linear_time() -> None:
    turn = {"role": "user", "content": "x" * 200}
    reply = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    bodies = [json.dumps({"model": "m", "messages": [turn, reply] * n}).encode() for n in (2000, 2001)]
    wires = [Wire("POST", "https://api.openai.com/v1/chat/completions", (), b, None, (), b"") for b in bodies]
    before, after = (reading for wire in wires if isinstance(reading := read(wire), ModelCall))
    assert len(news(before, after).messages) == 2
