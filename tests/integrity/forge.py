"""`./task forge`: turns every bit of a tape, cuts it off everywhere, and forges it, and counts what is found.

What `verify`, `replay` and `show` do with a tape first is asked of every bit, and what `fsck` does, which takes minutes;
`--every N` asks it of every N-th bit. Forgeries are shown to the command line itself.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reenact.tape import signatures
from reenact.tape.reader import read
from tests.integrity.flips import Count, cut, damaged, flipped, refused
from tests.integrity.forgeries import OTHER_RUN, RUN, Care, Forgery, forgeries, original
from tests.trajectory.made import Made, gave, says, user

SEED = 2026
SAMPLE = 4_000
STEPS = 1_000


def main() -> int:
    """Prints what was tried and found; the exit status is 1 when something was missed."""
    options = argparse.ArgumentParser(prog="./task forge", description=(__doc__ or "").partition("\n\n")[0])
    options.add_argument(
        "--every", type=int, default=1, metavar="N", help="ask fsck of every N-th bit of the small tape"
    )
    every = options.parse_args().every
    with tempfile.TemporaryDirectory() as folder:
        counts = [*_forged(Path(folder)), *_flips(Path(folder), every)]
    missed = [what for count in counts for what in count.missed]
    for what in missed:
        print(f"MISSED: {what}")
    print(f"{sum(count.tried for count in counts):,} tried, {sum(count.found for count in counts):,} found")
    return 1 if missed else 0


def _flips(folder: Path, step: int) -> Iterator[Count]:
    small, large = original(folder), _long(folder / "long-0001.tape")
    sample = random.Random(SEED).sample(range(large.stat().st_size * 8), SAMPLE)
    every = range(small.stat().st_size * 8)
    print(f"a small tape, {len(every) // 8:,} bytes; one of {STEPS:,} steps, {large.stat().st_size:,} bytes")
    which = "every bit turned" if step == 1 else f"one bit in {step} turned"
    yield _told("small tape, every bit turned, read", lambda: flipped(small, every, refused))
    yield _told("large tape, bits by chance, read", lambda: flipped(large, sample, refused))
    yield _told("large tape, bits by chance, fsck", lambda: flipped(large, sample[: SAMPLE // 10], damaged))
    yield _told("small tape, cut off after every byte, read", lambda: cut(small, range(len(every) // 8), refused))
    yield _told("small tape, cut off, fsck", lambda: cut(small, range(0, len(every) // 8, 97), damaged))
    yield _told(f"small tape, {which}, fsck", lambda: flipped(small, every[::step], damaged))


def _told(what: str, count: Callable[[], Count]) -> Count:
    began = time.monotonic()
    found = count()
    took = time.monotonic() - began
    print(f"{what:<44} tried {found.tried:>9,}   found {found.found:>9,}   {took:6.1f} s", flush=True)
    return found


def _long(path: Path) -> Path:
    """An agent's tape, whose history grows."""
    made, chance = Made(path), random.Random(SEED)
    messages = [user("Go through the orders.")]
    for step in range(STEPS):
        words = " ".join(f"{chance.randrange(10**6):06}" for _ in range(60))
        answer = says(f"step {step}: {words}")
        made.ask(messages, answer)
        messages += [answer, gave(f"c{step}", words)]
    made.done()
    return path


def _forged(folder: Path) -> Iterator[Count]:
    keys = folder / "keys"
    keys.mkdir()
    signatures.new_key(keys / "ours")
    key = signatures.private_key(keys / "ours", bytes)
    source = folder / "source"
    source.mkdir()
    for run in (RUN, OTHER_RUN):
        seal = read(original(source, run)).seal
        assert seal is not None
        signatures.sign(source / f"{run}.tape", seal, key)

    def found(number: int, forgery: Forgery) -> tuple[bool, bool, bool]:
        """By fsck, by verify with a key, and by fsck with a key."""
        store = folder / f"forged-{number}"
        store.mkdir()
        tape = Path(shutil.copy(source / f"{RUN}.tape", store))
        forgery.forge(tape, source / f"{OTHER_RUN}.tape")
        with_key = ("--key", str(keys / "ours.pub"))
        return _says_no(store, "fsck"), _says_no(store, "verify", *with_key), _says_no(store, "fsck", *with_key)

    if found(-1, Forgery("nothing", Care.NONE, lambda _tape, _other: None)) != (False, False, False):
        raise AssertionError("the original is refused, so that nothing below would mean anything")
    cases = list(forgeries())
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(found, range(len(cases)), cases))
    for care in Care:
        of_care = [(case, answer) for case, answer in zip(cases, answers, strict=True) if case.care is care]
        plain, verify, fsck = Count(), Count(), Count()
        for case, answer in of_care:
            beside = case.name.endswith("beside")  # not read with the tape: verify has nothing to find
            for count, told in zip((plain, verify, fsck), answer, strict=True):
                count.tell(str(case), found=told or (count is verify and beside))
        for what, count in (("fsck", plain), ("verify --key", verify), ("fsck --key", fsck)):
            print(f"forged, {care.value}: {what:<13} tried {count.tried:>5,}   found {count.found:>5,}")
        yield verify
        yield fsck
        if care in (Care.NONE, Care.SEAL):
            yield plain


def _says_no(store: Path, command: str, *options: str) -> bool:
    """Whether the command refuses the tape: the program that it names is not there to be replayed."""
    line = [sys.executable, "-m", "reenact", command, RUN, "--store", str(store), *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
        raise AssertionError(f"{line} ends with {done.returncode}: {done.stderr}")
    return done.returncode == 1 if command == "fsck" else "error[tape" in done.stderr or "error[sign" in done.stderr


if __name__ == "__main__":
    sys.exit(main())
