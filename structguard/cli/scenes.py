"""
The scenes of `structguard demo`: each makes a real call and notes what went over the wire and came out.

Nothing is printed here; `demo` does that.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from structguard.cli.console import shorten
from structguard.cli.demo_calls import (
    CITY,
    ask,
    city_type,
    create,
    in_another_process,
    open_client,
    remembered,
)
from structguard.testing import Asked, RefusingEndpoint

if TYPE_CHECKING:
    from structguard.flow import Info


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request on the wire and its answer."""

    sent_format: str | None  # the format it carried
    schema_in_prompt: bool
    status: int
    answer: str


@dataclass(slots=True, kw_only=True)
class Scene:
    """One step of the demo: what was called, what went over the wire, what came out."""

    title: str
    says: str  # what there is to see
    call: str  # as a reader would write it
    wire: list[Exchange] = field(default_factory=list[Exchange])
    value: str | None = None
    error: str | None = None
    enforced: bool | None = None
    source: str | None = None
    warnings: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    as_expected: bool = False


def play(memo: str) -> Iterator[Scene]:
    """The scenes in order, each when it is over; `memo` is the address of an empty memo."""
    with (
        RefusingEndpoint(value=CITY) as endpoint,
        _Stage(endpoint, memo) as stage,
        _capturing_warnings(stage),
    ):
        for scene in (_refused, _rescued, _again, _fenced, _schema, _fitting):
            yield scene(stage)


class _Stage:
    """What the scenes share: the endpoint, a plain client, a guarded one, and the warnings given so far."""

    def __init__(self, endpoint: RefusingEndpoint, memo: str) -> None:
        import structguard  # noqa: PLC0415

        self.endpoint = endpoint
        self.memo = memo
        self.plain = open_client(endpoint.base_url)
        self.guarded = structguard.wrap(open_client(endpoint.base_url), memo=memo)
        self.warnings: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.plain.close()
        self.guarded.close()

    def act(self, scene: Scene, call: Callable[[], object]) -> None:
        """Make the scene's call and note what came of it."""
        from openai import OpenAIError  # noqa: PLC0415
        from pydantic import ValidationError  # noqa: PLC0415

        import structguard  # noqa: PLC0415

        first_request, first_warning = len(self.endpoint.requests), len(self.warnings)
        with structguard.watch() as infos:
            try:
                scene.value = str(call())
            except (OpenAIError, ValidationError) as error:
                scene.error = f"{type(error).__name__}: {shorten(str(error), 160)}"
        scene.wire += [_exchange(request) for request in self.endpoint.requests[first_request:]]
        scene.warnings += self.warnings[first_warning:]
        if infos:
            _note_info(scene, infos[-1])


def _note_info(scene: Scene, info: Info) -> None:
    scene.enforced, scene.source = info.enforced, info.source


def _refused(stage: _Stage) -> Scene:
    scene = Scene(
        title="Without structguard",
        says="The router finds no endpoint that accepts response_format. The call is lost.",
        call='client.chat.completions.parse(model="vendor/refuse404", …, response_format=City)',
    )
    stage.act(scene, lambda: ask(stage.plain, "vendor/refuse404"))
    scene.as_expected = scene.error is not None and len(scene.wire) == 1
    return scene


def _rescued(stage: _Stage) -> Scene:
    scene = Scene(
        title="With structguard",
        says="The refusal is recognised, the same request is sent once more without the format, and"
        " the answer is parsed and checked.",
        call="client = structguard.wrap(client)   # and the same call again",
    )
    stage.act(scene, lambda: ask(stage.guarded, "vendor/refuse404"))
    scene.notes = [f"remembered: {line}" for line in remembered(stage.memo)]
    scene.as_expected = len(scene.wire) == 2 and bool(scene.notes) and _is_city(scene)
    return scene


def _again(stage: _Stage) -> Scene:
    scene = Scene(
        title="The next call, in another process",
        says="The refusal is remembered on disk, so the format is left out from the start: one request.",
        call="the same two lines, in a new Python process",
    )
    first_request = len(stage.endpoint.requests)
    result = in_another_process(stage.endpoint.base_url, stage.memo)
    scene.wire = [_exchange(request) for request in stage.endpoint.requests[first_request:]]
    scene.value, scene.error = result.get("value"), result.get("error")
    scene.source = result.get("source")
    scene.enforced = False if scene.value else None
    scene.notes = [f"process {result.get('pid')}, this one is {os.getpid()}"]
    scene.as_expected = len(scene.wire) == 1 and _is_city(scene)
    return scene


def _fenced(stage: _Stage) -> Scene:
    scene = Scene(
        title="An endpoint that accepts the format and ignores it",
        says="It answers with prose around a code fence. The bare SDK raises; the guarded client parses it.",
        call='client.chat.completions.parse(model="vendor/fenced", …, response_format=City)',
    )
    without = Scene(title="", says="", call="")
    stage.act(without, lambda: ask(stage.plain, "vendor/fenced"))
    stage.act(scene, lambda: ask(stage.guarded, "vendor/fenced"))
    scene.notes = [f"without structguard: {without.error}"]
    scene.as_expected = without.error is not None and len(scene.wire) == 1 and _is_city(scene)
    return scene


def _schema(stage: _Stage) -> Scene:
    scene = Scene(
        title="An endpoint that rejects one schema",
        says="It supports the format, but this schema allows keys that it does not name. Only this"
        " schema is remembered, and the warning says what strict mode requires.",
        call='client.chat.completions.create(model="vendor/strict", …, response_format=…)',
    )
    schema = city_type().model_json_schema()
    stage.act(scene, lambda: create(stage.guarded, "vendor/strict", schema))
    scene.as_expected = len(scene.wire) == 2 and _is_city(scene)
    return scene


def _fitting(stage: _Stage) -> Scene:
    from structguard.schema import strictify  # noqa: PLC0415

    scene = Scene(
        title="The same endpoint, with the schema corrected",
        says="Nothing is remembered about this one: it is sent, and the endpoint enforces it.",
        call="schema = structguard.schema.strictify(schema).schema   # and the same call again",
    )
    schema = dict(strictify(city_type().model_json_schema()).schema)
    stage.act(scene, lambda: create(stage.guarded, "vendor/strict", schema))
    scene.as_expected = len(scene.wire) == 1 and scene.enforced is True and _is_city(scene)
    return scene


def _is_city(scene: Scene) -> bool:
    return scene.value is not None and all(str(part) in scene.value for part in CITY.values())


@contextmanager
def _capturing_warnings(stage: _Stage) -> Generator[None]:
    """Hear structguard's warnings instead of letting them run into the output."""

    class Capture(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            stage.warnings.append(record.getMessage())

    logger, handler = logging.getLogger("structguard"), Capture(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _exchange(request: Asked) -> Exchange:
    prompt = json.dumps(request.body.get("messages"))
    return Exchange(
        sent_format=request.sent,
        schema_in_prompt="properties" in prompt,
        status=request.status,
        answer=_answer(request.reply),
    )


def _answer(reply: str) -> str:
    """What the answer says: the message's text, or the whole body of an error."""
    try:
        text: str = json.loads(reply)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, TypeError, IndexError):
        return reply
    return text
