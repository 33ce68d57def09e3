"""`python -m fuzz.one TARGET …`: one target under libFuzzer, in a process of its own. The rest is for libFuzzer."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["reenact", "fuzz"]):
    from fuzz.targets import TARGETS


def main() -> None:
    """Does not return: libFuzzer ends the process."""
    name, *words = sys.argv[1:]
    atheris.Setup([name, *words], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
