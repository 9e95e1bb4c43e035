"""
For tests, ours and yours: a scripted provider, a loopback endpoint that refuses, pytest fixtures.

`Script` plays outcomes where a provider stands; `RefusingEndpoint` is a real server on 127.0.0.1 for
whatever speaks HTTP. The pytest plugin gives the fixtures `memory_memo` and `refusing_endpoint`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structguard.testing.script import Outcome, Script, ScriptOver

_HOMES = {
    "Outcome": "script",
    "Script": "script",
    "ScriptOver": "script",
}

__all__ = ["Outcome", "Script", "ScriptOver"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structguard.testing' has no attribute {name!r}")
    value: object = getattr(import_module(f"structguard.testing.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
