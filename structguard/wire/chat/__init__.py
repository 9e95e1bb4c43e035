"""
Chat Completions: OpenAI's older wire, spoken by every compatible server.

Source: OpenAI API reference, Chat; spec wire.
"""

from __future__ import annotations

from typing import Final

from structguard.types import Api, Failure
from structguard.wire.base import Verdict
from structguard.wire.chat.decode import decode_request as decode_request
from structguard.wire.chat.reply import (
    completion_in as completion_in,
    decode_reply as decode_reply,
    encode_reply as encode_reply,
)
from structguard.wire.chat.request import (
    encode_format as encode_format,
    encode_request as encode_request,
)
from structguard.wire.chat.stream import open_stream as open_stream
from structguard.wire.faults import classify as _classify, read_failure
from structguard.wire.openai_codes import OPENAI

API: Final[Api] = "chat"
failure = read_failure


def path(model: str, *, stream: bool = False) -> str:
    """The same for every model, streamed or not."""
    del model, stream
    return "/chat/completions"


def classify(failure: Failure) -> Verdict:
    """Kind, message and details by the OpenAI family's codes."""
    return _classify(failure, OPENAI)
