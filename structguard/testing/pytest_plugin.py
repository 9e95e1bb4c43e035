"""
The pytest fixtures `memory_memo` and `refusing_endpoint`; installed with the package.

Nothing but the standard library and pytest is imported until a test asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from structguard.memo import Memo
    from structguard.testing.endpoint import RefusingEndpoint


@pytest.fixture
def memory_memo() -> Iterator[Memo]:
    """An empty memo in memory, for one test."""
    from structguard.memo import open_memo  # noqa: PLC0415

    with open_memo("memory:") as memo:
        yield memo


@pytest.fixture
def refusing_endpoint() -> Iterator[RefusingEndpoint]:
    """
    A running `RefusingEndpoint` that refuses every format with a 400.

    A model named after another behaviour ("refuse404", "fenced", "slow", …) gets that one.
    """
    from structguard.testing.endpoint import RefusingEndpoint  # noqa: PLC0415

    with RefusingEndpoint() as endpoint:
        yield endpoint
