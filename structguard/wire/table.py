"""The five wires by the name of their API."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from structguard.types import Api
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import Wire

WIRES: Mapping[Api, Wire] = MappingProxyType(
    {
        "chat": chat,
        "responses": responses,
        "messages": messages,
        "converse": converse,
        "generate_content": generate_content,
    }
)
