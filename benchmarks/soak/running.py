"""The soak itself: an upstream, a gateway, the load, and what they came to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.e2e.servers import free_port
from benchmarks.soak.load import Load, Tally, run
from benchmarks.soak.watch import Watch, watching
from structguard import Guard, Policy

_CONFIG = """\
[providers.up]
base_url = "{url}/v1"
credential = "client"
[endpoints.chat_completions]
enabled = true
[guard]
memo = "disk:{memo}"
[log]
access = false
level = "error"
"""


@dataclass(frozen=True, slots=True)
class Soaked:
    """What a run came to; `report` is the upstream's own count."""

    load: Load
    tally: Tally
    watch: Watch
    report: Mapping[str, Any]

    @property
    def holds(self) -> bool:
        """0 lost, 0 doubled."""
        return not self.tally.lost and not self.report["doubled"]


@contextmanager
def process(command: Sequence[str], probe: str) -> Iterator[int]:
    """A process that answers at `probe`; its id."""
    started = subprocess.Popen(  # noqa: S603  our own commands
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            if started.poll() is not None:
                raise RuntimeError(f"{command!r} ended with {started.returncode}")
            try:
                with urllib.request.urlopen(probe, timeout=5):  # noqa: S310  our own loopback
                    break
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)  # noqa: TID251  before anything runs
        yield started.pid
    finally:
        started.terminate()
        started.wait(30)


@contextmanager
def servers(place: Path) -> Iterator[tuple[str, str, int]]:
    """The upstream and a gateway in front of it: both URLs (without /v1), the gateway's id."""
    up, down = free_port(), free_port()
    url, gateway = f"http://127.0.0.1:{up}", f"http://127.0.0.1:{down}"
    config = place / "gateway.toml"
    config.write_text(_CONFIG.format(url=url, memo=place / "gateway-memo"))
    with process(["-m", "benchmarks.soak.upstream", str(up)], f"{url}/report"):
        command = ["-m", "structguard", "serve", "--config", str(config), "--port", str(down)]
        with process(command, f"{gateway}/healthz") as pid:
            yield url, gateway, pid


def soak(load: Load, place: Path, every: float = 1.0) -> Soaked:
    """One run with a memo on disk that is removed from time to time, and refusals that expire."""
    tally, memo = Tally(), place / "memo"
    policy = Policy(expiry=5.0)  # seconds: tried again, refused again, renewed
    with (
        servers(place) as (url, gateway, pid),
        Guard(memo=f"disk:{memo}", policy=policy, observer=lambda _event: None) as guard,
        watching({"faces": os.getpid(), "gateway": pid}, tally, every) as watch,
    ):
        run(load, f"{url}/v1", f"{gateway}/v1", memo, tally, guard)
        return Soaked(load, tally, watch, report(url))


def report(url: str) -> Mapping[str, Any]:
    """The upstream's own count."""
    with urllib.request.urlopen(f"{url}/report", timeout=10) as reply:  # noqa: S310  our loopback
        found: Mapping[str, Any] = json.loads(reply.read())
        return found
