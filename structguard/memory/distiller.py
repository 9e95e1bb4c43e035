"""The distiller: a lesson, and if wanted a procedure, from a cluster of episodes. Source: spec memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structguard.events import Observer
from structguard.memory.lessons import (
    DistillLimits,
    Lesson,
    LessonReader,
    accepted,
    answer_instructions,
    lesson_of,
    schema,
)
from structguard.memory.parts import clip, conversation
from structguard.observe import log_events
from structguard.reading import Read
from structguard.subcalls import Ask, Options, Rejection, Skip, Subcall


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that happened, in words, with its tags."""

    text: str
    tags: tuple[str, ...] = ()


DEFAULTS = DistillLimits()
PROMPT = """\
You are given several episodes that resemble one another. State the one lesson they agree on: when
it applies (activation) and what to do (principle), general enough for the next time and true of
all of them. Make up nothing; episodes that disagree teach no lesson.\
"""


def distiller(
    *,
    prompt: str = PROMPT,
    limits: DistillLimits = DEFAULTS,
    procedure: bool = True,
    timeout: float = 60.0,
    model: str | None = None,
    observer: Observer = log_events,
) -> Subcall[[Sequence[Episode]], Lesson]:
    """
    Create a distiller: `await distill(provider, episodes, session="7")` is an `Outcome[Lesson]`.

    It is skipped if there are no episodes. A lesson that exceeds a limit gives the status none, with
    one word as the reason; a procedure or a tag that does is left out and listed in `rejected`. With
    `procedure=False`, it asks for the lesson only. The partition is the session itself. `timeout` is
    in seconds.
    """

    def describe(episodes: Sequence[Episode]) -> Ask | Skip:
        if not episodes:
            return Skip("the cluster is empty")
        data = ["Episodes:", *(_line(episode, limits) for episode in episodes)]
        return Ask(
            conversation(prompt, answer_instructions(limits, procedure=procedure), data), check
        )

    def check(value: object) -> Read | Rejection:
        return lesson_of(value, limits, procedure=procedure)

    options = Options(
        name="distill",
        schema=schema(limits, procedure=procedure),
        accepts=accepted(),
        reader=LessonReader(),
        timeout=timeout,
        model=model,
        abort=False,  # several clusters of one session may be distilled at once
        partition="{session}",
        observer=observer,
    )
    return Subcall(describe, otherwise=None, options=options)


def _line(episode: Episode, limits: DistillLimits) -> str:
    tags = ", ".join(clip(tag, limits.tag) for tag in episode.tags[: limits.episode_tags])
    return f"- {clip(episode.text, limits.episode)}" + (f" [{tags}]" if tags else "")
