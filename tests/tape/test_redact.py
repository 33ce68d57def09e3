"""What never reaches the disk: credentials, wherever a request or the environment may hold them."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.engine.normalize import SHIPPED
from reenact.tape.journal import Piece, unpack
from reenact.tape.redact import (
    PLACEHOLDER,
    REDACTED,
    is_secret_file,
    is_secret_header,
    is_secret_name,
    redact_file,
    redact_headers,
    redact_url,
    redact_value,
)
from reenact.testing import ModelServer, Say
from tests.runs import Bench
from tests.runs import settings as addresses

SECRET = "s3cr3t-Ab/Cd+Ef=="

# Headers

SECRET_HEADERS = [
    "Authorization", "Proxy-Authorization", "X-Api-Key", "api-key", "x-goog-api-key", "Ocp-Apim-Subscription-Key",
    "x-subscription-token", "x-functions-key", "Private-Token", "X-Auth-Token", "x-amz-security-token", "Cookie",
    "xi-api-key", "x-rapidapi-key", "openai-api-key", "x-access-token", "x-vault-token", "x-shopify-access-token",
    "helicone-auth", "x-portkey-api-key", "X-Goog-Iam-Authorization-Token", "apikey", "x-apikey", "token",
    "X-CSRF-Token", "Authentication", "x_api_key", "api_key",
]  # fmt: skip
OPEN_HEADERS = [
    "Accept", "Content-Type", "User-Agent", "Idempotency-Key", "X-Request-Id", "anthropic-version", "x-stainless-lang",
    "OpenAI-Organization", "Host", "traceparent", "x-monkey", "x-tokens-used", "keep-alive", "x-author",
    "content-length",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_HEADERS)
def test_headers_that_hold_credentials_are_redacted(name: str) -> None:
    for written in (name, name.lower(), name.upper()):
        assert redact_headers([(written, SECRET)]) == ((written, REDACTED),)


@pytest.mark.parametrize("name", OPEN_HEADERS)
def test_other_headers_are_kept(name: str) -> None:
    assert redact_headers([(name, "value")]) == ((name, "value"),)


def test_the_order_and_number_of_headers_stay() -> None:
    pairs = [("a", "1"), ("Cookie", "x"), ("b", "2"), ("cookie", "y"), ("a", "3")]
    assert redact_headers(pairs) == (("a", "1"), ("Cookie", REDACTED), ("b", "2"), ("cookie", REDACTED), ("a", "3"))


def test_what_is_not_compared_as_a_credential_is_not_on_disk_either() -> None:
    """The normalizer that takes credentials out of the comparison names no header that redaction does not know."""
    (credentials,) = (strip for strip in SHIPPED if strip.name == "credentials")
    assert [name for name in credentials.headers if not is_secret_header(name)] == []


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "https://h/v1?key=<>",
        "https://h/v1?a=1&api_key=<>&b=2",
        "https://h/v1?API_KEY=<>",
        "https://h/v1?%6Bey=<>",
        "https://h/v1?access_token=<>&access_token=<>",
        "https://h/v1?appid=<>&units=metric",
        "https://h/v1?sig=<>#part",
        "https://h/v1?X-Amz-Signature=<>&X-Amz-Credential=<>",
        "https://<>@h:8443/v1?q=a",
        "https://<>@h/v1?key=<>",
    ],
)
def test_credentials_in_a_url_are_redacted(url: str) -> None:
    redacted = url.replace("<>", "%5Bredacted%5D")
    assert redact_url(url.replace("<>", "s3cr3t")) == redacted
    assert redact_url(redacted) == redacted


@pytest.mark.parametrize("user", ["user:s3cr3t", "s3cr3t", ":s3cr3t", "user:a@s3cr3t", "user:s3%40cr3t", "s3cr3t:"])
def test_user_and_password_of_a_url_are_redacted(user: str) -> None:
    assert redact_url(f"https://{user}@h:8443/v1") == "https://%5Bredacted%5D@h:8443/v1"


@pytest.mark.parametrize(
    "url",
    [
        "https://h", "https://h/", "https://h/v1/chat/completions", "https://h/v1?page=2&q=a%20b+c&empty=&bare",
        "https://h/a@b", "https://h/v1?email=a@b.example", "http://127.0.0.1:8080/v1/models?limit=5",
        "https://h/v1?monkey=1&tokens=2&keyword=x", "http://[::1]:80/x?y=z", "https://h/v1#frag",
    ],
)  # fmt: skip
def test_a_url_without_credentials_is_kept_to_the_letter(url: str) -> None:
    assert redact_url(url) == url


parameter = st.sampled_from(["key", "q", "api_key", "Token", "page", "a b"])
query = st.lists(st.tuples(parameter, st.text("abc/=&?#@%+ é", max_size=8)), max_size=5)


@given(query, st.sampled_from(["", "user@", "user:p%40ss@"]), st.sampled_from(["", "/a", "/a/b"]))
def test_only_credentials_are_taken_out_of_a_url(pairs: list[tuple[str, str]], user: str, path: str) -> None:
    url = f"https://{user}h.example{path}" + ("?" + urlencode(pairs) if pairs else "")
    parts = urlsplit(redact_url(url))
    assert (parts.scheme, parts.hostname, parts.path) == ("https", "h.example", path)
    secret = {"key", "api_key", "token"}
    expected = [(name, REDACTED if name.lower() in secret else value) for name, value in pairs]
    assert parse_qsl(parts.query, keep_blank_values=True) == expected
    assert "ss" not in parts.netloc
    assert redact_url(redact_url(url)) == redact_url(url)


# The environment

SECRET_NAMES = [
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GH_TOKEN", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "PGPASSWORD", "MYSQL_PWD", "SSHPASS", "SENTRY_DSN", "db_password", "NPM_AUTH", "GOOGLE_APPLICATION_CREDENTIALS",
    "SSH_PRIVATE", "KEY_PASSPHRASE", "DJANGO_SECRET",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_variables_that_hold_secrets_are_known_by_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "PWD", "OLDPWD", "LANG", "TZ", "VIRTUAL_ENV", "OPENAI_BASE_URL", "DEBUG"]
)
def test_other_variables_are_kept(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "postgres://<>@db:5432/main?sslmode=require",
        "https://<>@pypi.example/simple",
        "http://<>@a:1,http://<>@b:2",
        "--index https://<>@h/x --retries 3",
    ],
)
@pytest.mark.parametrize("user", ["app:s3cr3t", "s3cr3t", ":s3cr3t"])
def test_a_url_in_a_variable_stays_a_url(value: str, user: str) -> None:
    assert redact_value(value.replace("<>", user)) == value.replace("<>", "reenact-placeholder-credential")


@pytest.mark.parametrize(
    "value", ["", "/usr/bin:/bin", "a@b.example", "http://h:80/x", "https://h/@scope/pkg", "git@h:a/b.git"]
)
def test_other_values_are_kept(value: str) -> None:
    assert redact_value(value) == value


# On disk

KEYS = {
    "header": "sk-proj-Zq8hVtY3mR5wKd7Lx0Nc2Bf4Gj6Pa9Su",
    "other-header": "BSAp0o9i8u7y6t5r4e3w2q1",
    "query": "AIzaSyD-1a2b3c4d5e6f7g8h9i0jKlMnOpQrStU",
    "password": "hunter2-Xy7Kq9",
    "cookie": "session-4f9d8c7b6a5e",
    "variable": "sk-ant-api03-Rt6Yh8Uj1Ko3Lp5",
    "variable-url": "pw-5g7h9j2k4l6",
}
PROGRAM = """
import os, httpx
base, env = os.environ["BASE"] + "/v1/models?limit=3", os.environ
signed = base.replace("http://", f"http://user:{env['T_PASSWORD']}@")
headers = {"Authorization": f"Bearer {env['T_HEADER_KEY']}", "X-Subscription-Token": env["T_OTHER_TOKEN"]}
with httpx.Client(cookies={"id": env["T_COOKIE"]}) as client:
    for url in (base, signed, base + "&key=" + env["T_QUERY_KEY"]):
        print(client.get(url, headers=headers if url is base else {}).status_code)
print(len(env["ANTHROPIC_API_KEY"]) > 4, "@db" in env["DATABASE_URL"])
"""


def test_no_credential_of_a_run_is_on_disk(bench: Bench) -> None:
    env = {
        "T_HEADER_KEY": KEYS["header"], "T_OTHER_TOKEN": KEYS["other-header"], "T_QUERY_KEY": KEYS["query"],
        "T_PASSWORD": KEYS["password"], "T_COOKIE": KEYS["cookie"], "ANTHROPIC_API_KEY": KEYS["variable"],
        "DATABASE_URL": f"postgres://app:{KEYS['variable-url']}@db/main",
    }  # fmt: skip
    with ModelServer(lambda _turn: Say("Hello.")) as server:
        run = bench.record(PROGRAM, env={**addresses(server), **env})
        first, second, third = server.requests
    assert run.text == "200\n200\n200\nTrue True\n"
    assert first.headers["authorization"] == f"Bearer {KEYS['header']}", "what the agent sends is not touched"
    basic = base64.b64encode(f"user:{KEYS['password']}".encode()).decode()
    assert second.headers["authorization"] == f"Basic {basic}"
    assert KEYS["query"] in third.query
    disk = b"".join(path.read_bytes() for path in bench.store.root.iterdir())
    plain = repr(list(journal(run.path))).encode()
    assert [key for key in (*KEYS.values(), basic) if key.encode() in disk + plain] == []
    assert plain.count(b"%5Bredacted%5D") == 2 * 2, "the password in one URL and the key in another; in the index too"
    assert b"limit=3" in plain
    run.reproduced()


def journal(path: Path) -> Iterator[object]:
    """Every record of the tape, and every row of its tables."""
    with closing(sqlite3.connect(path)) as db:
        yield from unpack(Piece(*row) for row in db.execute("SELECT * FROM piece ORDER BY id"))
        yield from db.execute("SELECT * FROM run")
        yield from db.execute("SELECT * FROM event")


# Files

HELD = "hunter2-correct-horse"
SECRET_FILES = {
    ".env": f"OPENAI_API_KEY={HELD}  # mine\nexport DB_PASSWORD=\"{HELD}\"\nMODEL=gpt-4o\nGH_TOKEN = '{HELD}'\n",
    ".env.local": f"SECRET={HELD}\r\nREGION=eu\r\n",
    "home/.aws/credentials": f"[default]\naws_access_key_id = {HELD}\naws_secret_access_key={HELD}\nregion = eu-west-1\n",
    ".netrc": f"machine api.github.com\n  login someone\n  password {HELD}\n",
    "client_secret.json": f'{{"installed": {{"client_id": "x", "client_secret": "{HELD}", "auth_uri": "https://a"}}}}',
    "gcloud/application_default.json": f'{{"type": "user", "refresh_token":"{HELD}"}}',
    "home/.config/tool/token": f"{HELD}\n",
    ".ssh/id_ed25519": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{HELD}\n{HELD}==\n-----END OPENSSH PRIVATE KEY-----\n",
    "secrets.yaml": f"api_key: {HELD}\nname: shop\n",
    ".docker/config.json": f'{{"auths": {{"registry": {{"auth": "{HELD}"}}}}}}',
}
KEPT = ("MODEL=gpt-4o", "REGION=eu\r\n", "region = eu-west-1", "login someone", '"auth_uri": "https://a"', "name: shop")


@pytest.mark.parametrize("path", SECRET_FILES)
def test_a_file_that_holds_credentials_is_kept_without_them(path: str) -> None:
    content = SECRET_FILES[path]
    assert is_secret_file(path)
    redacted = redact_file(path, content.encode()).decode()
    assert HELD not in redacted
    assert PLACEHOLDER in redacted
    assert redact_file(path, redacted.encode()).decode() == redacted
    assert [text for text in KEPT if text in content] == [text for text in KEPT if text in redacted]
    if path.endswith(".json"):
        assert json.loads(redacted).keys() == json.loads(content).keys()


@pytest.mark.parametrize(
    "path", ["prompt.txt", "environment.py", "notes/keys of success.md", "tokenizer.json", "src/secretary.py", "a.csv"]
)
def test_any_other_file_is_kept_as_it_is(path: str) -> None:
    content = f"API_KEY={HELD}".encode()
    assert not is_secret_file(path)
    assert redact_file(path, content) == content


@given(st.binary(max_size=200), st.sampled_from([".env", "credentials.json", "a.txt", "key.pem"]))
def test_what_is_redacted_stays_as_it_is(content: bytes, path: str) -> None:
    once = redact_file(path, content)
    assert redact_file(path, once) == once


def test_keys_of_the_test_look_like_keys() -> None:
    assert all(re.search(r"[a-zA-Z].*\d", key) and len(key) > 12 for key in KEYS.values())
