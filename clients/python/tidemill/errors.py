"""What the client raises. All of it is a TidemillError."""

from __future__ import annotations

from .generated import types as t


class TidemillError(Exception):
    """The base of all errors of this client."""


class ApiError(TidemillError):
    """The API refused a request (RFC 9457)."""

    def __init__(self, status: int, code: str, detail: str, details: list[t.ProblemDetailsItem], request_id: str) -> None:
        self.status = status
        """The HTTP status."""
        self.code = code
        """For programs. Codes never change."""
        self.detail = detail
        """What is wrong with this request and what to do next."""
        self.details = details
        """The invalid fields, if fields are invalid."""
        self.request_id = request_id
        fields = "".join(f"\n  {one['path']}: {one['message']}" for one in details)
        super().__init__(f"{code}: {detail}{fields} (HTTP {status}, X-Request-Id {request_id or 'unknown'})")


class ApiUnavailable(TidemillError):
    """The API did not answer, or had no time, for as long as the client retries."""


class RunNotEnded(TidemillError, TimeoutError):
    """The Run had not ended when the time to wait was over. It goes on."""


class RunFailed(TidemillError):
    """The Run failed. The text has its error, what to do, and the end of its log."""

    def __init__(self, run: t.Run, log: str) -> None:
        self.run = run
        self.log = log
        """The end of the Run's log. Empty if it has none."""
        error = run.get("error")
        self.code = error["code"] if error else "Unknown"
        """The error's code, from Tidemill's table of errors."""
        self.retryable = error["retryable"] if error else True
        """Whether another Run may succeed without any change."""
        message = error["message"] if error else "The Run has no error."
        end = f"\nEnd of its log:\n{log.rstrip()}" if log.strip() else ""
        super().__init__(f"Run {run['name']} of Pipeline {run['pipeline']} failed with {self.code}: {message}{end}")


class RunCancelled(TidemillError):
    """The Run was cancelled."""

    def __init__(self, run: t.Run) -> None:
        self.run = run
        super().__init__(f"Run {run['name']} of Pipeline {run['pipeline']} was cancelled. Days that it had replaced stay replaced.")
