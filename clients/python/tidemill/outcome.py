"""What the state of a Run means for who waits for it."""

from __future__ import annotations

import logging

from .errors import RunCancelled, RunFailed
from .generated import types as t

LOG_LINES = 20
"""Lines of its log that the error of a failed Run has."""

logger = logging.getLogger("tidemill")


def has_ended(run: t.Run) -> bool:
    return "completionTime" in run


def can_be_taken_up(run: t.Run) -> bool:
    """Whether a new attempt goes on with the Run of an earlier one."""
    return run["status"] not in ("Failed", "Cancelled")


def outcome(run: t.Run, end_of_log: str) -> t.Run:
    """The Run if it has succeeded. Raises its failure otherwise."""
    if run["status"] == "Cancelled":
        raise RunCancelled(run)
    if run["status"] != "Succeeded":
        raise RunFailed(run, end_of_log)
    logger.info("Run %s of Pipeline %s has succeeded with %s rows", run["name"], run["pipeline"], run.get("rows"))
    return run


def is_interrupted(error: BaseException | None) -> bool:
    """Whether somebody stopped the block. An error of it says nothing about the Run, which a new attempt takes up."""
    return error is not None and not isinstance(error, Exception)
