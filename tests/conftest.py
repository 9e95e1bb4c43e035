"""
What every test shares: hypothesis asserts no time, machines are as slow as they are, and a test has
its loopback server to itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings
from pytest_httpserver import HTTPServer

settings.register_profile("house", deadline=None)
# A broken rule must turn its test red, not find its smallest counter-example: that takes minutes.
settings.register_profile("red", deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("STRUCTGUARD_HYPOTHESIS", "house"))

_POLL = 0.005  # seconds: how long the end of a server may take, which every test waits for


class _Server(HTTPServer):
    def thread_target(self) -> None:
        assert self.server is not None
        self.server.serve_forever(poll_interval=_POLL)


@pytest.fixture
def make_httpserver() -> Iterator[HTTPServer]:
    """
    A server of its own for each test, answering several requests at once.

    One server for the whole run would hear what an earlier test abandoned: a request that was
    cancelled when it was on the wire arrives when it arrives, and would stand in a later test's log.
    """
    with _Server(threaded=True) as server:
        yield server
