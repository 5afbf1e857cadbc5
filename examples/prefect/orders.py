"""A flow that loads a Pipeline's table. Needs the packages prefect and tidemill."""

from prefect import flow, get_run_logger, task
from prefect.runtime import flow_run, task_run
from tidemill import RunFailed, Tidemill, idempotency_key


def another_run_may_succeed(task, task_run, state) -> bool:
    error = state.result(raise_on_failure=False)
    return not isinstance(error, RunFailed) or error.retryable


@task(retries=3, retry_delay_seconds=[60, 300, 900], retry_jitter_factor=0.5, retry_condition_fn=another_run_may_succeed)
def load(pipeline: str) -> dict:
    # A retried task and a retried flow keep the key. A flow that loads a Pipeline twice needs one more part in it.
    key = idempotency_key("prefect", flow_run.id, task_run.task_name, pipeline)
    attempt = max(1, flow_run.run_count) + max(1, task_run.run_count) - 1
    with Tidemill() as tidemill, tidemill.pipelines.run(pipeline, idempotency_key=key, attempt=attempt) as started:
        # Cancelling the flow run interrupts the block, which cancels the Run.
        get_run_logger().info("Run %s is %s", started.name, started.run["status"])
        return started.wait()


@flow(log_prints=True)
def orders(pipeline: str = "orders") -> int:
    run = load(pipeline)
    print(f"{run['name']} has loaded {run['rows']} rows.")
    return run["rows"]


if __name__ == "__main__":
    orders()
