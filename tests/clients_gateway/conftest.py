"""One run of each client's program a session; the heavy families only where they were asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import pytest

from tests.clients_gateway.support import Family, Seen, run

HEAVY = ["test_families.py", "test_agents.py"]
collect_ignore = [] if os.environ.get("STRUCTGUARD_CLIENTS") else HEAVY


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Family], Seen]:
    """What a family's program saw; it runs when it is first asked for."""

    @cache
    def seen(family: Family) -> Seen:
        return run(family, tmp_path_factory.mktemp(family.name))

    return seen
