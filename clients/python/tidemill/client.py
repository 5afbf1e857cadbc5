"""The two clients: one waits, one awaits."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self

import httpx

from .generated.operations import AsyncCollections, Collections
from .http import Api, AsyncApi, Token
from .pipelines import AsyncPipelines, Pipelines
from .run import AsyncRunHandle, RunHandle


class Tidemill(Collections):
    """Tidemill's REST API."""

    def __init__(
        self,
        url: str | None = None,
        token: Token | None = None,
        *,
        account: str | None = None,
        retry_seconds: float = 120,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """
        :param url: of the API, as http://tidemill-api/v1. TIDEMILL_API_URL if it is left out.
        :param token: a token, or a function that returns the current one. TIDEMILL_API_TOKEN if it is left out.
        :param account: the namespace, for a token that does not belong to a service account.
        :param retry_seconds: how long a request is repeated while the API is away or busy.
        """
        self._api = Api(_url(url), _token(token), account, retry_seconds, transport)
        super().__init__(self._api)
        self.pipelines: Pipelines = Pipelines(self._api)

    def run(self, name: str) -> RunHandle:
        """A Run that was started before."""
        return RunHandle(self.runs, self.runs.get(name))

    def close(self) -> None:
        self._api.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncTidemill(AsyncCollections):
    """Tidemill's REST API, to be awaited."""

    def __init__(
        self,
        url: str | None = None,
        token: Token | None = None,
        *,
        account: str | None = None,
        retry_seconds: float = 120,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """As Tidemill."""
        self._api = AsyncApi(_url(url), _token(token), account, retry_seconds, transport)
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


def _url(url: str | None) -> str:
    return url or _variable("TIDEMILL_API_URL")


def _token(token: Token | None) -> Token:
    return token or _variable("TIDEMILL_API_TOKEN")


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"Tidemill needs its URL and a token. Pass them, or set {name}.")
    return value
