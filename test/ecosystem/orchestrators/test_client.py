"""The Python client against a real Tidemill."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from local_tidemill import broken_warehouse, is_typed, new_run, no_pod_starts, run_names, status_of, until

from tidemill import ApiError, AsyncTidemill, RunFailed, Tidemill, idempotency_key


def test_the_client_is_typed() -> None:
    folder = Path(os.environ["CLIENTS"]) / "python"
    is_typed(str(folder / "tidemill"), str(folder / "tests"))


def test_a_run_is_loaded() -> None:
    with Tidemill() as tidemill:
        assert tidemill.pipelines.run("orders").wait()["rows"] == 2


def test_a_run_is_loaded_by_the_async_client() -> None:
    async def load() -> int:
        async with AsyncTidemill() as tidemill:
            return (await (await tidemill.pipelines.run("orders")).wait())["rows"]

    assert asyncio.run(load()) == 2


def test_a_new_attempt_takes_up_a_run_unless_it_failed() -> None:
    key = idempotency_key("client", os.getpid())
    with Tidemill() as tidemill:
        with broken_warehouse():
            first = tidemill.pipelines.run("orders", idempotency_key=key)
            with pytest.raises(RunFailed, match="move it away") as raised:
                first.wait()
        assert raised.value.code == "DestinationUnreadable"
        assert not raised.value.retryable
        second = tidemill.pipelines.run("orders", idempotency_key=key, attempt=2)
        assert second.name != first.name
        assert second.wait()["rows"] == 2
        assert tidemill.pipelines.run("orders", idempotency_key=key, attempt=3).name == second.name


def test_an_interrupted_program_cancels_its_run() -> None:
    before = run_names()
    program = "from tidemill import Tidemill\nwith Tidemill() as t, t.pipelines.run('orders') as run: run.wait()"
    with no_pod_starts():
        child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
        name = new_run(before)
        until(lambda: status_of(name) == "Running", "the Run's start")
        child.send_signal(signal.SIGINT)
        child.wait(60)
    until(lambda: status_of(name) == "Cancelled", "the Run's end")


def test_an_error_says_what_to_do() -> None:
    with Tidemill() as tidemill, pytest.raises(ApiError, match='There is no pipeline "missing"'):
        tidemill.pipelines.run("missing")
