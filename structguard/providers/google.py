"""
Google's models: the Gemini API with a key, or Vertex with google-auth (extra `vertex`).

Source: Gemini API and Vertex AI references; spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, Unpack
from urllib.parse import quote

from structguard.http.urls import join
from structguard.memo import endpoint_id
from structguard.providers.base import BaseProvider
from structguard.providers.credentials import Credentials
from structguard.providers.embeddings import (
    Embeddings,
    bad,
    embed,
    mapping_of,
    texts as listed,
    vector_of,
)
from structguard.providers.routes import FixedRouter, ignore_api
from structguard.providers.seams import Authorise
from structguard.providers.settings import (
    TIMEOUT,
    Common,
    bearer,
    checked_base,
    checked_common,
    checked_key,
    environ,
    missing,
    read,
    read_network,
)
from structguard.providers.vertex import (
    GoogleCredentials,
    VertexToken,
    account_info,
    default_info,
    project_of,
    require_google_auth,
)
from structguard.types import as_mapping, as_sequence
from structguard.wire import generate_content
from structguard.wire.base import WireOptions

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
_MISSING = "no API key: pass api_key, or set GEMINI_API_KEY (or VERTEX_AI_LOCATION for Vertex)"


class Google(BaseProvider):
    """
    The Gemini API, or Vertex if a `location` is given.

    Structured output is sent as `responseMimeType` and `responseJsonSchema`.

    Args:
        api_key: The key of the Gemini API. Without one, calls raise an `authentication` error.
        location: The Vertex location, such as "europe-west4".
        project: The Google Cloud project; required for Vertex.
        credentials: For Vertex: google-auth credentials, or the content of a credential file. None
            uses the application default credentials.
        base_url: The base URL; None is Google's own.
        models: Options of single models, by name.
        api: Has no effect: there is only one API.
        **common: `id`, `timeout`, `retry`, `headers`, `transport`, `limits`, `proxy`, `options` and
            `observer`, as for every provider.

    Raises:
        ValueError, TypeError: An unusable argument; the message never repeats a key.
        MissingExtra: Vertex without the extra `vertex`.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        location: str | None = None,
        project: str | None = None,
        credentials: GoogleCredentials | Mapping[str, object] | None = None,
        base_url: str | None = None,
        models: Mapping[str, WireOptions] | None = None,
        api: str | None = None,
        **common: Unpack[Common],
    ) -> None:
        settings = checked_common(type(self), common)
        key = checked_key(api_key)
        self._vertex = location is not None
        if location is None and (project is not None or credentials is not None):
            raise ValueError("project and credentials are for Vertex: pass location as well")
        default = BASE_URL if location is None else _vertex_url(location, project, key)
        self._url = checked_base(base_url or default)
        name = endpoint_id(self._url)
        ignore_api(api, "generate_content", f"Google at {name}", settings.observer)
        authorise: Authorise | None = None
        if self._vertex:
            require_google_auth()
            authorise = Credentials(VertexToken(credentials), scheme=bearer, clock=settings.clock)
        no_key = key is None and "x-goog-api-key" not in settings.headers
        self.missing_credential: bool = no_key and not self._vertex  # a chain leaves it out
        if self.missing_credential:
            authorise = missing(_MISSING)
        engine = settings.engine(
            name,
            FixedRouter(
                wire=generate_content,
                base_url=self._url,
                options=settings.options,
                models=models or {},
            ),
            authorise,
            {"x-goog-api-key": key} if key else None,
        )
        models_url = _models_url(self._url)
        super().__init__(engine, generate_content, base_url=self._url, models_url=models_url)

    @classmethod
    def from_env(cls, **common: Unpack[Common]) -> Self:
        """
        Read GEMINI_API_KEY and GEN_AI_API_BASE_URL; without a key and with VERTEX_AI_LOCATION,
        Vertex: GOOGLE_CREDENTIALS (JSON or a path, else the application default credentials) and
        GOOGLE_CLOUD_PROJECT (else the project in GOOGLE_CREDENTIALS or in the file that
        GOOGLE_APPLICATION_CREDENTIALS names).

        Raises:
            ValueError: Vertex without a project, or a credential that cannot be read.
        """
        env = environ()
        common.setdefault("timeout", TIMEOUT)
        key, location = read(env, "GEMINI_API_KEY"), read(env, "VERTEX_AI_LOCATION")
        base_url = read(env, "GEN_AI_API_BASE_URL")
        if key is not None or location is None:
            read_network(common, base_url or BASE_URL)
            return cls(key, base_url=base_url, **common)
        credentials = read(env, "GOOGLE_CREDENTIALS")
        info = None if credentials is None else account_info(credentials)
        project = read(env, "GOOGLE_CLOUD_PROJECT") or project_of(info or default_info(env))
        read_network(common, base_url or _vertex_url(location, project, key))
        return cls(
            location=location,
            project=project,
            credentials=info,
            base_url=base_url,
            **common,
        )

    async def embed(
        self,
        texts: str | Sequence[str],
        *,
        model: str,
        dimensions: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  the call's budget in seconds, as in Request
    ) -> Embeddings:
        """
        Return one embedding vector per text, in order.

        Raises:
            ProviderError: The call failed; `kind` says how.
        """
        name = model.removeprefix("models/")
        verb = "predict" if self._vertex else "batchEmbedContents"
        inputs = listed(texts)
        body = (_predict if self._vertex else _batch)(inputs, name, dimensions)
        return await embed(
            self._engine,
            generate_content,
            join(self._url, f"/models/{quote(name, safe='')}:{verb}"),
            body,
            _predicted if self._vertex else _embedded,
            count=len(inputs),
            model=name,
            timeout=timeout,
        )


def _vertex_url(location: str, project: str | None, key: str | None) -> str:
    if key is not None:
        raise ValueError("pass api_key or location, not both: Vertex uses google-auth credentials")
    if not location.replace("-", "").isalnum():  # it becomes a part of the host
        raise ValueError(f"location must be a Google Cloud region or 'global', got {location!r}")
    if not project:
        raise ValueError("Vertex needs a project: pass project, or set GOOGLE_CLOUD_PROJECT")
    host = "aiplatform" if location == "global" else f"{location}-aiplatform"
    parent = f"projects/{quote(project, safe='')}/locations/{quote(location, safe='')}"
    return f"https://{host}.googleapis.com/v1/{parent}/publishers/google"


def _models_url(url: str) -> str:
    """Vertex lists its publisher's models outside of any project, and only in v1beta1."""
    head, found, _ = url.partition("/v1/projects/")
    return join(f"{head}/v1beta1/publishers/google" if found else url, "/models")


def _batch(texts: Sequence[str], model: str, dimensions: int | None) -> Mapping[str, object]:
    size = {} if dimensions is None else {"outputDimensionality": dimensions}
    return {
        "requests": [
            {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, **size}
            for text in texts
        ]
    }


def _predict(texts: Sequence[str], model: str, dimensions: int | None) -> Mapping[str, object]:
    del model
    size = {} if dimensions is None else {"parameters": {"outputDimensionality": dimensions}}
    return {"instances": [{"content": text} for text in texts], **size}


def _embedded(raw: bytes) -> Embeddings:
    return _vectors(raw, "embeddings", None)


def _predicted(raw: bytes) -> Embeddings:
    return _vectors(raw, "predictions", "embeddings")


def _vectors(raw: bytes, key: str, inner: str | None) -> Embeddings:
    items = as_sequence(mapping_of(raw).get(key)) or ()
    entries = [as_mapping(item) or {} for item in items]
    if inner is not None:
        entries = [as_mapping(item.get(inner)) or {} for item in entries]
    if not entries:
        raise bad(raw, "the reply holds no embeddings")
    return Embeddings(vectors=tuple(vector_of(item.get("values"), raw) for item in entries))
