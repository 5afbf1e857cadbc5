"""Start a Pipeline, once per attempt."""

from __future__ import annotations

from uuid import uuid4

from ..errors import ApiError
from ..generated.operations import AsyncPipelinesApi, AsyncRunsApi
from ..keys import attempt_keys
from ..outcome import can_be_taken_up
from ..run_start import Dates, run_start
from .run import AsyncRunHandle


class AsyncPipelines(AsyncPipelinesApi):
    """The operations of Pipelines, and `run`."""

    async def run(
        self,
        name: str,
        *,
        dates: Dates | None = None,
        full: bool | None = None,
        queue: bool | None = None,
        idempotency_key: str | None = None,
        attempt: int = 1,
    ) -> AsyncRunHandle:
        """Start a Run of a Pipeline.

        :param dates: load only these dates, instead of those that the Pipeline's rules choose.
        :param full: load the whole window.
        :param queue: accept the Run although the Pipeline can't run yet. It waits.
        :param idempotency_key: names what is done. Within 24 hours, the same key is the same Run.
        :param attempt: how often that was tried, from 1. The Run of an earlier attempt is taken up again, unless it
            failed or was cancelled: then a new one starts.
        """
        body = run_start(dates, full)
        runs = AsyncRunsApi(self._api)
        *earlier, last = attempt_keys(idempotency_key or str(uuid4()), attempt)
        for key in earlier:
            try:
                run = await self.start_run(name, body, queue=queue, idempotency_key=key)
            except ApiError as error:
                # A Pipeline removes its oldest Runs. If the Pipeline itself is gone, the last attempt says so.
                if error.status != 404:
                    raise
                continue
            if can_be_taken_up(run):
                return AsyncRunHandle(runs, run)
        return AsyncRunHandle(runs, await self.start_run(name, body, queue=queue, idempotency_key=last))
