"""Where the API is, and who asks: by arguments, or by the environment."""

from __future__ import annotations

import os
from collections.abc import Callable

Token = str | Callable[[], str]
"""A token, or what returns the current one, such as the content of a mounted file that Kubernetes renews."""


def base_url(url: str | None) -> str:
    """The part of the API's URL before /v1, which each path has. TIDEMILL_API_URL if there is none."""
    given = url or _variable("TIDEMILL_API_URL")
    if not given.startswith(("http://", "https://")):
        raise ValueError(f"The URL of the API must begin with https:// or http://, such as https://tidemill-api.example/v1, not {given!r}.")
    return given.rstrip("/").removesuffix("/v1")


def token_or_variable(token: Token | None) -> Token:
    """TIDEMILL_API_TOKEN if there is none."""
    return token or _variable("TIDEMILL_API_TOKEN")


def authorization(token: Token) -> str:
    """The header of one request. The error never has the token, as that of the HTTP library would."""
    current = (token if isinstance(token, str) else token()).strip()
    if not current or not current.isascii() or not current.isprintable():
        raise ValueError("The token is empty or has characters that no token has. Make one by `tidemill tokens create`.")
    return f"Bearer {current}"


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"Tidemill needs its URL and a token. Pass them, or set {name}.")
    return value
