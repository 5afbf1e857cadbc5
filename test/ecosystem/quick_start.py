"""What openapi-generator's Python client does. Argument: where the API is; the token is in TOKEN."""

import os
import sys

import tidemill

configuration = tidemill.Configuration(host=sys.argv[1], access_token=os.environ["TOKEN"])
with tidemill.ApiClient(configuration) as client:
    source = tidemill.SourcesApi(client).create_source(tidemill.SourceCreate(name="py-shop", type="Webhook"))
    assert source.webhook_url
    destination = tidemill.DestinationsApi(client).create_destination(
        tidemill.DestinationCreate.from_dict(
            {"name": "py-lake", "type": "DuckDB", "duckDB": {"path": "py.duckdb", "volumeClaimName": "lake"}}
        )
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
    started = runs.start_run(pipeline.name, run_start=tidemill.RunStart())
    run = runs.get_run(started.name, wait="30s")
    try:
        tidemill.SourcesApi(client).get_source("missing")
    except tidemill.ApiException as error:
        print(run.status, run.rows, error.data.code)
