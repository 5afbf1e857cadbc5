"""Run Tidemill's Pipelines from Airflow 3."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """What Airflow reads of a provider. It imports nothing else, since every process of Airflow reads it."""
    return {
        "package-name": "airflow-provider-tidemill",
        "name": "Tidemill",
        "description": "Run Tidemill's Pipelines.",
        "connection-types": [
            {
                "connection-type": "tidemill",
                "hook-class-name": "tidemill_airflow.hook.TidemillHook",
                "hook-name": "Tidemill",
                "ui-field-behaviour": {
                    "hidden-fields": ["login", "port", "schema"],
                    "relabeling": {"host": "URL", "password": "Token"},
                    "placeholders": {"host": "https://tidemill-api.example/v1", "extra": '{"account": "shop"}'},
                },
            }
        ],
    }
