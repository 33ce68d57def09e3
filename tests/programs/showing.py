"""Prints everything that a program can see of an answer."""

from __future__ import annotations

import inspect
from typing import Any

LIBRARIES_OWN = ("traceback", "request")


def show_head(response: Any) -> None:
    """Status and every header of a response of httpx, httpx2, requests or aiohttp, in their order."""
    status = response.status_code if hasattr(response, "status_code") else response.status
    print("  <", status, getattr(response, "reason_phrase", getattr(response, "reason", "")))
    headers = response.headers
    for name, value in headers.multi_items() if hasattr(headers, "multi_items") else headers.items():
        print(f"  < {name}: {value}")


def show(value: Any) -> None:
    """An object of an SDK, whole."""
    if hasattr(value, "model_dump_json"):
        print("  =", type(value).__name__, value.model_dump_json(warnings=False))
    else:
        print("  =", type(value).__name__, repr(value))


def show_error(error: BaseException) -> None:
    """An exception: its type, message, what hangs on it, and what caused it."""
    known = (error.__class__.__module__, error.__class__.__qualname__)
    print("  !", ".".join(known), str(error))
    for name in ("status_code", "code", "status", "body", "details", "message", "response"):
        value = getattr(error, name, None)
        if value is None or inspect.ismethod(value):
            continue
        if hasattr(value, "headers"):
            show_head(value)
        else:
            print(f"  ! {name}: {value!r}")
    cause = error.__cause__ or error.__context__
    if cause is not None:
        print("  ! because")
        show_error(cause)
