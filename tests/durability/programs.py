"""What is recorded while it is watched: programs that print each question with its answer."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from reenact.testing import Say
from reenact.testing.turn import Turn

_ASKING = """
    import json, os
    import httpx

    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"

    def ask(history, question, stream=False):
        history.append({"role": "user", "content": question})
        body = {"model": "m", "messages": history, "stream": stream}
        headers = {"x-pid": str(os.getpid())}
        if stream:
            with httpx.stream("POST", url, json=body, headers=headers) as answer:
                chunks = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: {")]
            said = "".join(one["delta"].get("content") or "" for chunk in chunks for one in chunk["choices"])
        else:
            said = httpx.post(url, json=body, headers=headers).json()["choices"][0]["message"]["content"]
        history.append({"role": "assistant", "content": said})
        print(question, said, sep="\\t", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and how it is started: `recorded` by the command line, or it records itself."""

    text: str
    recorded: bool = True

    @property
    def source(self) -> str:
        return textwrap.dedent(_ASKING) + textwrap.dedent(self.text)

    @property
    def resumable(self) -> bool:
        return self.recorded and "multiprocessing" not in self.text

    @property
    def command(self) -> tuple[str, ...]:
        return (*(("-m", "reenact", "record", "--quiet") if self.recorded else ()), "agent.py")


ALONE = Program("""
    history = []
    for n in range(3):
        ask(history, f"question {n}", stream=n == 1)
""")

IN_CODE = Program(
    """
    import reenact

    with reenact.record("block"):
        history = []
        for n in range(3):
            ask(history, f"question {n}", stream=n == 1)
    """,
    recorded=False,
)

WITH_PROCESSES = Program("""
    import multiprocessing

    if __name__ == "__main__":
        ask([], "before")
        process = multiprocessing.get_context("fork").Process(target=ask, args=([], "inside", True))
        process.start()
        process.join()
        ask([], "after")
""")

IN_FILES = Program("""
    import pathlib

    config, work = pathlib.Path("config.txt").read_text(), pathlib.Path("work.txt")
    work.write_text("begun with " + config)
    history = []
    for n in range(4):
        ask(history, f"question {n}")
        work.write_text(f"{work.read_text()} and {n}")
""")

PROGRAMS = {"alone": ALONE, "in code": IN_CODE, "with processes": WITH_PROCESSES}


def answer(turn: Turn) -> Say:
    """What the model says."""
    return Say(f"answer to {turn.prompt}, in words that make a stream of several chunks")
