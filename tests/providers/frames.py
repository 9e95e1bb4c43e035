"""Messages of the binary event stream, as Bedrock frames them."""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import Mapping


def frame(payload: Mapping[str, object], **headers: str) -> bytes:
    """One message of the binary event stream."""
    named = {f":{name.replace('_', '-')}": value for name, value in headers.items()}
    packed = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + struct.pack("!BH", 7, len(value))
        + value.encode()
        for name, value in named.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(packed) + len(body), len(packed))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + packed + body
    return message + struct.pack("!I", binascii.crc32(message))


def event(name: str, payload: Mapping[str, object]) -> bytes:
    return frame(payload, message_type="event", event_type=name, content_type="application/json")
