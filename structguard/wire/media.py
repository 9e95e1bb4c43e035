"""Images and files by data URL: how the vendors that want type and bytes apart get them."""

from __future__ import annotations

import base64
from typing import NamedTuple
from urllib.parse import urlsplit

from structguard.types import File, Image, Part, Text
from structguard.wire.base import Unencodable

_TYPES = {
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "gif": "image/gif",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


class Inline(NamedTuple):
    """A data URL taken apart; `data` is still base64."""

    media_type: str
    data: str

    @classmethod
    def of(cls, media_type: str, data: bytes) -> Inline:
        """From the bytes themselves."""
        return cls(media_type, base64.b64encode(data).decode())

    @property
    def url(self) -> str:
        """The data URL again."""
        return f"data:{self.media_type};base64,{self.data}"


def inline(url: str, *, what: str) -> Inline | None:
    """
    The parts of a base64 data URL; None for any other URL.

    Raises:
        Unencodable: a data URL that is not base64.
    """
    if not url.startswith("data:"):
        return None
    head, comma, data = url[5:].partition(",")
    media_type, _, encoding = head.rpartition(";")
    if not comma or encoding != "base64" or not media_type:
        raise Unencodable(
            f"{what} must be an https: URL or a data URL of the form data:TYPE;base64,DATA",
            param="messages",
        )
    return Inline(media_type, data)


def media_type(name: str) -> str | None:
    """The media type a file name or URL ends in, for the kinds vendors take."""
    path = urlsplit(name).path
    return _TYPES.get(path.rpartition(".")[2].lower()) if "." in path else None


def extension(kind: str) -> str:
    """The short name of a media type: `image/jpeg` → `jpeg`; unknown ones give their last part."""
    found = next((short for short, full in _TYPES.items() if full == kind), None)
    return found or kind.rpartition("/")[2].partition("+")[0]


def text_only(parts: str | tuple[Part, ...], *, where: str) -> str:
    """
    The text of content that may hold nothing else.

    Raises:
        Unencodable: an image or a file among the parts.
    """
    if isinstance(parts, str):
        return parts
    for part in parts:
        if not isinstance(part, Text):
            raise Unencodable(f"{where} takes text only, got {describe(part)}", param="messages")
    return "".join(part.text for part in parts if isinstance(part, Text))


def image_url(part: Image, api: str) -> str:
    """
    Where an image is, for a wire that knows no detail.

    Raises:
        Unencodable: a detail is asked for.
    """
    if part.detail not in {None, "auto"}:
        raise Unencodable(
            f"the {api} API does not support image detail, got {part.detail!r}", param="messages"
        )
    return part.url


def describe(part: Image | File) -> str:
    """What a part is, for a message."""
    match part:
        case Image():
            return "an image"
        case File():
            return "a file"
