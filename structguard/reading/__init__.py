"""
Text → JSON → schema → the caller's text format. Pure: no I/O.

Source: spec parse; docs/parsing.md explains the steps.
"""

from structguard.errors import Attempt as Attempt, ParseError as ParseError
from structguard.reading import readers as readers
from structguard.reading.parser import LIMIT as LIMIT, parse as parse
from structguard.reading.stream import PartialParser as PartialParser
from structguard.reading.strict import strict_json as strict_json
from structguard.reading.values import (
    ABSTAIN as ABSTAIN,
    NOTHING as NOTHING,
    Coercion as Coercion,
    Parsed as Parsed,
    Read as Read,
    Repair as Repair,
    Source as Source,
)
