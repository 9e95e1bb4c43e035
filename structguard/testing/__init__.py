"""
For tests, ours and yours: a scripted provider, a loopback endpoint that refuses, pytest fixtures.

`Script` plays outcomes where a provider stands; `RefusingEndpoint` is a real server on 127.0.0.1 for
whatever speaks HTTP. The pytest plugin gives the fixtures `memory_memo` and `refusing_endpoint`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structguard.testing.behaviours import BEHAVIOURS, SAYS, Ask
    from structguard.testing.endpoint import Asked, RefusingEndpoint
    from structguard.testing.samples import sample
    from structguard.testing.script import Outcome, Script, ScriptOver
    from structguard.testing.speech import Said

_HOMES = {
    "Ask": "behaviours",
    "Asked": "endpoint",
    "BEHAVIOURS": "behaviours",
    "Outcome": "script",
    "RefusingEndpoint": "endpoint",
    "SAYS": "behaviours",
    "Said": "speech",
    "Script": "script",
    "ScriptOver": "script",
    "sample": "samples",
}

__all__ = [
    "BEHAVIOURS",
    "SAYS",
    "Ask",
    "Asked",
    "Outcome",
    "RefusingEndpoint",
    "Said",
    "Script",
    "ScriptOver",
    "sample",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structguard.testing' has no attribute {name!r}")
    value: object = getattr(import_module(f"structguard.testing.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
