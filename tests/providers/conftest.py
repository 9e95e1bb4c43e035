"""The loopback server answers several requests at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer


@pytest.fixture(scope="session")
def make_httpserver() -> Iterator[HTTPServer]:
    """One server for the whole run; pytest-httpserver clears it between tests."""
    server = HTTPServer(host="localhost", port=0, threaded=True)
    server.start()
    yield server
    server.clear()
    server.stop()
