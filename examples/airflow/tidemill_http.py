"""The same with nothing but Airflow's HTTP provider. Its connection `tidemill_http` has the API's host and the header with the token."""

from datetime import timedelta

import pendulum
from airflow.providers.http.operators.http import HttpOperator
from airflow.providers.http.sensors.http import HttpSensor
from airflow.sdk import dag
from airflow.sdk.exceptions import AirflowFailException


def has_succeeded(response) -> bool:
    run = response.json()
    if run["status"] in ("Failed", "Cancelled"):
        error = run.get("error", {"code": "Cancelled", "message": "The Run was cancelled."})
        raise AirflowFailException(f"Run {run['name']}: {error['code']}: {error['message']}\n{end_of_log(run['name'])}")
    return run["status"] == "Succeeded"


def end_of_log(run: str) -> str:
    from airflow.providers.http.hooks.http import HttpHook

    hook = HttpHook(method="GET", http_conn_id="tidemill_http")
    return hook.run(f"v1/runs/{run}/logs?tail=20", extra_options={"check_response": False}).text


@dag(
    schedule="0 6 * * *",
    start_date=pendulum.datetime(2026, 1, 1),
    catchup=False,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
)
def tidemill_http():
    # A retry finds the same Run. Clearing the task raises max_tries, and starts another.
    start = HttpOperator(
        task_id="start",
        http_conn_id="tidemill_http",
        endpoint="v1/pipelines/orders/run",
        headers={"Idempotency-Key": "airflow/{{ dag.dag_id }}/{{ run_id }}/{{ ti.task_id }}/{{ ti.max_tries - task.retries }}"},
        response_filter=lambda response: response.json()["name"],
    )
    # It frees its worker between two requests. It can't be deferred, since Airflow's trigger looks at the status code alone.
    wait = HttpSensor(
        task_id="wait",
        http_conn_id="tidemill_http",
        endpoint="v1/runs/{{ ti.xcom_pull(task_ids='start') }}",
        response_check=has_succeeded,
        mode="reschedule",
        poke_interval=5,
        timeout=timedelta(hours=6).total_seconds(),
    )
    start >> wait


tidemill_http()
