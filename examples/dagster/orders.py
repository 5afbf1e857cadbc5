"""An asset that is materialised when its Run has succeeded. Needs the packages dagster and tidemill."""

from datetime import datetime

import dagster as dg
from tidemill import RunFailed, Tidemill, idempotency_key


class TidemillResource(dg.ConfigurableResource):
    url: str
    token: str

    def client(self) -> Tidemill:
        return Tidemill(self.url, self.token)


def identity(context: dg.AssetExecutionContext) -> dict:
    """What a repeat has in common. Dagster repeats a step in its run, or the run itself under a new id (run retries)."""
    run_retries = int(context.run.tags.get("dagster/retry_number", 0))
    root = context.run.root_run_id if run_retries else None
    partition = context.partition_key if context.has_partition_key else ""
    key = idempotency_key("dagster", root or context.run.run_id, context.asset_key.to_user_string(), partition)
    return {"idempotency_key": key, "attempt": 1 + run_retries + context.retry_number}


@dg.asset(
    kinds={"tidemill"},
    retry_policy=dg.RetryPolicy(max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS),
)
def orders(context: dg.AssetExecutionContext, tidemill: TidemillResource) -> dg.MaterializeResult:
    with tidemill.client() as client, client.pipelines.run("orders", **identity(context)) as started:
        # Terminating the run interrupts the block, which cancels the Run.
        context.log.info(f"Run {started.name} is {started.run['status']}")
        try:
            run = started.wait()
        except RunFailed as error:
            raise dg.Failure(
                description=str(error),
                metadata={"run": error.run["name"], "code": error.code, "log": dg.MetadataValue.text(error.log)},
                allow_retries=error.retryable,
            ) from None
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": run["rows"],
            "run": run["name"],
            "dates": dg.MetadataValue.json(run["dates"]),
            "snapshot_time": dg.MetadataValue.timestamp(datetime.fromisoformat(run["snapshotTime"])),
        }
    )


defs = dg.Definitions(
    assets=[orders],
    resources={"tidemill": TidemillResource(url=dg.EnvVar("TIDEMILL_API_URL"), token=dg.EnvVar("TIDEMILL_API_TOKEN"))},
)
