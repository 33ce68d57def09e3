"""Libraries that speak a protocol of their own over sockets, against the real servers: databases and mail."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink

from tests.runs import Bench

NOBODY = 65534
PG8000 = """
    import os, pg8000.native
    link = pg8000.native.Connection("agent", host="127.0.0.1", port=int(os.environ["PORT"]), database="postgres")
    link.run("create temp table notes(number int, written timestamptz default clock_timestamp())")
    for number in range(3):
        link.run("insert into notes(number) values (:number)", number=number)
    for row in link.run("select number, written, random() from notes"):
        print(row)
    try:
        link.run("select * from nothing")
    except Exception as error:
        print(type(error).__name__, error.args[0]["M"])
    link.close()
"""
ASYNCPG = """
    import asyncio, asyncpg, os
    async def main():
        where = f"postgresql://agent@127.0.0.1:{os.environ['PORT']}/postgres"
        pool = await asyncpg.create_pool(where, min_size=2, max_size=3)
        async def ask(number):
            async with pool.acquire() as link, link.transaction():
                return await link.fetchrow("select $1::int, now(), random(), pg_backend_pid()", number)
        for row in await asyncio.gather(*map(ask, range(5))):
            print(tuple(row))
        async with pool.acquire() as link:
            try:
                await link.execute("select 1 / 0")
            except asyncpg.DivisionByZeroError as error:
                print(repr(error))
        await pool.close()
    asyncio.run(main())
"""
SMTP = """
    import os, smtplib
    from email.message import EmailMessage
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "a note"
    message.set_content("hello")
    with smtplib.SMTP("127.0.0.1", int(os.environ["PORT"])) as link:
        print(link.ehlo(), link.send_message(message), link.noop())
        try:
            link.sendmail("a@example.org", ["nobody"] * 2, "x" * 10)
        except smtplib.SMTPException as error:
            print(repr(error))
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[subprocess.Popen[bytes]]:
    """A PostgreSQL of its own, on a free port, which is its `args[-1]`."""
    initdb, server = shutil.which("initdb"), shutil.which("postgres")
    if initdb is None or server is None:
        pytest.skip("no PostgreSQL here: neither initdb nor postgres is on the path")
    folder = Path(tempfile.mkdtemp(prefix="reenact-postgres-"))
    as_nobody: list[str] = []
    if os.geteuid() == 0:  # it refuses to run as root
        os.chown(folder, NOBODY, NOBODY)
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    port = str(_free_port())
    data = str(folder / "data")
    made = subprocess.run(
        [*as_nobody, initdb, "-D", data, "-U", "agent", "-A", "trust", "--no-sync"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    command = [*as_nobody, server, "-D", data, "-k", str(folder), "-h", "127.0.0.1", "-F", "-p", port]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    told = b""
    while b"ready to accept connections" not in told:
        line = process.stdout.readline()
        assert line, told.decode()
        told += line
    yield process
    process.terminate()
    process.communicate()
    shutil.rmtree(folder)


@pytest.mark.parametrize("program", [PG8000, ASYNCPG], ids=["pg8000", "asyncpg"])
def test_what_a_database_answers_comes_back(
    bench: Bench, postgres: subprocess.Popen[bytes], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert isinstance(postgres.args, list)
    run = bench.record(program, env={"PORT": str(postgres.args[-1])})
    assert run.status == 0, run.stderr.decode()
    # the replay's own network has no database: the processes and the moments are those of the recording
    run.reproduced()


def test_what_a_mail_server_answers_comes_back(bench: Bench) -> None:
    server = Controller(Sink(), hostname="127.0.0.1", port=_free_port())
    server.start()
    run = bench.record(SMTP, env={"PORT": str(server.port)})
    server.stop()
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
