"""Requests to the API, with their retries. Everything that the two ways to wait share stands in functions."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from .errors import ApiError, ApiUnavailable
from .retry import BUSY, Failure, retry_delay

Token = str | Callable[[], str]
"""A token, or what returns the current one, such as the content of a mounted file that Kubernetes renews."""

ANSWER_SECONDS = 90.0
"""The API answers within 60 seconds, even if it waits for a Run."""


class Api:
    """Sends requests and waits for each answer."""

    def __init__(self, url: str, token: Token, account: str | None, retry_seconds: float, transport: httpx.BaseTransport | None) -> None:
        self._request = _Request(token, account, retry_seconds)
        self._http = httpx.Client(base_url=base_url(url), timeout=_timeout, transport=transport)

    def json(self, method: str, path: str, **parts: Any) -> Any:
        return _json(self._send(method, path, **parts))

    def text(self, method: str, path: str, **parts: Any) -> str:
        return self._send(method, path, **parts).text

    def close(self) -> None:
        self._http.close()

    def _send(self, method: str, path: str, **parts: Any) -> httpx.Response:
        sent = self._request.start(method, path, **parts)
        while True:
            try:
                response: httpx.Response | httpx.TransportError = self._http.send(sent.build(self._http))
            except httpx.TransportError as error:
                response = error
            delay = sent.judge(response)
            if isinstance(delay, httpx.Response):
                return delay
            time.sleep(delay)


class AsyncApi:
    """Sends requests and awaits each answer."""

    def __init__(self, url: str, token: Token, account: str | None, retry_seconds: float, transport: httpx.AsyncBaseTransport | None) -> None:
        self._request = _Request(token, account, retry_seconds)
        self._http = httpx.AsyncClient(base_url=base_url(url), timeout=_timeout, transport=transport)

    async def json(self, method: str, path: str, **parts: Any) -> Any:
        return _json(await self._send(method, path, **parts))

    async def text(self, method: str, path: str, **parts: Any) -> str:
        return (await self._send(method, path, **parts)).text

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(self, method: str, path: str, **parts: Any) -> httpx.Response:
        sent = self._request.start(method, path, **parts)
        while True:
            try:
                response: httpx.Response | httpx.TransportError = await self._http.send(sent.build(self._http))
            except httpx.TransportError as error:
                response = error
            delay = sent.judge(response)
            if isinstance(delay, httpx.Response):
                return delay
            await asyncio.sleep(delay)


def path(template: str, *names: str) -> str:
    """The path of an operation, with names in the places of their parameters."""
    for name in names:
        start, end = template.index("{"), template.index("}")
        template = f"{template[:start]}{quote(name, safe='')}{template[end + 1 :]}"
    return template


def base_url(url: str) -> str:
    """The part of the API's URL before /v1, which each path has."""
    return url.rstrip("/").removesuffix("/v1")


_timeout = httpx.Timeout(ANSWER_SECONDS, connect=10)


class _Request:
    def __init__(self, token: Token, account: str | None, retry_seconds: float) -> None:
        self._token, self._account, self._retry_seconds = token, account, retry_seconds

    def start(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> _Sent:
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        if self._account is not None:
            given["Tidemill-Account"] = self._account
        if body is not None:
            given["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        params = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        return _Sent(method, path, params, given, body, self._token, time.monotonic() + self._retry_seconds)


class _Sent:
    """One request and how often it was sent."""

    def __init__(self, method: str, path: str, params: dict[str, str], headers: dict[str, str], body: object, token: Token, deadline: float) -> None:
        self._method, self._path, self._params, self._headers = method, path, params, headers
        self._body, self._token, self._deadline = body, token, deadline
        self._attempt = 0

    def build(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        self._attempt += 1
        token = self._token if isinstance(self._token, str) else self._token()
        headers = {**self._headers, "Authorization": f"Bearer {token.strip()}", "Accept": "application/json, text/plain"}
        content = {} if self._body is None else {"json": self._body}
        return client.build_request(self._method, self._path, params=self._params, headers=headers, **content)  # type: ignore[arg-type]

    def judge(self, answer: httpx.Response | httpx.TransportError) -> httpx.Response | float:
        """The answer if it counts, or the seconds until the next attempt. Raises the error otherwise."""
        if isinstance(answer, httpx.Response) and answer.is_success:
            return answer
        delay = retry_delay(
            _failure(answer),
            repeatable=self._method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in self._headers,
            attempt=self._attempt,
            left=self._deadline - time.monotonic(),
            random=random.random(),
        )
        if delay is not None:
            return delay
        if isinstance(answer, httpx.Response):
            raise _api_error(answer)
        what = f"{self._method} {self._path}"
        raise ApiUnavailable(f"The API did not answer {what}: {str(answer) or type(answer).__name__}.") from answer


def _failure(answer: httpx.Response | httpx.TransportError) -> Failure:
    if isinstance(answer, httpx.Response):
        retry_after = answer.headers.get("Retry-After", "")
        return Failure(answer.status_code, True, float(retry_after) if retry_after.isdigit() else 0)
    return Failure(connected=not isinstance(answer, (httpx.ConnectError, httpx.ConnectTimeout)))


def _api_error(response: httpx.Response) -> ApiError | ApiUnavailable:
    """An answer without the form of the API's errors comes from something in between."""
    try:
        problem = response.json()
        error = ApiError(
            response.status_code,
            problem["code"],
            problem["detail"],
            problem.get("details", []),
            response.headers.get("X-Request-Id", ""),
        )
    except (ValueError, KeyError, TypeError):
        text = f"HTTP {response.status_code}: {response.text[:200]}"
        if response.status_code in BUSY:
            return ApiUnavailable(f"Something in front of the API answered {text}")
        return ApiError(response.status_code, "Unknown", text, [], "")
    return error


def _json(response: httpx.Response) -> Any:
    return response.json() if response.content else None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
