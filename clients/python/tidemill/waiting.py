"""How to wait for a Run."""

from __future__ import annotations

import logging
import time

from .errors import RunNotEnded
from .generated import types as t

MAX_WAIT = 60.0
"""Seconds that the API waits for a Run."""

logger = logging.getLogger("tidemill")


class Waiting:
    """How long the next request may wait."""

    def __init__(self, timeout: float | None) -> None:
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._asked_at = 0.0
        self._said = ""

    def next(self, run: t.Run) -> int:
        """Seconds that the API waits now. Raises RunNotEnded if no time is left."""
        self._asked_at = time.monotonic()
        if self._deadline is None:
            return int(MAX_WAIT)
        left = self._deadline - self._asked_at
        if left <= 0:
            raise RunNotEnded(f"Run {run['name']} is still {run['status']}. It goes on.")
        return int(min(max(left, 1), MAX_WAIT))

    def pause(self) -> float:
        """Seconds until the next request. An API that stops answers early, and is not asked again at once."""
        return max(0.0, 1 - (time.monotonic() - self._asked_at))

    def say(self, run: t.Run) -> None:
        if run["status"] != self._said:
            self._said = run["status"]
            logger.info("Run %s of Pipeline %s is %s", run["name"], run["pipeline"], run["status"])
