"""A Run that was started: wait for it, cancel it, read its log."""

from __future__ import annotations

from asyncio import shield, sleep
from types import TracebackType
from typing import Self

from ..errors import ApiError, TidemillError
from ..generated import types as t
from ..generated.operations import AsyncRunsApi
from ..outcome import LOG_LINES, has_ended, is_interrupted, logger, outcome
from ..waiting import Waiting


class AsyncRunHandle:
    """A Run. As a context manager it cancels the Run if its block is interrupted, as by Ctrl-C or a killed task."""

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
                await sleep(waiting.pause())
        end_of_log = await self._end_of_log() if self.run["status"] == "Failed" else ""
        return outcome(self.run, end_of_log)

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
        except TidemillError:
            return ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if is_interrupted(error) and not has_ended(self.run):
            logger.info("cancelling Run %s", self.name)
            await shield(self.cancel())
