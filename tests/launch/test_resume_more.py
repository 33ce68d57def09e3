"""Runs that are hard to go on with: children of an event loop, streams beside other lanes, and what goes wrong on the way."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from reenact.launch import rewinding
from reenact.tape.writer import TapeWriter
from reenact.testing import ModelServer
from tests.launch.test_resume import SYNC, Killer, last, resume, verified
from tests.runs import Bench, settings

CHILDREN = """
    import asyncio

    LINE = "echo $0 >> effects; if [ -e flag ] && [ $0 = two ]; then rm flag; kill -9 $PPID; sleep 0.2; fi; echo $0 done"

    async def child(word):
        pipe, same = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        made = await asyncio.create_subprocess_exec("sh", "-c", LINE, word, stdout=pipe, stderr=same)
        said, _ = await made.communicate()
        return said.decode().strip()

    async def main():
        print(await child("one"), flush=True)
        print(await asyncio.gather(child("two"), asyncio.sleep(0.01, "slept")), flush=True)
        print(await child("three"), flush=True)

    asyncio.run(main())
"""


def test_a_child_of_a_loop_that_was_running_is_started_again_only_if_the_user_says_so(bench: Bench) -> None:
    (bench.folder / "flag").touch()
    bench.record(CHILDREN)
    effects = bench.folder / "effects"
    done = resume(bench)
    assert done.status == 2
    assert b"child process start `sh -c" in done.stderr
    assert effects.read_text().split() == ["one", "two"]
    done = resume(bench, "--retry")
    assert effects.read_text().split() == ["one", "two", "two", "three"], done.stderr.decode()
    assert done.stdout.decode().splitlines() == ["one done", "['two done', 'slept']", "three done"]
    verified(last(bench, done))


STREAM_AMONG_OTHERS = """
    import asyncio, os
    import httpx
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"x-pid": str(os.getpid())}

    async def streamed(client):
        lines = []
        body = {"model": "m", "messages": [{"role": "user", "content": "streamed"}], "stream": True}
        async with client.stream("POST", url, json=body, headers=headers) as answer:
            async for line in answer.aiter_lines():
                lines.append(line)
                if len(lines) == 1:
                    print("it begins", flush=True)
        return len([line for line in lines if line.startswith("data: {")])

    async def asking(client, who):
        for n in range(3):
            body = {"model": "m", "messages": [{"role": "user", "content": f"{who} {n}"}]}
            said = (await client.post(url, json=body, headers=headers)).json()
            print(who, n, said["choices"][0]["message"]["content"], flush=True)

    async def main():
        async with httpx.AsyncClient() as client, asyncio.timeout(60):
            chunks, *_ = await asyncio.gather(streamed(client), asking(client, "a"), asking(client, "b"))
            print(chunks > 3, flush=True)

    asyncio.run(main())
"""


def test_a_stream_that_was_cut_off_is_asked_for_again_and_other_lanes_keep_what_they_had(bench: Bench) -> None:
    """Its chunks come slowly: the other lanes have all their answers when the run is killed."""
    with ModelServer(Killer(6, after=0.3), chunk_delay=0.4) as server:
        killed = bench.record(STREAM_AMONG_OTHERS, env=settings(server))
        open_ones = [event for event in killed.http if not event.complete]
        assert len(open_ones) == 1, "only the stream is under way"
        assert open_ones[0].parts, "and has come in part"
        whole, asked = len(killed.http) - 1, len(server.requests)
        done = resume(bench, "--retry", server=server)
        tape = verified(last(bench, done))
        assert len(server.requests) - asked == 7 - whole
    assert sorted(done.stdout.split(b"\n"))[1:] == sorted(
        [
            *(
                f"{who} {n} answer to {who} {n}, in words enough for a stream of several chunks".encode()
                for who in "ab"
                for n in range(3)
            ),
            b"True",
            b"it begins",
        ]
    )
    assert all(event.complete for event in tape.events)


def broken(bench: Bench, what: str) -> None:
    """From now on the program's process has this in it, before its first line: a fault of ours."""
    (bench.folder / "sitecustomize.py").write_text(textwrap.dedent(what), encoding="utf-8")


ASKING_ON = SYNC.replace(
    'said = client.post(url, json={"model": "m", "messages": history}, headers=asking).json()',
    'try:\n                said = client.post(url, json={"model": "m", "messages": history}, headers=asking).json()\n'
    "            except Exception as error:\n                print('the program saw', repr(error), flush=True)\n"
    "                raise",
)


@pytest.mark.parametrize("fails", ["rewinding.Rewound.put_back", "onward.TapeWriter.resume", "onward.TapeWriter.guard"])
def test_a_failure_on_the_way_to_live_reaches_nobody_and_is_told(bench: Bench, fails: str) -> None:
    with ModelServer(Killer(3)) as server:
        bench.record(ASKING_ON, env=settings(server) | {"PYTHONPATH": str(bench.folder)})
        (bench.folder / "log.txt").write_text("words of the user")
        before = len(server.requests), bench.store.ids()
        broken(
            bench,
            f"""
            from reenact.launch import onward, rewinding
            def fails(*given):
                raise OSError(28, "No space left on device")
            {fails} = fails
        """,
        )
        done = resume(bench, "--retry", server=server)
        assert (len(server.requests), bench.store.ids()) == before
    told = done.stderr.decode()
    assert done.status == 1, told
    assert b"the program saw" not in done.stdout
    assert "No space left on device" in told
    assert "was not resumed" in told
    assert (bench.folder / "log.txt").read_text() == "words of the user"
    assert not list(bench.store.root.glob("*.before"))


def test_a_fault_of_ours_after_it_went_live_is_told_and_harms_nobody(bench: Bench) -> None:
    with ModelServer(Killer(3)) as server:
        bench.record(SYNC, env=settings(server) | {"PYTHONPATH": str(bench.folder)})
        broken(
            bench,
            """
            from reenact.engine.session import Session
            real = Session.began_event if hasattr(Session, "began_event") else None
            from reenact.tape.writer import TapeWriter
            commit = TapeWriter.commit
            def failing(self):
                if self.commits > 4:
                    raise RuntimeError("a fault of ours")
                return commit(self)
            TapeWriter.commit = failing
        """,
        )
        done = resume(bench, "--retry", server=server)
    told = done.stderr.decode()
    assert done.status == 0, told
    assert done.stdout.decode().splitlines()[-1] == "done True"
    assert "a fault of ours" in told
    assert "incomplete" in told


CLOSING = SYNC.replace(
    'print("done", time.time() > 0)',
    "number = os.open('probe', os.O_RDWR | os.O_CREAT); os.close(number)\n    os.closerange(3, 4096)\n"
    "    again = os.open('probe', os.O_RDWR)\n"
    "    said = httpx.post(url, json={'model': 'm', 'messages': history}).status_code\n"
    "    print('done', number < 100, again == 3, said)",
)


def test_the_descriptors_of_the_tape_are_in_nobodys_way_after_it_went_live(bench: Bench) -> None:
    """The program may close all that it knows of, gets the numbers that it gets without us, and is on tape to its end."""
    with ModelServer(Killer(3)) as server:
        bench.record(CLOSING, env=settings(server))
        done = resume(bench, "--retry", server=server)
        assert done.stdout.decode().splitlines()[-1] == "done True True 200", done.stderr.decode()
        run = last(bench, done)
    assert len([event for event in run.tape.events if event.name.startswith("POST")]) == 9
    assert {note.slug for note, _ in run.tape.notes} == {"resumed"}


def test_a_resumption_that_is_under_way_is_left_alone(tmp_path: Path, bench: Bench) -> None:
    """Another one puts back only the files of those that are over."""
    kept = bench.folder / "config.txt"
    kept.write_text("of today")
    run, path = bench.store.new("agent")
    writer = TapeWriter.create(path, run, "agent", 1)
    rewinding.Rewound(rewinding.folder(path)).keep(kept)
    assert rewinding.interrupted(bench.store) == []
    writer.close()
    assert rewinding.interrupted(bench.store) == [rewinding.folder(path)]
    path.unlink()
    assert rewinding.interrupted(bench.store) == [rewinding.folder(path)]
    assert not path.exists(), "to ask makes no tape"
