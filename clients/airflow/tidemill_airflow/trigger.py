"""Waits for a Run without a worker."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from tidemill import RunCancelled, RunFailed, RunNotEnded

from .hook import TidemillHook


class TidemillRunTrigger(BaseTrigger):
    """Fires when the Run has ended, whichever way, or at the deadline.

    :param deadline: seconds since the epoch, which stay true if another triggerer goes on.
    """

    def __init__(self, run: str, tidemill_conn_id: str, deadline: float | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.run_name = run
        self.tidemill_conn_id = tidemill_conn_id
        self.deadline = deadline

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            "tidemill_airflow.trigger.TidemillRunTrigger",
            {"run": self.run_name, "tidemill_conn_id": self.tidemill_conn_id, "deadline": self.deadline},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        left = None if self.deadline is None else self.deadline - time.time()
        has_ended = True
        async with await TidemillHook(self.tidemill_conn_id).get_async_conn() as tidemill:
            try:
                await (await tidemill.run(self.run_name)).wait(left)
            except (RunFailed, RunCancelled):
                # The task itself raises it, with the log.
                pass
            except RunNotEnded:
                has_ended = False
        yield TriggerEvent({"run": self.run_name, "has_ended": has_ended})  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Cancels the Run. Airflow calls it when a person ends or clears the task, not when the triggerer restarts."""
        async with await TidemillHook(self.tidemill_conn_id).get_async_conn() as tidemill:
            await (await tidemill.run(self.run_name)).cancel()
            self.log.info("Cancelled Run %s, since the task was killed.", self.run_name)
