"""A Run that was started: wait for it, cancel it, read its log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from .errors import ApiError, RunCancelled, RunFailed, RunNotEnded
from .generated import types as t
from .generated.operations import AsyncRunsApi, RunsApi

LOG_LINES = 20
"""Lines of its log that the error of a failed Run has."""

MAX_WAIT = 60.0
"""Seconds that the API waits for a Run."""

log = logging.getLogger("tidemill")


class RunHandle:
    """A Run. In a `with` block, the Run is cancelled if the block is interrupted, as by Ctrl-C or a killed task."""

    def __init__(self, runs: RunsApi, run: t.Run) -> None:
        self._runs = runs
        self.run = run
        """The Run as last seen."""

    @property
    def name(self) -> str:
        return self.run["name"]

    def wait(self, timeout: float | None = None) -> t.Run:
        """Wait until the Run has succeeded, and return it.

        Raises RunFailed or RunCancelled if it ends otherwise, and RunNotEnded after `timeout` seconds.
        """
        waiting = Waiting(timeout)
        while not has_ended(self.run):
            waiting.say(self.run)
            seconds = waiting.next(self.run)
            self.run = self._runs.get(self.name, wait=f"{seconds}s")
            if not has_ended(self.run):
                time.sleep(waiting.pause())
        return outcome(self.run, self._end_of_log)

    def cancel(self) -> None:
        """Stop the Run. Does nothing if it has ended."""
        try:
            self.run = self._runs.cancel(self.name, idempotency_key="cancel")
        except ApiError as error:
            if error.status != 409:
                raise

    def log(self, tail: int | None = None) -> str:
        """The last lines of its log."""
        return self._runs.get_logs(self.name, tail=tail)

    def _end_of_log(self) -> str:
        try:
            return self.log(LOG_LINES)
        except ApiError:
            return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if is_interrupted(error) and not has_ended(self.run):
            log.info("cancelling Run %s", self.name)
            self.cancel()


class AsyncRunHandle:
    """As RunHandle, to be awaited."""

    def __init__(self, runs: AsyncRunsApi, run: t.Run) -> None:
        self._runs = runs
        self.run = run
        """The Run as last seen."""

    @property
    def name(self) -> str:
        return self.run["name"]

    async def wait(self, timeout: float | None = None) -> t.Run:
        """Wait until the Run has succeeded, and return it.

        Raises RunFailed or RunCancelled if it ends otherwise, and RunNotEnded after `timeout` seconds.
        """
        waiting = Waiting(timeout)
        while not has_ended(self.run):
            waiting.say(self.run)
            seconds = waiting.next(self.run)
            self.run = await self._runs.get(self.name, wait=f"{seconds}s")
            if not has_ended(self.run):
                await asyncio.sleep(waiting.pause())
        end = await self._end_of_log() if self.run["status"] == "Failed" else ""
        return outcome(self.run, lambda: end)

    async def cancel(self) -> None:
        """Stop the Run. Does nothing if it has ended."""
        try:
            self.run = await self._runs.cancel(self.name, idempotency_key="cancel")
        except ApiError as error:
            if error.status != 409:
                raise

    async def log(self, tail: int | None = None) -> str:
        """The last lines of its log."""
        return await self._runs.get_logs(self.name, tail=tail)

    async def _end_of_log(self) -> str:
        try:
            return await self.log(LOG_LINES)
        except ApiError:
            return ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if is_interrupted(error) and not has_ended(self.run):
            log.info("cancelling Run %s", self.name)
            await asyncio.shield(self.cancel())


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
            log.info("Run %s of Pipeline %s is %s", run["name"], run["pipeline"], run["status"])


def has_ended(run: t.Run) -> bool:
    return "completionTime" in run


def can_be_taken_up(run: t.Run) -> bool:
    """Whether a new attempt goes on with the Run of an earlier one."""
    return run["status"] not in ("Failed", "Cancelled")


def outcome(run: t.Run, end_of_log: Callable[[], str]) -> t.Run:
    """The Run if it has succeeded. Raises its failure otherwise."""
    if run["status"] == "Cancelled":
        raise RunCancelled(run)
    if run["status"] != "Succeeded":
        raise RunFailed(run, end_of_log())
    log.info("Run %s of Pipeline %s has succeeded with %s rows", run["name"], run["pipeline"], run.get("rows"))
    return run


def is_interrupted(error: BaseException | None) -> bool:
    """Whether somebody stopped the block. An error of it says nothing about the Run, which a new attempt takes up."""
    return error is not None and not isinstance(error, Exception)
