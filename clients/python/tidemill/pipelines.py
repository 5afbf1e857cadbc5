"""Start a Pipeline, once per attempt."""

from __future__ import annotations

from datetime import date
from uuid import uuid4

from .errors import ApiError
from .generated import types as t
from .generated.operations import AsyncPipelinesApi, AsyncRunsApi, PipelinesApi, RunsApi
from .http import Api, AsyncApi
from .keys import attempt_keys
from .run import AsyncRunHandle, RunHandle, can_be_taken_up

Dates = tuple[str | date, str | date]
"""The first and the last UTC date, both included."""


class Pipelines(PipelinesApi):
    """The operations of Pipelines, and `run`."""

    def run(
        self,
        name: str,
        *,
        dates: Dates | None = None,
        full: bool | None = None,
        queue: bool | None = None,
        idempotency_key: str | None = None,
        attempt: int = 1,
    ) -> RunHandle:
        """Start a Run of a Pipeline.

        :param dates: load only these dates, instead of those that the Pipeline's rules choose.
        :param full: load the whole window.
        :param queue: accept the Run although the Pipeline can't run yet. It waits.
        :param idempotency_key: names what is done. Within 24 hours, the same key is the same Run.
        :param attempt: how often that was tried, from 1. The Run of an earlier attempt is taken up again, unless it
            failed or was cancelled: then a new one starts.
        """
        body = _body(dates, full)
        *earlier, last = attempt_keys(idempotency_key or str(uuid4()), attempt)
        for key in earlier:
            try:
                run = self.start_run(name, body, queue=queue, idempotency_key=key)
            except ApiError as error:
                if not _is_gone(error):
                    raise
                continue
            if can_be_taken_up(run):
                return self._handle(run)
        return self._handle(self.start_run(name, body, queue=queue, idempotency_key=last))

    def _handle(self, run: t.Run) -> RunHandle:
        return RunHandle(RunsApi(self._api), run)


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
        """As Pipelines.run, to be awaited."""
        body = _body(dates, full)
        *earlier, last = attempt_keys(idempotency_key or str(uuid4()), attempt)
        for key in earlier:
            try:
                run = await self.start_run(name, body, queue=queue, idempotency_key=key)
            except ApiError as error:
                if not _is_gone(error):
                    raise
                continue
            if can_be_taken_up(run):
                return self._handle(run)
        return self._handle(await self.start_run(name, body, queue=queue, idempotency_key=last))

    def _handle(self, run: t.Run) -> AsyncRunHandle:
        return AsyncRunHandle(AsyncRunsApi(self._api), run)


def _body(dates: Dates | None, full: bool | None) -> t.RunStart:
    body: t.RunStart = {}
    if dates is not None:
        start, end = dates
        body["dates"] = {"start": str(start), "end": str(end)}
    if full is not None:
        body["full"] = full
    return body


def _is_gone(error: ApiError) -> bool:
    """The key's Run was removed, as a Pipeline does with its oldest Runs. Or the Pipeline is: the last attempt says so."""
    return error.status == 404
