"""examples/prefect in a real Prefect with a server of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from local_tidemill import broken_warehouse, busy_warehouse, fail_first, new_run, no_pod_starts, run_names, status_of, until
from prefect.settings import PREFECT_API_URL
from prefect.testing.utilities import prefect_test_harness

from tidemill import RunFailed, RunHandle

sys.path.insert(0, os.environ["EXAMPLES"])
import orders as example  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def server() -> Any:
    with prefect_test_harness(server_startup_timeout=120):
        yield


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "load", example.load.with_options(retry_delay_seconds=1))


def test_the_flow_loads_the_table() -> None:
    assert example.orders() == 2


def test_a_failed_run_fails_the_flow_at_once_with_its_error() -> None:
    before = run_names()
    with broken_warehouse(), pytest.raises(RunFailed, match="DestinationUnreadable: ") as raised:
        example.orders()
    assert "move it away" in str(raised.value)
    assert len(run_names() - before) == 1


def test_a_repeated_task_takes_up_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = run_names()
    names = fail_first(monkeypatch, RunHandle, "wait", ConnectionError("the worker lost its network"))
    assert example.orders() == 2
    assert names == [new_run(before)] * 2


def test_a_repeated_task_starts_another_run_after_one_that_failed() -> None:
    before = run_names()
    with busy_warehouse():
        child = flow_of_its_own()
        first = new_run(before)
        until(lambda: status_of(first) == "Failed", "the Run's end")
    said, _ = child.communicate(timeout=300)
    assert child.returncode == 0, said
    assert "DestinationBusy" in said
    assert "End of its log:" in said
    assert "the DuckDB file is in use; waiting" in said
    assert len(run_names() - before) == 2


def test_a_killed_flow_cancels_its_run() -> None:
    before = run_names()
    with no_pod_starts():
        child = flow_of_its_own()
        name = new_run(before)
        until(lambda: status_of(name) == "Running", "the Run's start")
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=120)
    until(lambda: status_of(name) == "Cancelled", "the Run's end")


def flow_of_its_own() -> subprocess.Popen[str]:
    """The example in a process of its own, with the server of these tests."""
    env = {**os.environ, "PREFECT_API_URL": str(PREFECT_API_URL.value())}
    return subprocess.Popen(
        [sys.executable, "-c", _flow], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


_flow = f"""
import sys
sys.path.insert(0, {os.environ["EXAMPLES"]!r})
import orders
orders.load = orders.load.with_options(retry_delay_seconds=1)
orders.orders()
"""
