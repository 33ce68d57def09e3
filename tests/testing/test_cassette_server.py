"""Recorded exchanges come back: each answer as recorded, in order, and cut where it may be cut."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import urlsplit

import anthropic
import boto3
import httpx
import openai
import pytest
import urllib3
from botocore.config import Config

from reenact.testing import CassetteServer, Cut, read_cassettes

FILES = (
    "anthropic",
    "bedrock",
    "google",
    "groq",
    "mcp_mixed",
    "mixed",
    "openai_chat",
    "openai_other",
    "openai_responses",
)


def exchange(
    url: str, body: str, *, method: str = "POST", kind: str = "application/json", **headers: str
) -> dict[str, object]:
    response = {"status": 200, "headers": {"content-type": kind, **headers}, "body": body}
    return {"request": {"method": method, "url": f"https://api.example.com{url}", "headers": {}}, "response": response}


def body_of(message: dict[str, str]) -> bytes:
    return base64.b64decode(message["body_b64"]) if "body_b64" in message else message.get("body", "").encode()


def test_answers_come_in_recorded_order_for_each_method_and_path() -> None:
    records = [exchange("/a", "1"), exchange("/b", "2"), exchange("/a", "3"), exchange("/a", "4", method="GET")]
    with CassetteServer(records) as server, httpx.Client(base_url=server.url) as client:
        assert [client.post(path).text for path in ("/a", "/a", "/b")] == ["1", "3", "2"]
        assert server.left == 1
        assert client.get("/a").text == "4"
        assert [request.target for request in server.requests] == ["/a", "/a", "/b", "/a"]


def test_the_query_counts_and_percent_encoding_of_the_path_does_not() -> None:
    records = [exchange("/m%3A0/x?alt=sse", "sse"), exchange("/m:0/x", "plain")]
    with CassetteServer(records) as server, httpx.Client(base_url=server.url) as client:
        assert client.post("/m:0/x").text == "plain"
        assert client.post("/m:0/x?alt=sse").text == "sse"


def test_a_query_that_was_never_recorded_does_not_count() -> None:
    records = [exchange("/a?beta=true", "1"), exchange("/a?page=2", "2")]
    with CassetteServer(records) as server, httpx.Client(base_url=server.url) as client:
        assert [client.post(path).text for path in ("/a?page=2", "/a?page=3")] == ["2", "1"]
        assert client.post("/a").status_code == 404


def test_a_request_with_nothing_left_for_it_is_told_so() -> None:
    with CassetteServer([exchange("/a", "1")]) as server, httpx.Client(base_url=server.url) as client:
        client.post("/a")
        spent, unknown = client.post("/a"), client.post("/b")
    assert (spent.status_code, unknown.status_code) == (404, 404)
    assert "every recorded answer has been given for POST /a" in spent.json()["error"]["message"]
    assert "nothing was recorded for POST /b" in unknown.json()["error"]["message"]


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (Cut(), ["data: ä\n\n", "event: x\r\ndata: b\r\n\r\n", "data: c\n\n", "tail"]),
        (Cut(events=2), ["data: ä\n\nevent: x\r\ndata: b\r\n\r\n", "data: c\n\ntail"]),
    ],
)
def test_a_stream_of_events_is_cut_where_events_end(cut: Cut, expected: list[str]) -> None:
    body = "data: ä\n\nevent: x\r\ndata: b\r\n\r\ndata: c\n\ntail"
    records = [exchange("/s", body, kind="text/event-stream; charset=utf-8", **{"content-length": "999"})]
    with CassetteServer(records, cut=cut) as server, urllib3.PoolManager() as pool:
        response = pool.request("POST", f"{server.url}/s", preload_content=False)
        assert [chunk.decode() for chunk in response.read_chunked()] == expected


def test_a_body_can_be_cut_by_size_in_the_middle_of_a_character() -> None:
    records = [exchange("/s", "data: ä\n\n", kind="text/event-stream")]
    with CassetteServer(records, cut=Cut(size=7)) as server, urllib3.PoolManager() as pool:
        response = pool.request("POST", f"{server.url}/s", preload_content=False)
        assert list(response.read_chunked()) == [b"data: \xc3", b"\xa4\n\n"]


def test_a_cut_that_would_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Cut(events=0)
    with pytest.raises(ValueError, match="at least one"):
        Cut(size=0)


def test_codings_and_delays_apply_to_recorded_answers() -> None:
    records = [exchange("/s", "data: a\n\ndata: b\n\n", kind="text/event-stream")]
    with CassetteServer(records, encoding="gzip", chunk_delay=0.01) as server:
        response = httpx.post(f"{server.url}/s")
    assert response.headers["content-encoding"] == "gzip"
    assert response.text == "data: a\n\ndata: b\n\n"
    assert response.elapsed.total_seconds() >= 0.01


def test_a_file_that_is_no_cassette_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"cassette": "a", "provider": "p", "exchanges": []}\n{"cassette": "b"}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"broken\.jsonl:2:"):
        CassetteServer(path)


@pytest.mark.parametrize("name", FILES)
def test_all_recorded_traffic_comes_back_byte_by_byte(traffic: Path, name: str) -> None:
    path = traffic / f"{name}.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with CassetteServer(path) as server, urllib3.PoolManager() as pool:
        for each in (each for record in records for each in record["exchanges"]):
            url = urlsplit(each["request"]["url"])
            target = f"{server.url}{url.path}" + (f"?{url.query}" if url.query else "")
            response = pool.request(each["request"]["method"], target, body=body_of(each["request"]), retries=False)
            assert response.status == each["response"]["status"]
            assert response.data == body_of(each["response"])
            assert response.headers["content-type"] == each["response"]["headers"]["content-type"]
        assert server.left == 0
        assert len(server.requests) == sum(len(record["exchanges"]) for record in records)


def recorded(traffic: Path, name: str, path: str, kind: str) -> tuple[dict[str, object], dict[str, object]]:
    """The first exchange of a file with this end of its path and kind of body: its request body, and itself."""
    for line in (traffic / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        for each in json.loads(line)["exchanges"]:
            target = each["request"]["url"].partition("?")[0]
            if target.endswith(path) and kind in each["response"]["headers"]["content-type"]:
                return json.loads(each["request"]["body"]), each
    pytest.skip(f"no {kind} of {path} in {name}")


def test_the_openai_sdk_reads_a_recorded_stream(traffic: Path) -> None:
    body, each = recorded(traffic, "openai_chat", "/v1/chat/completions", "event-stream")
    with CassetteServer([each], cut=Cut(size=13)) as server:
        with openai.OpenAI(base_url=server.openai, api_key="any", max_retries=0) as sdk:
            chunks = list(sdk.chat.completions.create(**body))
    assert len(chunks) == each["response"]["body"].count("data: {")


def test_the_anthropic_sdk_reads_a_recorded_stream(traffic: Path) -> None:
    body, each = recorded(traffic, "anthropic", "/v1/messages", "event-stream")
    with CassetteServer([each]) as server:
        with anthropic.Anthropic(base_url=server.anthropic, api_key="any", max_retries=0) as sdk:
            events = list(sdk.beta.messages.create(**body))
    assert (events[0].type, events[-1].type) == ("message_start", "message_stop")


def test_boto3_reads_a_recorded_stream(traffic: Path) -> None:
    body, each = recorded(traffic, "bedrock", "/converse-stream", "eventstream")
    model = urlsplit(each["request"]["url"]).path.split("/")[2].replace("%3A", ":")
    with CassetteServer([each]) as server:
        sdk = boto3.Session(aws_access_key_id="any", aws_secret_access_key="any", region_name="us-east-1").client(
            "bedrock-runtime", endpoint_url=server.bedrock, config=Config(retries={"total_max_attempts": 1})
        )
        events = list(sdk.converse_stream(modelId=model, messages=body["messages"])["stream"])
        sdk.close()
    assert "messageStart" in events[0]
    assert "metadata" in events[-1]


def test_cassettes_can_be_read_one_by_one(traffic: Path) -> None:
    cassettes = list(read_cassettes(traffic / "groq.jsonl"))
    assert {cassette.provider for cassette in cassettes} == {"groq"}
    with CassetteServer(cassettes[0].exchanges) as server:
        assert server.left == len(cassettes[0].exchanges)
