"""Randomness: what a program draws, it draws again in replay, and a seed means what it meant."""

from __future__ import annotations

from tests.runs import Bench


def test_every_source_of_the_standard_library_comes_back(bench: Bench) -> None:
    run = bench.record("""
        import os, random, secrets, ssl, string, tempfile, uuid
        from os import urandom
        from random import random as draw, Random, SystemRandom, choice
        from secrets import token_hex
        from uuid import uuid1, uuid4

        print(uuid.uuid1(), uuid.uuid4(), uuid1(), uuid4(), uuid.uuid1(node=1, clock_seq=2), uuid.getnode() > 0)
        print(os.urandom(8), urandom(3), os.getrandom(4), ssl.RAND_bytes(5))
        print(secrets.token_bytes(4), secrets.token_hex(4), token_hex(2), secrets.token_urlsafe(6), secrets.randbelow(10**9))
        print(secrets.randbits(70), secrets.choice(string.ascii_letters), secrets.SystemRandom().random())
        print(random.random(), draw(), random.randint(0, 10**9), choice(range(10**6)), random.sample(range(1000), 5))
        print(random.gauss(0, 1), random.choices("abc", k=5), random.getrandbits(100), random.randbytes(5), random.uniform(1, 2))
        items = list(range(20)); random.shuffle(items); print(items)
        print(Random().random(), Random(7).random(), SystemRandom().random(), SystemRandom().getrandbits(64))
        state = random.getstate(); one = random.random(); random.setstate(state); print(one == random.random())
        random.seed(5); print(random.random(), random.random())
        random.seed(); print(random.random(), random.getrandbits(32))
        own = Random(); print(own.random()); own.seed(); print(own.random()); own.seed("text"); print(own.random())
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
            print(folder, file.name)
        print(hash("text"), {"a", "b", "c", "d", "e", "f"}, frozenset("hash seed"))
    """)
    assert run.status == 0, run.stderr.decode()
    run.reproduced()


def test_numpy_comes_back(bench: Bench) -> None:
    run = bench.record("""
        import numpy as np
        from numpy.random import default_rng, rand

        print(np.random.rand(3), rand(), np.random.randint(0, 10**9, 3), np.random.normal(), np.random.permutation(6))
        print(default_rng().random(3), np.random.default_rng().integers(0, 10**9, 3), default_rng(7).random())
        print(np.random.SeedSequence().entropy, np.random.RandomState().rand(), np.random.RandomState(3).rand())
        print(np.random.Generator(np.random.PCG64()).random(), np.random.MT19937().random_raw())
        children = default_rng().spawn(2); print([child.random() for child in children])
        np.random.seed(4); print(np.random.rand())
        np.random.seed(); print(np.random.rand())
        print(np.random.bytes(4), np.random.choice(100, 3))
    """)
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_ids_that_are_made_in_rust_come_back(bench: Bench) -> None:
    run = bench.record("""
        import fastuuid, uuid_utils, uuid_utils.compat
        from fastuuid import uuid4 as fast
        from uuid_utils import uuid7

        print(uuid_utils.uuid1(), uuid_utils.uuid4(), uuid_utils.uuid6(), uuid_utils.uuid7(), uuid7(), type(uuid7()))
        print(uuid_utils.uuid3(uuid_utils.NAMESPACE_DNS, "a"), uuid_utils.uuid5(uuid_utils.NAMESPACE_DNS, "a"))
        print(uuid_utils.compat.uuid4(), uuid_utils.compat.uuid7(), type(uuid_utils.compat.uuid4()))
        print(fastuuid.uuid1(), fastuuid.uuid4(), fast(), fastuuid.uuid7(), type(fast()))
        print(fastuuid.uuid4_bulk(3), fastuuid.uuid7_bulk(2), fastuuid.uuid4_bulk(0))
        print(fastuuid.uuid4_as_strings_bulk(3), fastuuid.uuid7_as_strings_bulk(2) if hasattr(fastuuid, "uuid7_as_strings_bulk") else "")
    """)
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_two_threads_that_share_a_generator_draw_the_same(bench: Bench) -> None:
    run = bench.record("""
        import random, secrets, threading, time, uuid
        drawn = []
        def work(name):
            for _ in range(20):
                drawn.append((name, random.random(), secrets.token_hex(2), str(uuid.uuid4())))
                if random.random() < 0.3:
                    time.sleep(random.random() / 200)
        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(drawn)
    """)
    assert run.status == 0, run.stderr.decode()
    run.verified()


def test_two_recordings_draw_differently(bench: Bench) -> None:
    program = "import random, secrets, uuid; print(random.random(), secrets.token_hex(8), uuid.uuid4(), hash('x'))"
    one, two = bench.record(program), bench.record(program)
    assert all(a != b for a, b in zip(one.text.split(), two.text.split(), strict=True))
