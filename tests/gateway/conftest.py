"""Fixtures of the gateway's tests."""

from __future__ import annotations

from tests.gateway.redis_server import redis_server

__all__ = ["redis_server"]
