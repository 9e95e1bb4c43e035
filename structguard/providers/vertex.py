"""
The one place that touches google-auth: service accounts and application default credentials.

Imported when first needed; refreshing a token blocks, so it runs in a worker thread.
Source: Google Cloud documentation, Application Default Credentials.
"""

from __future__ import annotations

import datetime as dt
import importlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import anyio.to_thread

from structguard.errors import MissingExtra
from structguard.providers.credentials import Credential
from structguard.types import as_mapping, as_text

_LOADERS: Mapping[str, tuple[str, str]] = {  # type in the file → google-auth's module, its maker
    "service_account": ("google.oauth2.service_account", "from_service_account_info"),
    "authorized_user": ("google.oauth2.credentials", "from_authorized_user_info"),
    "external_account": ("google.auth.identity_pool", "from_info"),
}
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class GoogleCredentials(Protocol):
    """What is used of google-auth's credentials."""

    token: str | None
    expiry: dt.datetime | None

    def refresh(self, request: object, /) -> None: ...


def require_google_auth() -> None:
    """
    Look whether google-auth is there, without importing it.

    Raises:
        MissingExtra: it is not; the message names the pip line.
    """
    for name in ("google", "google.auth", "requests"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtra("Google Vertex", "vertex")


class VertexToken:
    """
    A credentials callable over google-auth; without `given` the default credentials are used.

    Raises:
        ValueError: a credential file's content of a type that is not known here.
    """

    def __init__(self, given: GoogleCredentials | Mapping[str, object] | None) -> None:
        info = as_mapping(given)
        if info is not None and info.get("type") not in _LOADERS:
            raise ValueError(
                f"a Google credential must be of type {', '.join(_LOADERS)}, got"
                f" {info.get('type')!r}; for other types, pass google-auth credentials"
            )
        self._given = given
        self._found: GoogleCredentials | None = None

    async def __call__(self) -> Credential:
        """A fresh access token."""
        return await anyio.to_thread.run_sync(self.refreshed)

    def refreshed(self) -> Credential:
        """A fresh access token; waits for the network."""
        if self._found is None:
            self._found = self._load()
        request = importlib.import_module("google.auth.transport.requests").Request()
        self._found.refresh(request)
        return Credential(token=self._found.token, expires_in=_life(self._found.expiry))

    def _load(self) -> GoogleCredentials:
        if self._given is None:
            auth = importlib.import_module("google.auth")
            return cast("GoogleCredentials", auth.default(scopes=_SCOPES)[0])
        info = as_mapping(self._given)
        if info is None:
            return cast("GoogleCredentials", self._given)
        module, maker = _LOADERS[str(info["type"])]
        factory = getattr(importlib.import_module(module).Credentials, maker)
        return cast("GoogleCredentials", factory(dict(info), scopes=_SCOPES))


def _life(expiry: dt.datetime | None) -> float | None:
    if expiry is None:
        return None
    aware = expiry if expiry.tzinfo else expiry.replace(tzinfo=dt.UTC)
    return max(0.0, (aware - dt.datetime.now(dt.UTC)).total_seconds())


def default_info(env: Mapping[str, str]) -> Mapping[str, object] | None:
    """What the file of the application default credentials holds, if the environment names it."""
    name = "GOOGLE_APPLICATION_CREDENTIALS"
    path = env.get(name, "").strip()
    return account_info(path, name) if path else None


def account_info(text: str, name: str = "GOOGLE_CREDENTIALS") -> Mapping[str, object]:
    """
    A credential file's content, from its JSON text or its path.

    Raises:
        ValueError: it is neither; its content is not repeated.
    """
    try:
        raw = text if text.lstrip().startswith("{") else Path(text).expanduser().read_text("utf-8")
        info = as_mapping(json.loads(raw))
    except (OSError, ValueError):
        info = None
    if info is None:
        raise ValueError(f"{name} must be the JSON of a credential or the path to it")
    return info


def project_of(info: Mapping[str, object] | None) -> str | None:
    """The project a credential belongs to, if it says."""
    if info is None:
        return None
    return as_text(info.get("project_id")) or as_text(info.get("quota_project_id"))
