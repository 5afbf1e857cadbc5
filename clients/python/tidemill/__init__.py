"""Client of Tidemill's REST API.

    from tidemill import Tidemill

    with Tidemill() as tidemill:
        run = tidemill.pipelines.run("orders").wait()
        print(run["rows"])
"""

from .asynchronous.client import AsyncTidemill
from .asynchronous.run import AsyncRunHandle
from .errors import (
    ApiError,
    ApiUnavailable,
    RunCancelled,
    RunFailed,
    RunNotEnded,
    TidemillError,
)
from .keys import idempotency_key
from .synchronous.client import Tidemill
from .synchronous.run import RunHandle

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
