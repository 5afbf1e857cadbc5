"""A request to the API: how it is built, and what its answer means. Sends nothing."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from .access import Token, authorization
from .errors import ApiError, ApiUnavailable
from .retry import BUSY, Failure, retry_delay

TIMEOUT = httpx.Timeout(90, connect=10)
"""Seconds. The API answers within 60, even if it waits for a Run."""

logger = logging.getLogger("tidemill")


class StreamedEvent(NamedTuple):
    """One event of a stream, by its name and with its data."""

    id: str | None
    event: str
    data: dict[str, Any]


class EventLines:
    """Makes events of the text of a stream. A comment, by which the server shows that it is there, is none."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}
        self._rest = ""

    def push(self, text: str) -> Iterator[StreamedEvent]:
        """The events that this part ends. Only a line feed ends a line: data may have U+2028, at which httpx splits."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line:
                name, _, value = line.partition(":")
                self._fields[name] = value.removeprefix(" ")
                continue
            fields, self._fields = self._fields, {}
            if "data" in fields:
                yield StreamedEvent(fields.get("id"), fields.get("event", "message"), json.loads(fields["data"]))


class Requests:
    """Starts the requests of one client."""

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
    ) -> Request:
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        given.setdefault("Accept", "application/json, text/plain")
        if self._account is not None:
            given["Tidemill-Account"] = self._account
        if body is not None:
            given["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        params = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        return Request(method, path, params, given, body, self._token, time.monotonic() + self._retry_seconds)


class Request:
    """One request and how often it was sent."""

    def __init__(self, method: str, path: str, params: dict[str, str], headers: dict[str, str], body: object, token: Token, deadline: float) -> None:
        self._method, self._path, self._params, self._headers = method, path, params, headers
        self._body, self._token, self._deadline = body, token, deadline
        self._attempt = 0

    def build(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """What is sent next, with the token as it is now."""
        self._attempt += 1
        headers = {**self._headers, "Authorization": authorization(self._token)}
        return client.build_request(self._method, self._path, params=self._params, headers=headers, json=self._body)

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
        error = self._error(answer)
        if delay is None:
            raise error from (answer if isinstance(answer, Exception) else None)
        logger.warning("%s Next attempt in %.1f s.", error, delay)
        return delay

    def _error(self, answer: httpx.Response | httpx.TransportError) -> ApiError | ApiUnavailable:
        if isinstance(answer, httpx.Response):
            return _api_error(answer)
        return ApiUnavailable(f"The API did not answer {self._method} {self._path}: {str(answer) or type(answer).__name__}.")


def path(template: str, *names: str) -> str:
    """The path of an operation, with names in the places of their parameters."""
    for name in names:
        start, end = template.index("{"), template.index("}")
        template = f"{template[:start]}{quote(name, safe='')}{template[end + 1 :]}"
    return template


def json_of(response: httpx.Response) -> Any:
    """The answer's JSON, or None if it is empty. A page of something in between is an error."""
    try:
        return response.json() if response.content else None
    except ValueError:
        raise _api_error(response) from None


def _failure(answer: httpx.Response | httpx.TransportError) -> Failure:
    if isinstance(answer, httpx.Response):
        retry_after = answer.headers.get("Retry-After", "")
        return Failure(answer.status_code, True, float(retry_after) if retry_after.isdigit() else 0)
    return Failure(connected=not isinstance(answer, (httpx.ConnectError, httpx.ConnectTimeout)))


def _api_error(response: httpx.Response) -> ApiError | ApiUnavailable:
    """An answer without the form of the API's errors comes from something in between."""
    try:
        problem = response.json()
        return ApiError(
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
    return ApiError(response.status_code, "Unknown", f"This is not the API's answer. {text}", [], "")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
