"""Loads a Pipeline's table every morning, without a worker while it waits. Needs the package airflow-provider-tidemill."""

from datetime import timedelta

import pendulum
from airflow.sdk import dag, task
from tidemill_airflow.operator import TidemillRunOperator


@dag(
    schedule="0 6 * * *",
    start_date=pendulum.datetime(2026, 1, 1),
    catchup=False,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=1)},
)
def tidemill_deferrable():
    load = TidemillRunOperator(task_id="load", pipeline="orders", deferrable=True)

    @task
    def report(run: dict):
        print(f"{run['name']} has loaded {run['rows']} rows.")

    report(load.output)


tidemill_deferrable()
