"""examples/dagster in a real Dagster: in one process, and as a run of its own that is terminated."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from local_tidemill import broken_warehouse, busy_warehouse, fail_first, new_run, no_pod_starts, run_names, status_of, until

from tidemill import RunHandle

sys.path.insert(0, os.environ["EXAMPLES"])
import orders as example  # noqa: E402


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with dg.instance_for_test(temp_dir=str(tmp_path)) as instance:
        yield instance


def materialize(instance: Any, **options: Any) -> Any:
    return example.defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance, raise_on_error=False, **options
    )


def test_the_asset_is_materialised_with_its_rows(instance: Any) -> None:
    result = materialize(instance)
    assert result.success
    (materialization,) = result.asset_materializations_for_node("orders")
    assert materialization.metadata["dagster/row_count"].value == 2
    assert status_of(materialization.metadata["run"].value) == "Succeeded"


def test_a_failed_run_fails_the_step_at_once_with_its_error(instance: Any) -> None:
    before = run_names()
    with broken_warehouse():
        result = materialize(instance)
    assert not result.success
    (failure,) = (event for event in result.all_events if event.is_step_failure)
    user_failure = failure.event_specific_data.user_failure_data
    assert "DestinationUnreadable: " in user_failure.description
    assert "move it away" in user_failure.description
    assert len(run_names() - before) == 1


def test_a_repeated_step_takes_up_its_run(instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run_names()
    names = fail_first(monkeypatch, RunHandle, "wait", ConnectionError("the worker lost its network"))
    monkeypatch.setattr(example.orders.op, "_retry_policy", dg.RetryPolicy(max_retries=1))
    assert materialize(instance).success
    assert names == [new_run(before)] * 2


def test_a_repeated_step_starts_another_run_after_one_that_failed(instance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run_names()
    monkeypatch.setattr(example.orders.op, "_retry_policy", dg.RetryPolicy(max_retries=1))
    with ThreadPoolExecutor() as pool:
        with busy_warehouse():
            materialization = pool.submit(materialize, instance)
            first = new_run(before)
            until(lambda: status_of(first) == "Failed", "the Run's end")
        result = materialization.result()
    assert result.success
    (retry,) = (event for event in result.all_events if event.event_type_value == "STEP_UP_FOR_RETRY")
    # Dagster wraps what the step raised.
    said = retry.event_specific_data.error.to_string()
    assert "DestinationBusy: " in said
    assert "the DuckDB file is in use; waiting" in said
    assert len(run_names() - before) == 2


def test_a_terminated_run_cancels_its_run(tmp_path: Path) -> None:
    before = run_names()
    module = str(Path(os.environ["EXAMPLES"]) / "orders.py")
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "--select", "orders", "-f", module]
    with no_pod_starts():
        child = subprocess.Popen(command, env={**os.environ, "DAGSTER_HOME": str(tmp_path)}, cwd=tmp_path)
        name = new_run(before)
        until(lambda: status_of(name) == "Running", "the Run's start")
        child.send_signal(signal.SIGTERM)
        child.wait(120)
    until(lambda: status_of(name) == "Cancelled", "the Run's end")
