from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from openai import OpenAI
from pytest_httpserver import HTTPServer

import structguard as sg
from structguard.memo import Memo, open_memo
from tests.clients.endpoint import Upstream
from tests.clients.vendors import Vendor


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


@pytest.fixture
def wrapped(upstream: Upstream, memo: Memo, keep: ExitStack) -> Callable[..., OpenAI]:
    """Makes wrapped clients of the upstream; takes the policy's fields."""

    def make(**policy: Any) -> OpenAI:
        plain = OpenAI(base_url=upstream.base_url, api_key="sk-test", max_retries=0)
        return sg.wrap(keep.enter_context(plain), memo=memo, policy=sg.Policy(**policy))

    return make


@pytest.fixture
def client(wrapped: Callable[..., OpenAI]) -> OpenAI:
    return wrapped()


@pytest.fixture
def vendor(httpserver: HTTPServer) -> Vendor:
    return Vendor(httpserver)
