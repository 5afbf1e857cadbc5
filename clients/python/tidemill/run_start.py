"""The body of a request that starts a Run."""

from __future__ import annotations

from datetime import date

from .generated import types as t

Dates = tuple[str | date, str | date]
"""The first and the last UTC date, both included."""


def run_start(dates: Dates | None, full: bool | None) -> t.RunStart:
    body: t.RunStart = {}
    if dates is not None:
        start, end = dates
        body["dates"] = {"start": str(start), "end": str(end)}
    if full is not None:
        body["full"] = full
    return body
