"""What every test shares: hypothesis asserts no time, machines are as slow as they are."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

settings.register_profile("house", deadline=None)
# A broken rule must turn its test red, not find its smallest counter-example: that takes minutes.
settings.register_profile("red", deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("STRUCTGUARD_HYPOTHESIS", "house"))
