"""docs/compare.md, written from the run and from nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.compare.clients import CLIENTS
from benchmarks.compare.endpoints import BEHAVIOURS, QUESTION
from benchmarks.compare.outcome import Outcome, Pair, Verdict

_TOLD = 88  # characters of an outcome that are shown


@dataclass(frozen=True, slots=True)
class Measured:
    """One cell: a client at an endpoint, without, wrapped, and through a guarded transport."""

    without: Pair
    wrapped: Pair
    transport: Pair


Cells = Mapping[tuple[str, str], Measured]  # by (behaviour, client)

_TOP = f"""\
# Side by side

Eight clients ask twelve endpoints the same question (*{QUESTION}*) for a pydantic model, twice, without structguard and
with it. `make compare` repeats the measurement, with the real libraries and a real local HTTP endpoint, and writes this page.
The HTTP retries of the SDKs are off on both sides; a framework's own retries are on.

![Clients and endpoints, without and with structguard](img/compare.svg)

"""

_LEGEND = """\
A cell shows *without → with*, each for the first and the second call. The number is how many requests reached the endpoint.

| mark | result |
|---|---|
| ✓ | the right object |
| ● | an error that says what happened, where no right object could be obtained |
| ✗ | an error although the right object could be obtained, or one that does not say what happened |
| ≈ | something else, returned as if it were the answer: prose, `None`, half of the JSON |

"""

_NOTES = """\
## What to know

- **Prose.** This endpoint accepts the format and ignores it; only a schema in the prompt has an effect. `ignored_after=1` puts it
  there from the second send on. The first call yields no value, and its error says so, unless the framework asks again on its
  own: pydantic-ai then shows its schema, and instructor's second attempt is a second send.
- **None, prose or an empty turn as an answer.** A client that checks nothing returns whatever it got, and openai-agents asks an
  empty endpoint ten times. With `Policy(on_unusable="error")`, a reply without JSON is an error at once. Leave it off if the
  framework asks again on its own, as in the columns instructor and pydantic-ai.
- **500.** A server error may be temporary, so the refusal is remembered only after the second rescue: the second call still takes
  two requests, the third takes one.
- **Router.** With its cooldowns on, the first refusal puts the deployment into cooldown for five seconds, and the second call
  without structguard is not even sent. They are off here, so that only the endpoints are compared.
- **litellm** takes the guarded client as an argument of the call. For a provider whose formats it refuses on its own, before
  anything is sent, guard the function: `guarded("its name")(litellm.completion)` ([proof](proof.md)).
"""


def page(cells: Cells, versions: Mapping[str, str]) -> str:
    """The whole page."""
    parts = [_TOP, _LEGEND, _matrix(cells), _totals(cells), _ways(versions), _NOTES]
    parts += [_behaviour(key, cells) for key in BEHAVIOURS]
    return "".join(parts).rstrip() + "\n"


def _matrix(cells: Cells) -> str:
    lines = [_row(["", *CLIENTS]), _row(["---"] * (len(CLIENTS) + 1))]
    for key, behaviour in BEHAVIOURS.items():
        found = [cells[key, name] for name in CLIENTS]
        marks = [f"{_marks(one.without)} → {_marks(one.wrapped)}" for one in found]
        lines.append(_row([behaviour.title, *marks]))
    return "\n".join(lines) + "\n\n"


def _totals(cells: Cells) -> str:
    """What the cells add up to, by their first calls and by the bar."""
    lines = [
        _row(["first call", "✓ the object", "● truthful", "✗ lost or misleading", "≈ as if"]),
        _row(["---", "--:", "--:", "--:", "--:"]),
    ]
    for name in ("without", "wrapped", "transport"):
        pairs: list[Pair] = [getattr(one, name) for one in cells.values()]
        counted = Counter(pair.first.verdict for pair in pairs)
        lines.append(_row([_NAMES[name], *(str(counted[verdict]) for verdict in Verdict)]))
    same = sum(_same(one.wrapped, one.transport) for one in cells.values())
    return (
        "\n".join(lines)
        + f"\n\nA guarded transport in place of the wrapped client gave the same marks and the same requests in {same}"
        f" of {len(cells)} cells.\n\n"
    )


_NAMES = {
    "without": "without structguard",
    "wrapped": "with, the SDK client wrapped",
    "transport": "with, a guarded transport",
}


def _ways(versions: Mapping[str, str]) -> str:
    lines = [
        "## How each is guarded\n",
        (
            "`guard = structguard.Guard(policy=structguard.Policy(also_statuses={500}, ignored_after=1))`, and"
            ' `on_unusable="error"` where the column says so.\n'
        ),
        _row(["client", "version", "with structguard", "`on_unusable`"]),
        _row(["---"] * 4),
    ]
    for client in CLIENTS.values():
        required = f"`{client.policy.on_unusable}`"
        lines.append(_row([client.name, versions[client.package], client.how, required]))
    lines.append(
        f"\nBeside them: openai {versions['openai']} (instructor's bound on jiter keeps it there), pydantic {versions['pydantic']}."
    )
    return "\n".join(lines) + "\n\n"


def _behaviour(key: str, cells: Cells) -> str:
    behaviour = BEHAVIOURS[key]
    lines = [
        f"\n## {behaviour.title[0].upper()}{behaviour.title[1:]}\n",
        f"The endpoint: {behaviour.about}.\n",
        _row(["client", "without structguard", "second call", "with", "second call"]),
        _row(["---"] * 5),
    ]
    for name in CLIENTS:
        one = cells[key, name]
        lines.append(_row([name, *_words(one.without), *_words(one.wrapped)]))
    return "\n".join(lines) + "\n"


def _both(pair: Pair) -> tuple[Outcome, Outcome]:
    return (pair.first, pair.second)


def _same(one: Pair, other: Pair) -> bool:
    return _marks(one) == _marks(other)


def _marks(pair: Pair) -> str:
    return " ".join(f"{one.verdict.value}{one.requests}" for one in _both(pair))


def _words(pair: Pair) -> tuple[str, str]:
    """Both calls in words; a second one that came to the same says so."""
    first, second = map(_told, _both(pair))
    return first, "the same" if second == first else second


def _told(outcome: Outcome) -> str:
    """Mark, requests, and what came out in one line that a Markdown table takes."""
    mark = f"{outcome.verdict.value}{outcome.requests}"
    if outcome.verdict is Verdict.RIGHT:
        return mark
    words = re.sub(
        r"127\.0\.0\.1:\d+|0x[0-9a-f]+|chatcmpl-\w+", "…", " ".join(outcome.told.split())
    )
    if len(words) > _TOLD:
        words = words[: _TOLD - 1] + "…"
    return f"{mark} `{words.replace('`', chr(39)).replace('|', '/')}`"


def _row(fields: Iterable[str]) -> str:
    return "| " + " | ".join(fields) + " |"
