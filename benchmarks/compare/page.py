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
with it. `make compare` measures it anew: the real libraries, a real HTTP endpoint on the loopback interface, and this page
written from the run. HTTP retries of the SDKs are off on both sides; what a framework asks again of its own accord is on.

![Clients and endpoints, without and with structguard](img/compare.svg)

"""

_LEGEND = """\
A cell reads *without → with*, each as the first call and the second; the number is the requests that reached the endpoint.

| mark | what came out |
|---|---|
| ✓ | the object |
| ● | no object was to be had there, and the error says what happened |
| ✗ | an error, though a right object was to be had; or one that does not say what happened |
| ≈ | something else as if it were the answer: prose, `None`, half of the JSON |

"""

_NOTES = """\
## What to know

- **Prose.** This endpoint takes the format and does nothing with it; only a schema in the prompt moves it.
  `ignored_after=1` puts it there from the second send on. The first has nothing to give, and the error says so, unless
  the framework asks again by itself: pydantic-ai shows its schema then, and instructor's second attempt is a second send.
- **None, prose or an empty turn as an answer.** A client that checks nothing hands on what it got, and openai-agents asks
  an empty endpoint ten times. `Policy(on_unusable="error")` makes a reply without JSON an error at once. Leave it off where
  the framework asks again by itself, as in the columns instructor and pydantic-ai.
- **500.** A server error may be a passing fault, so the refusal is believed from the second rescue on: the second call
  still costs two requests, the third costs one.
- **Router.** With its cooldowns on, the first refusal takes the deployment out for five seconds, and the second call
  without structguard is not even sent. They are off here, so that the endpoint is what is compared.
- **litellm** takes the guarded client with the call. For a provider whose format it refuses by itself, before anything
  is sent, guard the function: `guarded("its name")(litellm.completion)` ([proof](proof.md)).
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
