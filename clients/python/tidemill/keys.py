"""Keys that make a repeated request the same request."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

MAX_LENGTH = 200
"""The API takes 255 characters. The rest is for the attempt."""


def idempotency_key(*parts: str | int) -> str:
    """An Idempotency-Key of what identifies a task, such as its run and its name. Different parts never share a key."""
    key = "/".join(quote(str(part), safe=":+ ,@") for part in parts)
    return key if len(key) <= MAX_LENGTH else sha256(key.encode()).hexdigest()


def attempt_keys(key: str, attempt: int) -> list[str]:
    """The keys of all attempts so far, the first attempt's first."""
    if attempt < 1:
        raise ValueError(f"attempt must be 1 or more, not {attempt}.")
    return [key if number == 1 else f"{key} attempt {number}" for number in range(1, attempt + 1)]
