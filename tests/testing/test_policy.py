"""Which reply a policy gives, and what the server makes of a policy that fails."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import pytest
import requests

from reenact.testing import Call, Fail, ModelServer, Provider, Raw, Reply, Request, Say, Script, Stochastic, Turn

REQUEST = Request("POST", "/v1/chat/completions", MappingProxyType({}), b"{}")


def turn(index: int, model: str = "m") -> Turn:
    return Turn(Provider.OPENAI_CHAT, model, (), (), stream=False, index=index, request=REQUEST)


def post(url: str, body: object) -> requests.Response:
    return requests.post(url, json=body, timeout=5)


def ask(server: ModelServer, **body: object) -> requests.Response:
    return post(f"{server.openai}/chat/completions", {"model": "m", "messages": [], **body})


def test_a_script_gives_its_replies_in_order_and_then_fails() -> None:
    script = Script(Say("one"), lambda turn: Say(f"policy at {turn.index}"), Fail(429))
    assert [script(turn(index)) for index in range(3)] == [Say("one"), Say("policy at 1"), Fail(429)]
    assert script.left == 0
    exhausted = script(turn(3))
    assert isinstance(exhausted, Fail)
    assert (exhausted.status, exhausted.should_retry) == (500, False)
    assert "3 replies" in exhausted.message


def test_a_script_gives_each_reply_once_to_many_threads() -> None:
    replies = [Say(str(number)) for number in range(400)]
    script = Script(*replies)
    with ThreadPoolExecutor(16) as pool:
        given = list(pool.map(lambda index: script(turn(index)), range(400)))
    assert Counter(given) == Counter(replies)


def test_a_stochastic_draw_follows_from_seed_and_index_alone() -> None:
    choices = [(0.5, Say("a")), (0.5, Say("b"))]
    drawn = [Stochastic(7, choices)(turn(index)) for index in range(64)]
    backwards = Stochastic(7, choices)
    assert [backwards(turn(index)) for index in reversed(range(64))] == drawn[::-1]
    assert [Stochastic(8, choices)(turn(index)) for index in range(64)] != drawn


def test_stochastic_draws_have_the_weights_given() -> None:
    policy = Stochastic(1, {Say("often"): 3, Call("rare", {"x": 1}): 1, Say("never"): 0})
    counts = Counter(policy(turn(index)) for index in range(4000))
    # Three standard deviations of a binomial with n = 4000, p = 1/4.
    assert abs(counts[Call("rare", {"x": 1})] - 1000) < 3 * (4000 * 0.25 * 0.75) ** 0.5
    assert counts[Say("never")] == 0


def test_stochastic_can_be_keyed_on_the_turn_and_choose_policies() -> None:
    def told(turn: Turn) -> Reply:
        return Say(f"about {turn.model}")

    policy = Stochastic(3, [(1, told), (1, Fail(500))], key=lambda turn: turn.model)
    for model in "abcdefgh":
        assert len({policy(turn(index, model)) for index in range(5)}) == 1


def test_stochastic_needs_a_positive_weight() -> None:
    with pytest.raises(ValueError, match="positive"):
        Stochastic(0, [(0, Say("never"))])


def test_parallel_requests_get_the_draws_of_their_indices() -> None:
    policy = Stochastic(5, [(1, lambda turn: Say(f"{turn.index}:x")), (1, lambda turn: Say(f"{turn.index}:y"))])
    with ModelServer(policy) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(server).json()["choices"][0]["message"]["content"], range(40)))
    assert {Say(answer) for answer in answers} == {policy(turn(index)) for index in range(40)}


def test_a_policy_that_raises_is_told_to_the_client_and_raised_at_the_end() -> None:
    def policy(turn: Turn) -> Reply:
        message = f"no answer for {turn.model}"
        raise LookupError(message)

    with pytest.raises(LookupError, match="no answer for m"), ModelServer(policy) as server:
        response = ask(server)
        assert response.status_code == 500
        assert "LookupError: no answer for m" in response.json()["error"]["message"]
        assert response.headers["x-should-retry"] == "false"


def test_an_error_in_the_block_is_not_hidden_by_the_policys() -> None:
    with pytest.raises(ZeroDivisionError), ModelServer(lambda _: 1 / 0) as server:
        ask(server)
        raise ZeroDivisionError from None


def test_what_is_not_a_reply_is_a_failure_of_the_policy() -> None:
    with pytest.raises(TypeError, match="not a reply: None"), ModelServer(lambda _: None) as server:
        assert ask(server).status_code == 500


def test_arguments_that_are_no_object_cannot_be_said_where_an_object_is_sent() -> None:
    body = {"model": "m", "max_tokens": 1, "messages": []}
    with (
        pytest.raises(ValueError, match=r"arguments|delimiter|Expecting"),
        ModelServer(Script(Call("f", "[1"))) as server,
    ):
        assert post(f"{server.anthropic}/v1/messages", body).status_code == 500


def test_ids_follow_from_the_seed_and_the_index() -> None:
    def ids(seed: int) -> list[str]:
        with ModelServer(lambda _: Say("x"), seed=seed) as server:
            return [ask(server).json()["id"] for _ in range(3)]

    assert ids(1) == ids(1) != ids(2)
    assert len(set(ids(1))) == 3


def test_a_raw_reply_is_sent_as_it_is() -> None:
    reply = Raw(418, (("x-kettle", "on"), ("content-type", "text/plain")), (b"short ", b"", b"and stout"))
    with ModelServer(Script(reply), encoding="gzip") as server:
        response = ask(server)
    assert (response.status_code, response.text) == (418, "short and stout")
    assert response.headers["x-kettle"] == "on"
    assert "content-encoding" not in response.headers
