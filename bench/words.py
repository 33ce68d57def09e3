"""Text that compresses as English does: words by Zipf's law, from a seed.

The frequencies are those of Mandelbrot's form of the law, 1 / (rank + 2.7), over a vocabulary of syllables.
"""

from __future__ import annotations

from itertools import accumulate
from random import Random  # noqa: TID251  seeded: no entropy is read

_VOCABULARY = 6000
_SHIFT = 2.7
_ONSETS = ["", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "ch", "th", "pl"]
_NUCLEI = ["a", "e", "i", "o", "u", "ea", "io", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "nd", "ng", "nt", "st"]


def _vocabulary() -> list[str]:
    """Words in order of rank: frequent ones are short."""
    source = Random(1)  # noqa: S311  no secret
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        syllables = 1 + (len(words) > 150) + (len(words) > 1500) + (source.random() < 0.2)
        word = "".join(source.choice(part) for _ in range(syllables) for part in (_ONSETS, _NUCLEI, _CODAS))
        words.setdefault(word)
    return list(words)


_WORDS = _vocabulary()
_WEIGHTS = list(accumulate(1 / (rank + _SHIFT) for rank in range(1, _VOCABULARY + 1)))


def text(seed: str, size: int) -> str:
    """About `size` characters of sentences, always the same for a seed."""
    source = Random(seed)  # noqa: S311  no secret
    sentences: list[str] = []
    length = 0
    while length < size:
        words = source.choices(_WORDS, cum_weights=_WEIGHTS, k=source.randint(6, 18))
        sentences.append(" ".join(words).capitalize() + source.choice([".", ".", ".", "?", ":"]))
        length += len(sentences[-1]) + 1
    return " ".join(sentences)[:size]
