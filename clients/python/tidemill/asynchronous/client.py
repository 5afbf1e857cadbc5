"""The client."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from ..access import Token
from ..generated.operations import AsyncCollections
from .http import AsyncApi
from .pipelines import AsyncPipelines
from .run import AsyncRunHandle


class AsyncTidemill(AsyncCollections):
    """Tidemill's REST API."""

    def __init__(
        self,
        url: str | None = None,
        token: Token | None = None,
        *,
        account: str | None = None,
        retry_seconds: float = 120,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """
        :param url: of the API, as http://tidemill-api/v1. TIDEMILL_API_URL if it is left out.
        :param token: a token, or a function that returns the current one. TIDEMILL_API_TOKEN if it is left out.
        :param account: the namespace, for a token that does not belong to a service account.
        :param retry_seconds: how long a request is repeated while the API is unreachable or busy.
        """
        self._api = AsyncApi(url, token, account, retry_seconds, transport)
        super().__init__(self._api)
        self.pipelines: AsyncPipelines = AsyncPipelines(self._api)

    async def run(self, name: str) -> AsyncRunHandle:
        """A Run that was started before."""
        return AsyncRunHandle(self.runs, await self.runs.get(name))

    async def close(self) -> None:
        await self._api.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()
