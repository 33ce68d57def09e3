"""The agent of `growing`, inside a cassette of vcrpy with its default settings.

python -m bench.agents.under_vcr CASSETTE FOLDER URL STEPS SHAPE
"""

from __future__ import annotations

import sys

import vcr  # type: ignore[import-untyped]

from bench.agents import growing

if __name__ == "__main__":
    with vcr.VCR().use_cassette(sys.argv[1]):
        growing.main(*sys.argv[2:])
