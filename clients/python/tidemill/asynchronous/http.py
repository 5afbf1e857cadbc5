"""Sends requests to the API, with their retries."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import AsyncIterator
from typing import Any

import httpx

from ..access import Token, base_url, token_or_variable
from ..errors import ApiUnavailable
from ..request import TIMEOUT, EventLines, Requests, StreamedEvent, json_of


class AsyncApi:
    """Sends requests and returns their answers."""

    def __init__(
        self,
        url: str | None,
        token: Token | None,
        account: str | None,
        retry_seconds: float,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._requests = Requests(token_or_variable(token), account, retry_seconds)
        self._http = httpx.AsyncClient(base_url=base_url(url), timeout=TIMEOUT, transport=transport)

    async def json(self, method: str, path: str, **parts: Any) -> Any:
        response = await self._send(method, path, **parts)
        return json_of(response)

    async def text(self, method: str, path: str, **parts: Any) -> str:
        response = await self._send(method, path, **parts)
        return response.text

    async def events(self, method: str, path: str, *, last_event_id: str | None = None, **parts: Any) -> AsyncIterator[StreamedEvent]:
        """The events of a stream, until the server ends it. Raises ApiUnavailable if the connection is lost or silent."""
        headers = {**parts.pop("headers", {}), "Accept": "text/event-stream", "Last-Event-ID": last_event_id}
        response = await self._send(method, path, headers=headers, stream=True, **parts)
        try:
            lines = EventLines()
            async for text in response.aiter_text():
                for event in lines.push(text):
                    yield event
        except httpx.TransportError as error:
            raise ApiUnavailable(f"The stream of {method} {path} broke off: {str(error) or type(error).__name__}.") from error
        finally:
            await response.aclose()

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(self, method: str, path: str, *, stream: bool = False, **parts: Any) -> httpx.Response:
        request = self._requests.start(method, path, **parts)
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = await self._http.send(request.build(self._http), stream=stream)
                if not answer.is_success:
                    await answer.aread()
            except httpx.TransportError as error:
                answer = error
            judged = request.judge(answer)
            if isinstance(judged, httpx.Response):
                return judged
            await sleep(judged)
