"""The quick start with openapi-generator's Python client."""

import os
import time
from urllib.parse import urljoin

import tidemill

configuration = tidemill.Configuration(
    host=urljoin(os.environ["TIDEMILL_API_URL"], "/").rstrip("/"),
    access_token=os.environ["TIDEMILL_API_TOKEN"],
)
with tidemill.ApiClient(configuration) as client:
    sources = tidemill.SourcesApi(client)
    source = sources.create_source(tidemill.SourceCreate(name="py-shop", type="Webhook"))
    assert source.webhook_url
    while not sources.send_test_event(source.name, request_body={"type": "order.paid", "order": 1}).accepted:
        time.sleep(0.2)
    destination = tidemill.DestinationsApi(client).create_destination(
        tidemill.DestinationCreate.from_dict({"name": "py-lake", "type": "DuckDB", "duckDB": {"path": "py.duckdb"}})
    )
    pipeline = tidemill.PipelinesApi(client).create_pipeline(
        tidemill.PipelineCreate.from_dict(
            {
                "name": "py-orders",
                "sourceRef": {"name": source.name},
                "destinationRef": {"name": destination.name},
            }
        )
    )
    runs = tidemill.RunsApi(client)
    run = runs.start_run(pipeline.name, queue=True, run_start=tidemill.RunStart())
    while run.status in ("Pending", "Running"):
        run = runs.get_run(run.name, wait="30s")
    try:
        sources.get_source("missing")
    except tidemill.ApiException as error:
        print(run.status, run.rows, error.data.code)
