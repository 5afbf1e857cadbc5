"""When a request is repeated, as a table."""

from __future__ import annotations

import pytest

from tidemill.retry import Failure, retry_delay


@pytest.mark.parametrize(
    ("failure", "repeatable", "attempt", "expected"),
    [
        (Failure(503), True, 1, 0.25),
        (Failure(503), True, 4, 2),
        (Failure(503), True, 99, 7.5),
        (Failure(503, retry_after=9), True, 1, 9),
        (Failure(503, retry_after=61), True, 1, None),
        (Failure(503), False, 1, None),
        (Failure(429), False, 1, 0.25),
        (Failure(500), True, 1, None),
        (Failure(404), True, 1, None),
        (Failure(), True, 1, 0.25),
        (Failure(), False, 1, None),
        (Failure(connected=False), False, 1, 0.25),
    ],
)
def test_a_request_is_repeated_after(failure: Failure, repeatable: bool, attempt: int, expected: float | None) -> None:
    assert retry_delay(failure, repeatable=repeatable, attempt=attempt, left=60, random=0) == expected
