from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pytest_httpserver import HTTPServer

from structguard.memo import Memo, open_memo
from tests.clients.endpoint import Upstream


@pytest.fixture
def upstream(httpserver: HTTPServer) -> Iterator[Upstream]:
    upstream = Upstream(httpserver)
    yield upstream
    upstream.gone.set()


@pytest.fixture
def memo() -> Memo:
    return open_memo("memory:")


@pytest.fixture
def keep() -> Iterator[ExitStack]:
    """Clients that a test opens are closed when it ends: no socket is left to the collector."""
    with ExitStack() as stack:
        yield stack
