"""Client of Tidemill's REST API.

    from tidemill import Tidemill

    with Tidemill() as tidemill:
        run = tidemill.pipelines.run("orders").wait()
        print(run["rows"])
"""

from .client import AsyncTidemill, Tidemill
from .errors import (
    ApiError,
    ApiUnavailable,
    RunCancelled,
    RunFailed,
    RunNotEnded,
    TidemillError,
)
from .keys import idempotency_key
from .run import AsyncRunHandle, RunHandle

__all__ = [
    "ApiError",
    "ApiUnavailable",
    "AsyncRunHandle",
    "AsyncTidemill",
    "RunCancelled",
    "RunFailed",
    "RunHandle",
    "RunNotEnded",
    "Tidemill",
    "TidemillError",
    "idempotency_key",
]
