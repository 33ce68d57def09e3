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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reenact.tape import signatures
from reenact.tape.reader import read
from tests.integrity.flips import Count, cut, damaged, flipped, refused
from tests.integrity.forgeries import OTHER_RUN, RUN, Care, Forgery, forgeries, original
from tests.trajectory.made import Made, gave, says, user
from trust.tally import Tally, ended

SEED = 2026
SAMPLE = 4_000
STEPS = 1_000


def main() -> int:
    """Prints what was tried and found; the exit status is 1 when something was missed."""
    options = argparse.ArgumentParser(prog="./task forge", description=(__doc__ or "").partition("\n\n")[0])
    options.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}")
    options.add_argument(
        "--every", type=int, default=1, metavar="N", help="ask fsck of every N-th bit of the small tape"
    )
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return ended(one for part in asked.parts or PARTS for one in PARTS[part](Path(folder), asked.every))


def flips(folder: Path, step: int = 1) -> Iterator[Tally]:
    """Turns bits, and cuts tapes off."""
    small, large = original(folder), _long(folder / "long-0001.tape")
    sample = random.Random(SEED).sample(range(large.stat().st_size * 8), SAMPLE)
    every = range(small.stat().st_size * 8)
    of_small, of_large = f"small tape, {len(every) // 8:,} bytes", f"{STEPS:,} steps, {large.stat().st_size:,} bytes"
    which = "every bit" if step == 1 else f"one bit in {step}"
    yield _tally(f"bit flips: {of_small}, every bit, read", flipped(small, every, refused))
    yield _tally(f"bit flips: {of_large}, bits by chance, read", flipped(large, sample, refused))
    yield _tally(f"bit flips: {of_large}, bits by chance, fsck", flipped(large, sample[: SAMPLE // 10], damaged))
    yield _tally(f"cut off after every byte: {of_small}, read", cut(small, range(len(every) // 8), refused))
    yield _tally(f"cut off: {of_small}, fsck", cut(small, range(0, len(every) // 8, 97), damaged))
    yield _tally(f"bit flips: {of_small}, {which}, fsck", flipped(small, every[::step], damaged))


def _tally(what: str, count: Count, *, needed: bool = True) -> Tally:
    """`needed`: each has to be found; else it takes a key to find them all."""
    missed = [f"MISSED: {one}" for one in count.missed] if needed else []
    return Tally(what, count.tried, count.found, "found" if needed else "found without a key", missed)


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


def forged(folder: Path, _step: int = 1) -> Iterator[Tally]:
    """Forges tapes in all ways that we know."""
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
        forgeries_of = f"forgeries: {care.value}"
        yield _tally(f"{forgeries_of}, fsck", plain, needed=care in (Care.NONE, Care.SEAL))
        yield _tally(f"{forgeries_of}, verify --key", verify)
        yield _tally(f"{forgeries_of}, fsck --key", fsck)


def _says_no(store: Path, command: str, *options: str) -> bool:
    """Whether the command refuses the tape: the program that it names is not there to be replayed."""
    line = [sys.executable, "-m", "reenact", command, RUN, "--store", str(store), *options]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in (0, 1, 2) or "Traceback" in done.stderr:
        raise AssertionError(f"{line} ends with {done.returncode}: {done.stderr}")
    return done.returncode == 1 if command == "fsck" else "error[tape" in done.stderr or "error[sign" in done.stderr


PARTS: dict[str, Callable[[Path, int], Iterator[Tally]]] = {"flips": flips, "forgeries": forged}


if __name__ == "__main__":
    sys.exit(main())
