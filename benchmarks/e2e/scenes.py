"""Run every face at every place, twice, and keep what went over the wire and what came out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import structguard
from benchmarks.e2e.faces import FACES, Scene, protect, transport, without, wrap
from benchmarks.e2e.places import Answer, Place
from benchmarks.e2e.servers import PROXY_PYTHON, ROOT
from benchmarks.e2e.tap import Seen, Tap

PLAIN = "without structguard"
Ask = Callable[[Scene], Answer]


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the requests that reached the server, and the answer or the error."""

    seen: Sequence[Seen]
    answer: Answer | None
    told: str


@dataclass(frozen=True, slots=True)
class Row:
    """A face at a place: the first call and the second."""

    place: Place
    face: str
    first: Call
    second: Call

    @property
    def holds(self) -> bool:
        """A right answer both times, at the cost the place allows."""
        asked = (self.first, self.second)
        return all(one.answer is not None for one in asked) and self.place.costs == tuple(
            len(one.seen) for one in asked
        )


def rows(place: Place, gateway: str, spare: Tap) -> Iterator[Row]:
    """Without a guard first, then every face with a memo of its own."""
    faces: Mapping[str, Ask] = {PLAIN: without, **FACES}
    for name, ask in faces.items():
        with structguard.Guard(memo="memory:", observer=_quiet) as guard:
            scene = Scene(place, guard, gateway, spare.url)
            yield Row(place, name, _call(ask, scene), _call(ask, scene))


def shared(place: Place, memo: Path) -> list[tuple[str, Call]]:
    """What one face learned, the next ones know: one directory, three guards one after the other."""
    found: list[tuple[str, Call]] = []
    faces: Mapping[str, Ask] = {"wrap": wrap, "transport": transport, "protect": protect}
    for name, ask in faces.items():
        with structguard.Guard(memo=f"disk:{memo}", observer=_quiet) as guard:
            found.append((name, _call(ask, Scene(place, guard))))
    return found


def litellm_itself(tap: Tap) -> list[tuple[str, Call]]:
    """litellm as a library in its own environment: unguarded, and two guarded calls."""
    tap.take()
    done = subprocess.run(  # noqa: S603  our own module
        [str(PROXY_PYTHON), "-m", "benchmarks.e2e.litellm_sdk", tap.url],
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told: list[str] = json.loads(done.stdout.splitlines()[-1])
    names = (PLAIN, "guarded, first call", "guarded, second call")
    seen = tap.take()
    each = len(seen) // 2  # the unguarded call sends nothing: litellm refuses by itself
    parts = (seen[:0], seen[:each], seen[each:])
    return [
        (name, Call(part, None, words))
        for name, part, words in zip(names, parts, told, strict=True)
    ]


def _call(ask: Ask, scene: Scene) -> Call:
    tap = scene.place.tap
    tap.take()
    try:
        answer = ask(scene)
    except Exception as error:  # noqa: BLE001  what is raised is what is shown
        return Call(tap.take(), None, f"{type(error).__name__}: {error}")
    return Call(tap.take(), answer, repr(answer))


def _quiet(_event: object) -> None:
    """Events are not what is measured here."""
