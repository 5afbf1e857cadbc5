"""examples/airflow in a real Airflow: its scheduler, API server, triggerer and workers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from local_tidemill import (
    broken_warehouse,
    busy_warehouse,
    is_being_cancelled,
    is_typed,
    new_run,
    no_pod_starts,
    run_names,
    status_of,
    until,
)

from tidemill import Tidemill

api_url, token = os.environ["TIDEMILL_API_URL"], os.environ["TIDEMILL_API_TOKEN"]


def settings(home: Path) -> dict[str, str]:
    """Airflow's, on ports of its own."""
    api, worker_logs, trigger_logs = (free_port() for _ in range(3))
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{api}/execution/",
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{api}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(api),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "a-secret-for-this-test-of-enough-bytes-for-sha-512-which-wants-64",
        # Else it would make up for the latest scheduled time, and the tests count Runs.
        "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        # On a busy machine the default of 5 seconds ends workers.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "120",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(worker_logs),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_logs),
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        **connections(),
        "NO_PROXY": "*",
    }


def connections() -> dict[str, str]:
    """Those of the page, for this Tidemill."""
    blocks = json.loads(os.environ["CONNECTIONS"])
    filled = (one.replace("https://tidemill-api.example", api_url.removesuffix("/v1")).replace("<token>", token) for one in blocks)
    types = {json.loads(one)["conn_type"]: one for one in filled}
    return {"AIRFLOW_CONN_TIDEMILL_DEFAULT": types["tidemill"], "AIRFLOW_CONN_TIDEMILL_HTTP": types["http"]}


more_dags = """
from datetime import timedelta
import pendulum
from airflow.sdk import dag
from tidemill_airflow.operator import TidemillRunOperator

start = pendulum.datetime(2026, 1, 1)

@dag(schedule=None, start_date=start, default_args={"retries": 1, "retry_delay": timedelta(seconds=1)})
def tidemill_worker():
    TidemillRunOperator(task_id="load", pipeline="orders")

@dag(schedule=None, start_date=start)
def tidemill_timeout():
    TidemillRunOperator(task_id="load", pipeline="orders", deferrable=True, execution_timeout=timedelta(seconds=20))

tidemill_worker()
tidemill_timeout()
"""
"""The operator without a triggerer, and with little time."""


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("airflow")
    env = {**os.environ, **settings(home)}
    dags = home / "dags"
    shutil.copytree(os.environ["EXAMPLES"], dags)
    (dags / "more.py").write_text(more_dags)
    output = (home / "output").open("w")
    standalone = subprocess.Popen(
        ["airflow", "standalone"], env=env, stdout=output, stderr=output, cwd=home, start_new_session=True
    )
    client = httpx.Client(base_url=env["AIRFLOW__API__BASE_URL"], timeout=180, trust_env=False)
    try:
        access = until(lambda: token_of(client), "Airflow's API", 300)
        client.headers["Authorization"] = f"Bearer {access}"
        for dag in ("tidemill_deferrable", "tidemill_http", "tidemill_worker", "tidemill_timeout"):
            until(lambda: client.get(f"/api/v2/dags/{dag}").status_code == 200, dag, 300)
            client.patch(f"/api/v2/dags/{dag}", json={"is_paused": False}).raise_for_status()
        yield client
    except BaseException:
        print((home / "output").read_text()[-8000:])
        raise
    finally:
        client.close()
        os.killpg(standalone.pid, signal.SIGINT)
        try:
            standalone.wait(30)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(standalone.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def test_the_provider_is_typed() -> None:
    is_typed(str(Path(os.environ["CLIENTS"]) / "airflow" / "tidemill_airflow"))


def test_a_deferred_task_returns_the_run(airflow: httpx.Client) -> None:
    dag_run = trigger(airflow, "tidemill_deferrable")
    assert state(airflow, dag_run, "report") == "success"
    assert "has loaded 2 rows." in log(airflow, dag_run, "report")
    assert "Pausing task as DEFERRED" in log(airflow, dag_run, "load")


def test_a_failed_run_fails_its_task_at_once_and_a_cleared_task_starts_another(airflow: httpx.Client) -> None:
    before = run_names()
    with broken_warehouse():
        dag_run = trigger(airflow, "tidemill_deferrable")
        assert state(airflow, dag_run, "load") == "failed"
    said = log(airflow, dag_run, "load")
    assert "failed with DestinationUnreadable: " in said
    assert "move it away" in said
    assert len(run_names() - before) == 1
    clear(airflow, dag_run, "load")
    assert state(airflow, dag_run, "report") == "success"
    assert len(run_names() - before) == 2


def test_a_killed_task_cancels_its_run_while_it_is_deferred(airflow: httpx.Client) -> None:
    before = run_names()
    with no_pod_starts():
        dag_run = trigger(airflow, "tidemill_deferrable")
        name = new_run(before)
        until(lambda: instance(airflow, dag_run, "load")["state"] == "deferred", "the deferral")
        until(lambda: is_awaited(airflow, dag_run), "the trigger")
        end(airflow, dag_run, "load", "failed")
        until(lambda: is_being_cancelled(name), "the cancellation")
    until(lambda: status_of(name) == "Cancelled", "the Run's end")


def test_a_retry_takes_up_the_run_of_a_worker_that_died(airflow: httpx.Client) -> None:
    before = run_names()
    with no_pod_starts():
        dag_run = trigger(airflow, "tidemill_worker")
        name = new_run(before)
        until(lambda: status_of(name) == "Running", "the Run's start")
        os.kill(until(lambda: instance(airflow, dag_run, "load")["pid"], "the worker"), signal.SIGKILL)
        until(lambda: instance(airflow, dag_run, "load")["try_number"] == 2, "the retry")
    assert state(airflow, dag_run, "load") == "success"
    assert run_names() - before == {name}


def test_a_retry_starts_another_run_after_one_that_failed(airflow: httpx.Client) -> None:
    before = run_names()
    with busy_warehouse():
        dag_run = trigger(airflow, "tidemill_worker")
        first = new_run(before)
        until(lambda: status_of(first) == "Failed", "the Run's end")
    assert state(airflow, dag_run, "load") == "success"
    said = log(airflow, dag_run, "load")
    assert "failed with DestinationBusy: " in said
    assert "the DuckDB file is in use; waiting" in said
    assert len(run_names() - before) == 2


def test_a_killed_task_cancels_its_run_while_a_worker_waits(airflow: httpx.Client) -> None:
    before = run_names()
    with no_pod_starts():
        dag_run = trigger(airflow, "tidemill_worker")
        name = new_run(before)
        until(lambda: status_of(name) == "Running", "the Run's start")
        end(airflow, dag_run, "load", "failed")
        until(lambda: is_being_cancelled(name), "the cancellation")
    until(lambda: status_of(name) == "Cancelled", "the Run's end")


def test_a_deferred_task_that_takes_too_long_cancels_its_run(airflow: httpx.Client) -> None:
    before = run_names()
    with no_pod_starts():
        dag_run = trigger(airflow, "tidemill_timeout")
        name = new_run(before)
        assert state(airflow, dag_run, "load") == "failed"
        assert is_being_cancelled(name)
    assert "had not ended within 0:00:20, and is cancelled." in log(airflow, dag_run, "load")
    until(lambda: status_of(name) == "Cancelled", "the Run's end")


@pytest.mark.parametrize(
    ("status", "said"),
    [("Succeeded", None), ("Failed", "Grow the volume"), ("Cancelled", "and is cancelled"), ("Running", "and is cancelled")],
)
def test_a_run_that_ends_just_after_the_deadline_counts(monkeypatch: pytest.MonkeyPatch, status: str, said: str | None) -> None:
    from airflow.sdk.exceptions import AirflowException
    from tidemill_airflow.hook import TidemillHook
    from tidemill_airflow.operator import TidemillRunOperator

    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        if request.url.path.endswith("/logs"):
            return httpx.Response(200, text="")
        if request.method == "POST" and status != "Running":
            body = {"type": "/docs", "title": "Conflict", "status": 409, "code": "Conflict", "detail": "It has ended.", "details": []}
            return httpx.Response(409, json=body)
        has_ended = "POST" in asked and status != "Running"
        ended = {"status": status, "completionTime": "2026-01-01T00:00:00Z"} if has_ended else {"status": "Running"}
        error = {"code": "DestinationFull", "message": "Grow the volume.", "retryable": True}
        return httpx.Response(200, json={"name": "orders-1", "pipeline": "orders", "error": error, **ended})

    def get_conn(_: TidemillHook) -> Tidemill:
        return Tidemill("http://tidemill.test/v1", "token", transport=httpx.MockTransport(answer))

    monkeypatch.setattr(TidemillHook, "get_conn", get_conn)
    operator = TidemillRunOperator(task_id="load", pipeline="orders")
    event = {"run": "orders-1", "has_ended": False}
    if said is None:
        assert operator.execute_complete({}, event)["status"] == "Succeeded"
        return
    with pytest.raises(AirflowException, match=said):
        operator.execute_complete({}, event)


def test_stock_operators_wait_for_the_run(airflow: httpx.Client) -> None:
    before = run_names()
    dag_run = trigger(airflow, "tidemill_http")
    assert state(airflow, dag_run, "wait") == "success"
    name = new_run(before)
    assert status_of(name) == "Succeeded"
    with Tidemill() as tidemill:
        # As a retry of the task asks.
        assert tidemill.pipelines.run("orders", idempotency_key=f"airflow/tidemill_http/{dag_run[1]}/start/0").name == name
    clear(airflow, dag_run, "start")
    assert state(airflow, dag_run, "wait") == "success"
    assert len(run_names() - before) == 2


def test_stock_operators_tell_the_error(airflow: httpx.Client) -> None:
    with broken_warehouse():
        dag_run = trigger(airflow, "tidemill_http")
        assert state(airflow, dag_run, "wait") == "failed"
    said = log(airflow, dag_run, "wait")
    assert "DestinationUnreadable: " in said
    assert "move it away" in said


@pytest.mark.parametrize(
    ("try_number", "max_tries", "expected"),
    [(1, 3, ("0", 1)), (3, 3, ("0", 3)), (2, 4, ("1", 1)), (4, 5, ("2", 2)), (1, 0, ("0", 1))],
)
def test_a_retry_has_the_key_of_its_task_and_a_cleared_task_another(
    try_number: int, max_tries: int, expected: tuple[str, int]
) -> None:
    from tidemill_airflow.operator import identity

    ti = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=try_number, max_tries=max_tries)
    key, attempt = identity(ti, retries=3)
    assert (key, attempt) == (f"airflow/d/r/t/-1/{expected[0]}", expected[1])


DagRun = tuple[str, str]


def trigger(airflow: httpx.Client, dag: str) -> DagRun:
    answer = airflow.post(f"/api/v2/dags/{dag}/dagRuns", json={"logical_date": None})
    answer.raise_for_status()
    return dag, answer.json()["dag_run_id"]


def instance(airflow: httpx.Client, dag_run: DagRun, task: str) -> dict[str, Any]:
    answer = airflow.get(f"/api/v2/dags/{dag_run[0]}/dagRuns/{dag_run[1]}/taskInstances/{task}")
    answer.raise_for_status()
    return answer.json()


def state(airflow: httpx.Client, dag_run: DagRun, task: str) -> str:
    """The task's last state."""
    ended = {"success", "failed", "upstream_failed", "skipped"}
    return until(lambda: next(iter({instance(airflow, dag_run, task)["state"]} & ended), None), f"the end of {task}", 300)


def is_awaited(airflow: httpx.Client, dag_run: DagRun) -> bool:
    return (instance(airflow, dag_run, "load").get("triggerer_job") or {}).get("id") is not None


def end(airflow: httpx.Client, dag_run: DagRun, task: str, state: str) -> None:
    """As a person does who marks the task in Airflow's pages."""
    path = f"/api/v2/dags/{dag_run[0]}/dagRuns/{dag_run[1]}/taskInstances/{task}"
    airflow.patch(path, json={"new_state": state}).raise_for_status()


def clear(airflow: httpx.Client, dag_run: DagRun, task: str) -> None:
    # The scheduler would write the end of the DAG run over the clearing.
    of_dag = f"/api/v2/dags/{dag_run[0]}/dagRuns/{dag_run[1]}"
    until(lambda: airflow.get(of_dag).json()["state"] in ("success", "failed"), "the end of the DAG run")
    body = {"dry_run": False, "dag_run_id": dag_run[1], "task_ids": [task], "only_failed": False, "include_downstream": True}
    airflow.post(f"/api/v2/dags/{dag_run[0]}/clearTaskInstances", json=body).raise_for_status()
    until(lambda: instance(airflow, dag_run, task)["state"] not in ("success", "failed"), "the clearing")


def log(airflow: httpx.Client, dag_run: DagRun, task: str) -> str:
    """All attempts' logs, as Airflow's pages show them."""
    path = f"/api/v2/dags/{dag_run[0]}/dagRuns/{dag_run[1]}/taskInstances/{task}/logs"
    tries = range(1, instance(airflow, dag_run, task)["try_number"] + 1)
    return "\n".join(text_of(airflow.get(f"{path}/{number}", params={"full_content": True}).json()) for number in tries)


def text_of(value: Any) -> str:
    """Every text in an answer, one a line."""
    if isinstance(value, dict):
        return "\n".join(text_of(one) for one in value.values())
    if isinstance(value, list):
        return "\n".join(text_of(one) for one in value)
    return str(value)


def token_of(client: httpx.Client) -> str | None:
    try:
        answer = client.get("/auth/token")
    except httpx.TransportError:
        return None
    return answer.json()["access_token"] if answer.is_success else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
