"""Fixtures of the gateway's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.redis_server import redis_server
from tests.gateway.support import VALUE
from tests.gateway.upstream import Upstream, upstream

__all__ = ["redis_server"]


@pytest.fixture(scope="module")
def chat_upstream() -> Iterator[Upstream]:
    """An upstream that speaks Chat Completions only, one for a whole module."""
    with upstream() as server:
        yield server


@pytest.fixture(scope="module")
def enforcing() -> Iterator[RefusingEndpoint]:
    """An upstream that takes every format and answers `VALUE`."""
    with RefusingEndpoint("enforce", value=VALUE) as endpoint:
        yield endpoint
