"""Waits for a Run without a worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent
from tidemill import RunCancelled, RunFailed

from .hook import TidemillHook


class TidemillRunTrigger(BaseTrigger):
    """Fires when the Run has ended, whichever way."""

    def __init__(self, run: str, tidemill_conn_id: str) -> None:
        super().__init__()
        self.run_name = run
        self.tidemill_conn_id = tidemill_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            "tidemill_airflow.trigger.TidemillRunTrigger",
            {"run": self.run_name, "tidemill_conn_id": self.tidemill_conn_id},
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        async with await TidemillHook(self.tidemill_conn_id).get_async_conn() as tidemill:
            try:
                await (await tidemill.run(self.run_name)).wait()
            except (RunFailed, RunCancelled):
                # The task itself raises it, with the log.
                pass
        yield TriggerEvent({"run": self.run_name})

    async def on_kill(self) -> None:
        """Cancels the Run. Airflow calls it when a person ends or clears the task, not when the triggerer restarts."""
        async with await TidemillHook(self.tidemill_conn_id).get_async_conn() as tidemill:
            await (await tidemill.run(self.run_name)).cancel()
            self.log.info("Cancelled Run %s, since the task was killed.", self.run_name)
