"""
Responses: OpenAI's newer wire, and the Open Responses standard.

Source: OpenAI API reference, Responses; spec wire.
"""

from __future__ import annotations

from typing import Final

from structguard.types import Api, Failure
from structguard.wire.base import Verdict
from structguard.wire.faults import classify as _classify, read_failure
from structguard.wire.openai_codes import OPENAI
from structguard.wire.responses.decode import decode_request as decode_request
from structguard.wire.responses.reply import (
    completion_in as completion_in,
    decode_reply as decode_reply,
    encode_reply as encode_reply,
)
from structguard.wire.responses.request import (
    encode_format as encode_format,
    encode_request as encode_request,
)
from structguard.wire.responses.stream import open_stream as open_stream

API: Final[Api] = "responses"
failure = read_failure


def path(model: str, *, stream: bool = False) -> str:
    """The same for every model, streamed or not."""
    del model, stream
    return "/responses"


def classify(failure: Failure) -> Verdict:
    """Kind, message and details by the OpenAI family's codes."""
    return _classify(failure, OPENAI)
