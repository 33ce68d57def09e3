"""The programs that are strained: each prints what it has come to, so that a bare run and a recorded one compare."""

DOWN = """
    import hashlib, os, sys
    url, size, how = os.environ["URL"], int(sys.argv[1]), sys.argv[2]
    digest, length = hashlib.sha256(), 0
    def take(data):
        global length
        digest.update(data)
        length += len(data)
    if how == "httpx":
        import httpx
        with httpx.stream("GET", f"{url}/down/{size}") as answer:
            for data in answer.iter_bytes():
                take(data)
    elif how == "httpx, async":
        import asyncio, httpx
        async def main():
            async with httpx.AsyncClient() as client, client.stream("GET", f"{url}/down/{size}") as answer:
                async for data in answer.aiter_bytes():
                    take(data)
        asyncio.run(main())
    elif how == "requests":
        import requests
        with requests.get(f"{url}/down/{size}", stream=True, timeout=60) as answer:
            for data in answer.iter_content(65536):
                take(data)
    elif how == "aiohttp":
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession() as client, client.get(f"{url}/down/{size}") as answer:
                async for data in answer.content.iter_chunked(65536):
                    take(data)
        asyncio.run(main())
    elif how == "asyncio's streams":
        import asyncio
        async def main():
            host, port = url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET /down/{size} HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n".encode())
            await reader.readuntil(b"\\r\\n\\r\\n")
            while length < size:
                take(await reader.read(65536))
            writer.close()
        asyncio.run(main())
    else:
        from urllib.request import urlopen
        with urlopen(f"{url}/down/{size}") as answer:
            while data := answer.read(65536):
                take(data)
    print(length, digest.hexdigest())
"""

HELD = """
    import hashlib, os, sys
    import httpx
    data = httpx.get(f"{os.environ['URL']}/down/{sys.argv[1]}").content
    print(len(data), hashlib.sha256(data).hexdigest())
"""

UP = """
    import os, sys
    import httpx
    body = bytes(range(256)) * (int(sys.argv[1]) // 256)
    print(len(body), httpx.post(f"{os.environ['URL']}/up", content=body, timeout=60).text)
"""

OUT = """
    import sys
    line = "x" * 999
    for n in range(int(sys.argv[1]) // 1000):
        print(line)
"""

STEPS = """
    import os, sys
    import httpx
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    history = []
    with httpx.Client() as client:
        for n in range(int(sys.argv[1])):
            history = [*history[-40:], {"role": "user", "content": f"question {n} " + "and what of it? " * 20}]
            said = client.post(url, json={"model": "m", "messages": history}).json()["choices"][0]["message"]["content"]
            history.append({"role": "assistant", "content": said})
            if n % 1000 == 0:
                print(n, said, flush=True)
"""

TASKS = """
    import asyncio, os, sys
    import httpx
    url, count = os.environ["URL"], int(sys.argv[1])
    async def main():
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(limits=limits, timeout=120) as client:
            answers = await asyncio.gather(*(client.get(f"{url}/late/0.2/{n}") for n in range(count)))
        print(sum(int(answer.text) for answer in answers))
    asyncio.run(main())
"""

THREADS = """
    import os, sys, threading
    import httpx
    url, count, found = os.environ["URL"], int(sys.argv[1]), []
    limits = httpx.Limits(max_connections=None)
    with httpx.Client(limits=limits, timeout=120) as client:
        def ask(n):
            found.append(int(client.get(f"{url}/late/0.2/{n}").text))
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(sum(found))
"""

ASKING = """
    import os, sys
    import httpx
    with httpx.Client() as client:
        for n in range(int(sys.argv[1])):
            print(n, len(client.get(f"{os.environ['URL']}/down/{sys.argv[2]}").content), flush=True)
    sys.exit(3)
"""

LIMITED = """
    import os, resource, sys
    import httpx
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
    with httpx.Client() as client:
        for n in range(20):
            print(n, len(client.get(f"{os.environ['URL']}/down/100000").content), flush=True)
    try:
        with open("mine", "wb") as file:
            file.write(bytes(int(sys.argv[1]) + 1))
    except OSError as error:
        print(error)
"""

FORKS = """
    import os, sys, threading
    import httpx
    url = os.environ["URL"]
    client = httpx.Client()
    print(client.get(url).text, flush=True)
    def child(n):
        pid = os.fork()
        if pid:
            return os.WEXITSTATUS(os.waitpid(pid, 0)[1])
        print("child", n, httpx.get(url).text, flush=True)
        if n == 0:
            os._exit(5)
        if n == 1:
            sys.exit(6)
        if n == 2:
            os.closerange(3, 4096)
            with open("of-a-child", "w") as file:
                file.write("x" * 100000)
            os._exit(7)
        if n == 3:
            import sqlite3
            with sqlite3.connect("of-a-child.db") as db:
                db.execute("CREATE TABLE t (a)")
            os._exit(child(0))
        sys.exit("the child ends")
    for n in range(5):
        print(n, child(n), client.get(url).text, flush=True)
    stop, forked = threading.Event(), []
    def ask():
        while not stop.is_set():
            client.get(url)
    asking = threading.Thread(target=ask)
    asking.start()
    for n in range(20):
        pid = os.fork()
        if not pid:
            os._exit(n)
        forked.append(os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
    stop.set()
    asking.join()
    print(forked)
"""

CLOSES = """
    import ctypes, hashlib, os, resource, sys
    import httpx
    url, how = os.environ["URL"], sys.argv[1]
    print(httpx.get(url).text)
    with open("before", "wb") as file:
        print("the next descriptor:", file.fileno())
    if how == "a range":
        os.closerange(3, 256)
    elif how == "all":
        os.closerange(3, 65536)
    elif how == "one by one":
        closed = 0
        for number in range(3, 4096):
            try:
                os.close(number)
                closed += 1
            except OSError:
                pass
        print(closed)
    elif how == "in C":
        ctypes.CDLL(None).close_range(3, 65536, 0)
    elif how == "by another":
        source = os.open("before", os.O_RDWR)
        for number in range(500, 530):
            os.dup2(source, number)
            os.write(number, b"by number %d\\n" % number)
    mine = [open(f"mine-{n}", "w+b") for n in range(40)]
    for file in mine:
        file.write(b"this is mine" * 20000)
        file.flush()
    for n in range(30):
        print(n, len(httpx.get(f"{url}/down/50000").content))
    for name in sorted(os.listdir(".")):
        if name.startswith(("mine", "before")):
            print(name, hashlib.sha256(open(name, "rb").read()).hexdigest())
"""

CLOCKS = """
    import os, time
    import httpx
    print(httpx.get(os.environ["URL"]).text)
    before = time.time()
    open("jumped", "w").close()
    after = time.time()
    print("back by hours:", (before - after) // 3600, httpx.get(os.environ["URL"]).text)
    time.sleep(0.01)
    print(len(os.listdir(".")) > 0)
"""
