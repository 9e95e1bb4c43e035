"""
What this gateway offers, as an OpenAPI 3.1 document: made of the schemas that its requests are checked by.

Source: OpenAPI 3.1.1; spec gateway "Endpoints and switches".
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from structguard.gateway import schema_embeddings
from structguard.gateway.config import Config
from structguard.gateway.resource import REQUIRED

Json = dict[str, object]

_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}
_ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": _TEXT,
                "type": _TEXT,
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_FAILED: Json = {
    "description": "What is wrong, in the one form",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_RESPONSE: Json = {
    "type": "object",
    "required": sorted(REQUIRED),
    "properties": {"id": _TEXT, "object": {"const": "response"}, "output": {"type": "array"}},
}
_COMPLETION: Json = {
    "type": "object",
    "required": ["choices"],
    "properties": {"id": _TEXT, "choices": {"type": "array"}},
}
_EVENT: Json = {
    "type": "object",
    "required": ["data"],
    "properties": {"event": _TEXT, "data": {**_TEXT, "description": "JSON, or [DONE] at the end"}},
}
_LIST: Json = {
    "type": "object",
    "required": ["object", "data"],
    "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": _OBJECT}},
}
_PER_REQUEST: list[Json] = [
    {
        "name": "x-structguard-mode",
        "in": "header",
        "schema": {"enum": ["guard", "native", "off"], "type": "string"},
    },
    {
        "name": "x-request-timeout",
        "in": "header",
        "description": "seconds the whole call may take",
        "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 86400},
    },
]
_ITEMS: list[Json] = [
    {"name": "order", "in": "query", "schema": {"enum": ["asc", "desc"], "type": "string"}},
    {"name": "after", "in": "query", "schema": _TEXT},
    {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100}},
]


def document(config: Config) -> Json:
    """The document of the endpoints that this configuration enables."""
    paths: dict[str, Json] = {
        "/v1/models": {"get": _operation("List the models", _LIST)},
        "/v1/models/{model}": _with("model", {"get": _operation("One model", _OBJECT)}),
        "/v1/embeddings": {"post": _operation("Embed texts", _LIST, body=schema_embeddings.SCHEMA)},
        "/openapi.json": {"get": _operation("This document", _OBJECT)},
        "/healthz": {"get": _operation("Whether the process answers", _OBJECT, auth=False)},
        "/readyz": {"get": _operation("Whether requests should come here", _OBJECT, auth=False)},
    }
    if config.endpoints.responses.enabled:
        paths |= _responses()
    if config.endpoints.chat_completions.enabled:
        paths |= _chat()
    return {
        "openapi": "3.1.1",
        "info": {"title": "structguard", "version": version("structguard")},
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}] if config.auth.required else [],
    }


def _responses() -> dict[str, Json]:
    from structguard.gateway.schema_responses import SCHEMA  # noqa: PLC0415  as the other one

    found, gone = _operation("A stored response", _RESPONSE), _operation("Forget it", _OBJECT)
    return {
        "/v1/responses": {"post": _asked("Create a response", SCHEMA, _RESPONSE, stream=True)},
        "/v1/responses/compact": {"post": _asked("Compact a conversation", SCHEMA, _OBJECT)},
        "/v1/responses/{id}": _with("id", {"get": found, "delete": gone}),
        "/v1/responses/{id}/input_items": _with(
            "id", {"get": {**_operation("What went into it", _LIST), "parameters": _ITEMS}}
        ),
    }


def _chat() -> dict[str, Json]:
    """The legacy endpoint, imported only where it is enabled."""
    from structguard.gateway.schema_chat import SCHEMA  # noqa: PLC0415  removable

    operation = _asked("Complete a chat", SCHEMA, _COMPLETION, stream=True)
    return {"/v1/chat/completions": {"post": {**operation, "deprecated": True}}}


def _asked(
    summary: str, schema: Mapping[str, object], reply: Json, *, stream: bool = False
) -> Json:
    return {
        **_operation(summary, reply, body=schema, stream=stream),
        "parameters": _PER_REQUEST,
    }


def _operation(
    summary: str,
    reply: Json,
    *,
    body: Mapping[str, object] | None = None,
    auth: bool = True,
    stream: bool = False,
) -> Json:
    kinds: Json = {"application/json": {"schema": reply}}
    if stream:
        kinds["text/event-stream"] = {"schema": _EVENT}
    operation: Json = {
        "summary": summary,
        "responses": {"200": {"description": "Done", "content": kinds}, "default": _FAILED},
    }
    if body is not None:
        schema = {key: value for key, value in body.items() if key != "$schema"}
        content = {"application/json": {"schema": schema}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation if auth else {**operation, "security": []}


def _with(name: str, operations: Json) -> Json:
    schema = {"type": "string", "minLength": 1}
    return {
        "parameters": [{"name": name, "in": "path", "required": True, "schema": schema}],
        **operations,
    }
