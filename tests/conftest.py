"""What every test shares: hypothesis asserts no time, machines are as slow as they are."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
