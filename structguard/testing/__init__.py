"""
Help for tests: a scripted provider, a local endpoint that refuses, and pytest fixtures.

`Script` takes the place of a provider; `RefusingEndpoint` is a real server on 127.0.0.1 for anything
that sends HTTP. The pytest plugin provides the fixtures `memory_memo` and `refusing_endpoint`.
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
