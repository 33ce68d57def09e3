"""Where two texts, JSON values or sequences differ, and the values that say so. Knows nothing of runs and requests."""

from reenact.diff.alignment import gaps
from reenact.diff.document import json_changes
from reenact.diff.text import CONTEXT, MAX_HUNKS, elide, text_changes

__all__ = ["CONTEXT", "MAX_HUNKS", "elide", "gaps", "json_changes", "text_changes"]
