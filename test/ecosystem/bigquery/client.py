"""Google's own client for Python does with the double of BigQuery what load does with BigQuery.

Arguments: the address of the double, a service account's key as JSON, a dataset and a Parquet file with a row of 2026-03-01.
Prints what it found, one line for each step.
"""

import json
import sys

from google.api_core.exceptions import Conflict, NotFound, PreconditionFailed
from google.cloud import bigquery
from google.oauth2 import service_account

endpoint, key, dataset_id, file = sys.argv[1:]
credentials = service_account.Credentials.from_service_account_info(
    json.loads(key), scopes=["https://www.googleapis.com/auth/bigquery"]
).with_always_use_jwt_access(True)
client = bigquery.Client(
    project=json.loads(key)["project_id"],
    credentials=credentials,
    location="EU",
    client_options={"api_endpoint": endpoint},
)

dataset = bigquery.Dataset(f"{client.project}.{dataset_id}")
dataset.location = "EU"
client.create_dataset(dataset, retry=None)
print("dataset", client.get_dataset(dataset_id).location)

table = bigquery.Table(
    f"{client.project}.{dataset_id}.orders",
    schema=[
        bigquery.SchemaField("event_id", "STRING"),
        bigquery.SchemaField("date", "DATE"),
    ],
)
table.time_partitioning = bigquery.TimePartitioning(field="date")
table.clustering_fields = ["event_id"]
table.labels = {"team": "shop"}
table = client.create_table(table, retry=None)
print("table", table.time_partitioning.field, table.clustering_fields, table.labels)

stale = client.get_table(table)
table.description = "Orders"
client.update_table(table, ["description"], retry=None)
try:
    stale.description = "Late"
    client.update_table(stale, ["description"], retry=None)
except PreconditionFailed:
    print("stale refused")

config = bigquery.LoadJobConfig(
    source_format=bigquery.SourceFormat.PARQUET,
    write_disposition=bigquery.WriteDisposition.WRITE_TRUNCATE,
    create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
)


def load(job_id: str):
    """By a resumable upload, as load's own."""
    with open(file, "rb") as data:
        return client.load_table_from_file(
            data,
            f"{client.project}.{dataset_id}.orders$20260301",
            job_id=job_id,
            job_config=config,
        )


print("loaded", load("first").result().output_rows)
try:
    load("first")
except Conflict:
    print("job id taken")
print("rows", [row.event_id for row in client.list_rows(table)])
print("jobs", [job.job_id for job in client.list_jobs(state_filter="done")])

client.delete_table(f"{client.project}.{dataset_id}.orders$20260301")
print("partition deleted", client.get_table(table).table_id)
client.delete_dataset(dataset_id, delete_contents=True)
try:
    client.get_dataset(dataset_id)
except NotFound:
    print("dataset deleted")
