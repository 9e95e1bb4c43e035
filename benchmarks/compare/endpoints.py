"""
The twelve behaviours that every client meets, each a row of the loopback endpoint's own table.

`has_object` says whether the endpoint gives a right object to somebody who asks and reads well, at the
first call. Where it does not, `truth` is what an error must say to be a truthful one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import BaseModel

from structguard.testing import Ask, RefusingEndpoint
from structguard.testing.behaviours import fenced, prose, schema_in
from structguard.testing.speech import Said

QUESTION = "Which city is the capital of Portugal?"


class City(BaseModel):
    """What is asked for."""

    name: str
    population: int


LISBON = City(name="Lisbon", population=545796)


def as_prompted(ask: Ask) -> Said:
    """A server that takes the format and does nothing with it: only a prompt moves its model."""
    return prose(ask) if schema_in(ask.body) is None else fenced(ask)


def cut_by_an_error(ask: Ask) -> Said:
    """Half the JSON, then the upstream broke."""
    error = {"code": 502, "message": "Upstream error: connection reset"}
    return Said(text=json.dumps(ask.value)[:20], finish="error", error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One endpoint: its row, what it answers, and what is to be had from it."""

    title: str
    row: str
    about: str
    answer: object = "fenced"
    has_object: bool = True
    truth: str = ""  # a pattern, looked for in the error and in its causes

    def open(self) -> RefusingEndpoint:
        """The endpoint, not running yet."""
        return RefusingEndpoint(self.row, answer=self.answer, value=LISBON.model_dump())  # type: ignore[arg-type]


BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType(
    {
        "400": Behaviour(
            title="400",
            row="refuse400",
            about="`'response_format' of type 'json_schema' is not supported with this model`",
        ),
        "404": Behaviour(
            title="404, a router's",
            row="refuse404",
            about="`No endpoints found that can handle the requested parameters`, with the funnel",
        ),
        "422": Behaviour(
            title="422",
            row="refuse422",
            about="plain text: ``response_format.type `json_schema` is unavailable now``",
        ),
        "405": Behaviour(
            title="405, a gateway's",
            row="refuse405",
            about="`json_schema response format is not supported for model`",
        ),
        "500": Behaviour(
            title="500, a local server's",
            row="refuse500",
            about="a Python repr: `Input should be 'text'`; needs `also_statuses={500}`",
        ),
        "prose": Behaviour(
            title="prose",
            row="accept",
            about="takes the format and does nothing with it: prose, until the prompt shows a schema",
            answer=as_prompted,
            has_object=False,
            truth=r"contains no JSON|Invalid JSON",
        ),
        "fenced": Behaviour(
            title="fenced", row="fenced", about="takes the format; JSON in a code fence, amid prose"
        ),
        "empty": Behaviour(
            title="empty",
            row="empty",
            about="takes the format; a 200 without any text",
            has_object=False,
            truth=r"it is empty|input_value=''|content=''|Please return text",
        ),
        "reasoning": Behaviour(
            title="in the thoughts",
            row="json_in_reasoning",
            about="takes the format; the JSON stands in `reasoning_content`, the content is null",
        ),
        "error200": Behaviour(
            title="200, an error",
            row="error200",
            about="a 200 whose body is `{'error': {'message': 'Provider returned error', 'code': 502}}`",
            has_object=False,
            truth=r"Provider returned error",
        ),
        "cut": Behaviour(
            title="cut by an error",
            row="accept",
            about="a 200 with half the JSON, `finish_reason: error` and the upstream's error beside it",
            answer=cut_by_an_error,
            has_object=False,
            truth=r"Upstream error",
        ),
        "enforced": Behaviour(title="enforced", row="enforce", about="does as it is asked"),
    }
)
"""By key, in the order of the tables."""
