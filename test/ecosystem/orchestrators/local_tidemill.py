"""What a test does to the local Tidemill of the quick start."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tidemill import Tidemill

T = TypeVar("T")
home = Path(os.environ["TIDEMILL_HOME"])
warehouse = home / "warehouse" / "default" / "warehouse.duckdb"


def run_names() -> set[str]:
    with Tidemill() as tidemill:
        return {run["name"] for run in tidemill.runs.list(pipeline="orders")["items"]}


def status_of(run: str) -> str:
    with Tidemill() as tidemill:
        return tidemill.runs.get(run)["status"]


def is_being_cancelled(run: str) -> bool:
    with Tidemill() as tidemill:
        return tidemill.runs.get(run).get("cancel", False)


def new_run(before: set[str]) -> str:
    """The one Run that began since."""
    (name,) = until(lambda: run_names() - before, "a new Run")
    return name


def until(look: Callable[[], T], what: str, seconds: float = 180) -> T:
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} has not come in {seconds} s: {found!r}")
        # The API takes 120 requests a minute of an account.
        time.sleep(1)
    return found


@contextmanager
def no_pod_starts() -> Iterator[None]:
    """Runs begin, and do not end: the process that starts their Pods stands still."""
    children = json.loads((home / "children.json").read_text())
    (pid,) = (child["pid"] for child in children if child["name"] == "node")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def broken_warehouse() -> Iterator[None]:
    """Each Run fails with DestinationUnreadable, which another Run can't mend."""
    aside = warehouse.with_suffix(".aside")
    if warehouse.exists():
        warehouse.rename(aside)
    warehouse.write_bytes(b"no database" * 1000)
    try:
        yield
    finally:
        warehouse.unlink()
        if aside.exists():
            aside.rename(warehouse)


@contextmanager
def busy_warehouse() -> Iterator[None]:
    """Each Run fails with DestinationBusy, after a minute. Another Run may succeed. Locks the file as DuckDB locks what it has open."""
    with warehouse.open("rb+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def is_typed(*arguments: str) -> None:
    """Checks types as a user of the packages would, with --strict."""
    checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def fail_first(monkeypatch: Any, kind: type, method: str, error: Exception) -> list[str]:
    """Makes the method fail once, as a worker that dies would. Returns the names of the Runs for which it was called."""
    real = getattr(kind, method)
    names: list[str] = []

    def failing(self: Any, *args: Any, **options: Any) -> Any:
        names.append(self.name)
        if len(names) == 1:
            raise error
        return real(self, *args, **options)

    monkeypatch.setattr(kind, method, failing)
    return names
