"""docs/debug.md shows what the debugger says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_session_on_the_page_is_what_the_debugger_says() -> None:
    spec = importlib.util.spec_from_file_location("write_debug_page", ROOT / "docs" / "write_debug_page.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.page() == script.PAGE.read_text(encoding="utf-8"), "./task docs writes it again"
