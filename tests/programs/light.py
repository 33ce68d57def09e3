"""An agent that starts quickly: plain httpx, answers whole and streamed, and each of its lines goes out at once."""

from __future__ import annotations

import os
import random
import sys
import time

import httpx

URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"


def body(text: str, *, stream: bool) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "stream": stream}


def main() -> None:
    history = "start"
    with httpx.Client() as client:
        for step in range(int(sys.argv[1])):
            prompt = f"{step} {random.random()} {time.time_ns()} {history[-200:]}"
            if step % 2:
                with client.stream("POST", URL, json=body(prompt, stream=True)) as response:
                    answer = b"".join(response.iter_raw()).decode()
            else:
                answer = client.post(URL, json=body(prompt, stream=False)).text
            history += answer
            print(step, len(answer), hash(answer), flush=True)


main()
