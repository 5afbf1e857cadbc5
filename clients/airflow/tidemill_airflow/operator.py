"""Runs a Pipeline and waits until it has succeeded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from tidemill import RunCancelled, RunFailed, RunHandle, idempotency_key
from tidemill.generated import types as t

from .hook import TidemillHook
from .trigger import TidemillRunTrigger

if TYPE_CHECKING:
    from airflow.sdk import Context


class TidemillRunOperator(BaseOperator):
    """Starts a Run of a Pipeline and returns it once it has succeeded.

    A retry takes up the Run of the earlier attempt, unless that failed or was cancelled: then it starts another. Clearing the
    task starts another, too. A killed task cancels its Run, and so does one that reaches its `execution_timeout`. An error that
    another Run can't fix fails the task at once.

    :param pipeline: its name.
    :param dates: the first and the last UTC date to load, both included, such as `("{{ ds }}", "{{ ds }}")`. Without them, the
        Pipeline's rules apply.
    :param full: load the whole window.
    :param queue_run: accept the Run although the Pipeline can't run yet. It waits. (`queue` is the queue of Airflow's workers.)
    :param deferrable: wait in the triggerer, without a worker.
    """

    template_fields: Sequence[str] = ("pipeline", "dates", "tidemill_conn_id")

    def __init__(
        self,
        *,
        pipeline: str,
        dates: tuple[str, str] | None = None,
        full: bool | None = None,
        queue_run: bool | None = None,
        tidemill_conn_id: str = TidemillHook.default_conn_name,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.dates = dates
        self.full = full
        self.queue_run = queue_run
        self.tidemill_conn_id = tidemill_conn_id
        self.deferrable = deferrable
        self.run_name: str | None = None

    def execute(self, context: Context) -> t.Run:
        key, attempt = identity(context["ti"], self.retries or 0)
        with TidemillHook(self.tidemill_conn_id).get_conn() as tidemill:
            run = tidemill.pipelines.run(
                self.pipeline,
                dates=self.dates,
                full=self.full,
                queue=self.queue_run,
                idempotency_key=key,
                attempt=attempt,
            )
            self.run_name = run.name
            self.log.info("Run %s of Pipeline %s is %s.", run.name, self.pipeline, run.run["status"])
            if self.deferrable and "completionTime" not in run.run:
                limit = self.execution_timeout
                # Airflow's own time limit of a deferral would leave the Run going.
                deadline = None if limit is None else time.time() + limit.total_seconds()
                self.defer(
                    trigger=TidemillRunTrigger(run=run.name, tidemill_conn_id=self.tidemill_conn_id, deadline=deadline),
                    method_name="execute_complete",
                )
            return succeeded(run)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> t.Run:
        with TidemillHook(self.tidemill_conn_id).get_conn() as tidemill:
            run = tidemill.run(event["run"])
            if not event["has_ended"]:
                run.cancel()
                # It may have ended since the deadline. Then there was nothing to cancel.
                run = tidemill.run(run.name)
                if run.run["status"] in ("Succeeded", "Failed"):
                    return succeeded(run)
                raise AirflowException(f"Run {run.name} had not ended within {self.execution_timeout}, and is cancelled.")
            return succeeded(run)

    def on_kill(self) -> None:
        if self.run_name is None:
            return
        self.log.info("Cancelling Run %s, since the task is killed.", self.run_name)
        with TidemillHook(self.tidemill_conn_id).get_conn() as tidemill:
            tidemill.run(self.run_name).cancel()


def identity(ti: Any, retries: int) -> tuple[str, int]:
    """The task's key and its attempt. Clearing a task raises `max_tries` above `retries`, and begins anew."""
    earlier = max(0, ti.max_tries - retries)
    key = idempotency_key("airflow", ti.dag_id, ti.run_id, ti.task_id, ti.map_index, earlier)
    return key, max(1, ti.try_number - earlier)


def succeeded(run: RunHandle) -> t.Run:
    """The Run once it has succeeded. Raises what Airflow retries, or what it doesn't."""
    try:
        return run.wait()
    except RunFailed as error:
        raise (AirflowException if error.retryable else AirflowFailException)(str(error)) from None
    except RunCancelled as error:
        raise AirflowFailException(str(error)) from None
