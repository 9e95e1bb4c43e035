"""How large a load test is: small in every run, full with STRUCTGUARD_FULL=1."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")
FULL = os.environ.get("STRUCTGUARD_FULL") == "1"
patient = pytest.mark.timeout(900 if FULL else 60)
"""For tests whose full size takes minutes."""
full_only = pytest.mark.skipif(not FULL, reason="only at full size: STRUCTGUARD_FULL=1")
"""For what a smaller test of another kind covers in every run."""


def size(small: T, full: T) -> T:
    """The one that was asked for."""
    return full if FULL else small


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The clients of a load run once, on the loop that costs least."""
    return "asyncio", {"use_uvloop": True}
