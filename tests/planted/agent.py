"""An agent that lets secrets go wherever it can. Each is in a variable of its own, or in its source, or comes to it."""

import asyncio
import base64
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import traceback
import urllib.parse
from pathlib import Path

import aiohttp
import httpx
import httpx2
import requests
import websockets.asyncio.client
import websockets.sync.client
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

import reenact

ADDRESSES = ("BASE", "RAW", "DATAGRAMS", "CHAT", "PACKED_CHAT")
BASE, RAW, DATAGRAMS, CHAT, PACKED_CHAT = (os.environ[f"T_{name}"] for name in ADDRESSES)


SAID = re.compile(rb'"(?:content|delta|text|arguments|partial_json)": ?"((?:[^"\\]|\\.)*)"')
CODED = re.compile(rb'"bytes":"([^"]*)"')


def of(place: str) -> str:
    """The secret of that place."""
    return os.environ[f"{place.upper().replace('-', '_')}_SECRET"]


@reenact.tool
def lookup(question: str) -> dict[str, str]:
    """A tool."""
    if question == "fail":
        raise LookupError(of("tool-error"))
    return {"found": of("tool-result")}


def work(queue: "multiprocessing.Queue[str]") -> None:
    """In another process."""
    print("worker has", of("process-output"), flush=True)
    queue.put(of("process-message"))


def ask(path: str, **more: object) -> httpx.Response:
    """One exchange."""
    return httpx.post(BASE + path, timeout=30, **more)  # type: ignore[arg-type]


def requests_and_answers() -> None:
    """HTTP."""
    ask("/echo", headers={"Authorization": f"Bearer {of('header')}", "X-Team": of("plain-header")})
    ask("/echo?q=1&api_key=" + of("query"))
    ask("/files/" + of("path"))
    ask("/echo", json={"prompt": f"the key is {of('request-body')}."})
    for near in ("delta", "delta-other"):
        ask("/echo", json={"history": "x" * 400, "near": of(near)})
    ask("/echo", data={"grant": "code", "client_secret": "Form-Secret-77aa88bb"})
    ask("/echo", json={"encoded": base64.b64encode(f"user:{of('base64')}:x".encode()).decode()})
    ask("/echo", content=urllib.parse.urlencode({"q": of("quoted")}))
    ask("/echo", json={"text": of("escaped")})
    print(len(ask("/answer").text), len(ask("/split").text), len(ask("/gzip").text), len(ask("/head").headers))
    print([len(ask(f"/{coding}").text) for coding in ("deflate", "br", "zstd")])
    print([len(requests.get(f"{BASE}/{coding}", timeout=30).text) for coding in ("deflate", "br")])
    print(len(requests.post(BASE + "/framed", timeout=30).text))
    ask("/echo", auth=("someone", "Basic-Password-31xy"))
    client = httpx.Client(base_url=BASE, timeout=30)
    token = client.post("/login").json()["access_token"]
    client.get("/me", headers={"Authorization": f"Bearer {token}"})
    print("signed on with", token, client.cookies.get("sid"))
    ask("/echo", headers={"Authorization": "Bearer Literal-Key-5566aabb"})
    print("the literal is Literal-Key-5566aabb")
    with contextlib.suppress(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:9/{of('refused')}")


def spelled() -> None:
    """Streams of events, over which a model spells a secret."""
    formats = [name for name in os.environ if name.startswith("SPELLED_")]
    for name in sorted(formats):
        path = "/" + name.removesuffix("_SECRET").lower().replace("_", "-")
        with httpx.stream("POST", BASE + path, timeout=30) as answer:
            told = b"".join(answer.iter_bytes())
        told = b"".join(map(base64.b64decode, CODED.findall(told))) or told
        said = b"".join(text for text in SAID.findall(told) if text != b"other ").decode()
        print(path, said)
        ask("/echo", json={"history": said})


def files() -> None:
    """Files and databases."""
    print(len(Path("notes.txt").read_text()))
    for line in Path(".env").read_text().splitlines():
        name, _, value = line.partition("=")
        os.environ[name] = value
    print("from .env", os.environ["LATER_KEY"])
    print(len((Path.home() / ".aws" / "credentials").read_text()))
    Path("left.txt").write_text(f"left {of('file-written')} here")
    with contextlib.closing(sqlite3.connect("kept.db")) as db:
        db.execute("CREATE TABLE IF NOT EXISTS held (text TEXT)")
        db.execute("INSERT INTO held VALUES (?)", (of("database-written"),))
        db.commit()
        print(len(db.execute("SELECT text FROM held").fetchall()))


def children() -> None:
    """Processes."""
    subprocess.run(["true", "--say", of("child-argument")], check=True)
    subprocess.run(["cat"], input=of("child-input"), text=True, capture_output=True, check=True)
    said = subprocess.run(["sh", "-c", "echo $CHILD_OUTPUT_SECRET"], capture_output=True, text=True, check=True)
    print("child said", said.stdout.strip())
    subprocess.run(["true"], env={**os.environ, "GIVEN_TOKEN": "Given-To-Child-8899zz"}, check=True)
    subprocess.run(["true", "--password", "Option-Of-Child-4455yy"], check=True)
    os.system(f"true {of('system')}")
    code = "import os, sys; print('joined', os.environ['JOINED_SECRET']); print(sys.argv[1], file=sys.stderr)"
    Path("joins.py").write_text(code)
    subprocess.run([sys.executable, "joins.py", of("joined-argument")], check=True)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
        assert pipe.stdin is not None
        assert pipe.stdout is not None
        pipe.stdin.write(of("pipe").encode())
        pipe.stdin.close()
        print("through a pipe", pipe.stdout.read().decode())
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    worker = context.Process(target=work, args=(queue,), name="worker")
    worker.start()
    print("worker sent", queue.get())
    worker.join()


def conversations() -> None:
    """Sockets."""
    host, port = RAW.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"HELLO {of('socket-sent')}\r\n".encode())
        connection.sendall(b"AUTH PLAIN Sign-On-2233mm\r\n")
        head, tail = of("socket-split")[:9], of("socket-split")[9:]
        connection.sendall(head.encode())
        connection.sendall(tail.encode() + b"\r\nEND\r\n")
        data = b""
        while not data.endswith(b"BYE\r\n"):
            data += connection.recv(7)  # so that what comes is cut
        print("came", len(data))
    host, port = DATAGRAMS.split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as letter:
        letter.sendto(of("datagram").encode(), (host, int(port)))
        print("datagram", letter.recv(100).decode())
    asked = http.client.HTTPConnection(BASE.removeprefix("http://"), timeout=30)
    asked.request("GET", "/me", headers={"X-Api-Key": "Urllib-Header-6677kk"})
    print(len(asked.getresponse().read()))
    asked.close()
    with websockets.sync.client.connect(CHAT, compression=None) as chat:
        chat.send(of("websocket-sent"))
        print("chat", chat.recv())
    with httpx2.Client() as client, client.websocket(f"{PACKED_CHAT}/httpx2-chat") as chat:
        chat.send_text(said_in("httpx2-chat"))
        print("httpx2", [len(chat.receive_text()) for _ in range(3)])
    asyncio.run(packed_chats())


def said_in(place: str) -> str:
    """A message that packs well."""
    return json.dumps({"said": "the same words again, " * 5, "key": of(f"{place}-sent")})


async def packed_chats() -> None:
    """WebSockets whose messages are packed."""
    for place, fresh in (("packed-chat", False), ("fresh-chat", True)):
        packs = ClientPerMessageDeflateFactory(server_no_context_takeover=fresh, client_no_context_takeover=fresh)
        async with websockets.asyncio.client.connect(f"{PACKED_CHAT}/{place}", extensions=[packs]) as chat:
            for _ in range(2):
                await chat.send(said_in(place))
                print(place, [str(await chat.recv())[-40:] for _ in range(3)])
    place = "aiohttp-chat"
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{PACKED_CHAT}/{place}", compress=15) as chat:
        for _ in range(2):
            await chat.send_str(said_in(place))
            print(place, [(await chat.receive_str())[-40:] for _ in range(3)])


def past_the_seams() -> None:
    """Answers over plain sockets that are packed, in chunks, or spell something."""
    host = BASE.removeprefix("http://")
    for coding in ("gzip", "deflate", "br", "zstd"):
        asked = http.client.HTTPConnection(host, timeout=30)
        asked.request("GET", f"/plain-{coding}")
        print(coding, len(asked.getresponse().read()))
        asked.close()
    kept = http.client.HTTPConnection(host, timeout=30)
    for path in ("plain-framed", "plain-framed-gzip", "plain-spelled-chat", "plain-spelled-anthropic"):
        kept.request("GET", f"/{path}")
        print(path, len(kept.getresponse().read()))
    kept.close()


def words() -> None:
    """What the program says."""
    print("on stdout", of("stdout"))
    print("on stderr", of("stderr"), file=sys.stderr)
    sys.stdout.write("cut " + of("cut-output")[:7])
    ask("/echo")
    sys.stdout.write(of("cut-output")[7:] + "\n")
    print("given", sys.argv[1:], "read", sys.stdin.readline().strip(), "at", os.environ["DATABASE_URL"])
    try:
        int(of("exception"))
    except ValueError:
        traceback.print_exc()
    with reenact.agent(f"agent {of('mark')}", about=of("attribute")):
        ask("/echo")
    reenact.tag(who=of("tag"))
    thread = threading.Thread(target=lambda: ask("/echo"), name=f"thread {of('thread')}")
    thread.start()
    thread.join()
    print(lookup(of("tool-argument")))
    with contextlib.suppress(LookupError):
        lookup("fail")


def main() -> None:
    """All of it; `/pause` is when the store is looked at meanwhile."""
    print("first Late-Key-9911ccdd")
    words()
    files()
    children()
    conversations()
    past_the_seams()
    requests_and_answers()
    spelled()
    ask("/pause")
    ask("/echo", headers={"X-Api-Key": "Late-Key-9911ccdd"})
    print(json.dumps({"done": True}))


if __name__ == "__main__":
    main()
