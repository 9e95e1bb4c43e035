"""docs/other-sdks.md runs, with the real SDKs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from tests.clients.endpoint import FENCED, SCHEMA, chat
from tests.clients.vendors import Vendor, asks_for_json, candidates, message
from tests.documents.blocks import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "other-sdks.md"


def test_the_page_runs(httpserver: HTTPServer) -> None:
    for name in ("anthropic", "google.genai"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    vendor = Vendor(httpserver)
    refusal = {"error": {"code": 400, "message": "structured outputs are not supported"}}

    def reply(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if asks_for_json(body):
            return 400, refusal
        if "contents" in body:
            return 200, candidates(FENCED)
        return 200, message(FENCED) if "max_tokens" in body else chat(FENCED)

    vendor.plays(reply)
    names: dict[str, object] = {
        "anthropic_url": vendor.host_url,
        "google_url": vendor.host_url,
        "endpoint": vendor.base_url,
        "answer_format": {"type": "json_schema", "schema": SCHEMA},
    }
    assert run(PAGE, names) > 10
    for name in ("client", "openai", "http"):
        close = getattr(names[name], "close", None)
        assert callable(close)
        close()
