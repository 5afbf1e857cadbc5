"""When a request is repeated."""

from __future__ import annotations

from dataclasses import dataclass

MAX_DELAY = 15.0
"""Seconds, unless the API names more in Retry-After."""

BUSY = frozenset({429, 502, 503, 504})
"""429 and 503 are Tidemill's, the others those of a proxy in front of it (RFC 9110 §15.6)."""


@dataclass(frozen=True)
class Failure:
    """Why a request has no answer that counts."""

    status: int | None = None
    """None if nothing answered."""
    connected: bool = True
    """False if the request was never sent."""
    retry_after: float = 0
    """Seconds, as the API asks for."""


def retry_delay(failure: Failure, *, repeatable: bool, attempt: int, left: float, random: float) -> float | None:
    """Seconds until the request is sent again, or None if it is not.

    A request with an effect is only repeated if a repeat has no second one, or if the first had none.

    :param attempt: how often it was sent, from 1.
    :param left: seconds in which the client may retry.
    :param random: 0 to 1, so that clients don't return all at once.
    """
    if failure.status is not None and failure.status not in BUSY:
        return None
    had_no_effect = failure.status == 429 or not failure.connected
    if not (repeatable or had_no_effect):
        return None
    delay = min(0.5 * 2 ** (attempt - 1), MAX_DELAY) * (0.5 + random / 2)
    delay = max(delay, failure.retry_after)
    return delay if delay <= left else None
