"""A connection of type `tidemill`: the host is the URL of the API, the password is the token."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseHook
from tidemill import AsyncTidemill, Tidemill


class TidemillHook(BaseHook):
    """Tidemill's clients, by a connection."""

    conn_name_attr = "tidemill_conn_id"
    default_conn_name = "tidemill_default"
    conn_type = "tidemill"
    hook_name = "Tidemill"

    def __init__(self, tidemill_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.tidemill_conn_id = tidemill_conn_id

    def get_conn(self) -> Tidemill:
        return Tidemill(**_arguments(self.get_connection(self.tidemill_conn_id)))

    async def get_async_conn(self) -> AsyncTidemill:
        return AsyncTidemill(**_arguments(await self.aget_connection(self.tidemill_conn_id)))

    def test_connection(self) -> tuple[bool, str]:
        try:
            with self.get_conn() as tidemill:
                tidemill.pipelines.list(limit=1)
        except Exception as error:
            return False, str(error)
        return True, "The API answers."


def _arguments(connection: Any) -> dict[str, Any]:
    return {
        "url": connection.host,
        "token": connection.password,
        "account": connection.extra_dejson.get("account"),
    }
