"""Where two requests differ: by JSON pointer where the body is JSON, by words, lines or bytes where it is not.

Equal subtrees are skipped at the speed of `==`, and what comes out is bounded, however large or hostile the bodies.
"""

from reenact.engine.diff.body import MAX_CHANGES
from reenact.engine.diff.pairs import HIDDEN
from reenact.engine.diff.request import called, compare

__all__ = ["HIDDEN", "MAX_CHANGES", "called", "compare"]
