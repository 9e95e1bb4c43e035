"""
One small seam that sends bytes once, and three ways to do it.

`transport_for` turns what a caller names into a Transport; the libraries behind are imported only
when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from structguard.errors import MissingExtra
from structguard.http.seam import (
    ExchangeFailed as ExchangeFailed,
    Limits as Limits,
    Response as Response,
    Transport as Transport,
    Whole as Whole,
)
from structguard.http.urls import checked_proxy

if TYPE_CHECKING:
    from structguard.http.via_openai import OpenAITransport

TransportName: TypeAlias = Literal["httpx2", "aiohttp"]


def transport_for(
    transport: TransportName | Transport = "httpx2",
    *,
    limits: Limits | None = None,
    proxy: str | None = None,
) -> Transport:
    """
    A transport by name, or the caller's own as it is.

    Raises:
        MissingExtra: aiohttp is named and not installed.
        ValueError: an unknown name, a proxy that cannot be used, or limits or proxy beside an own
            transport.
        TypeError: something that cannot send.
    """
    if transport == "httpx2":
        from structguard.http.via_httpx2 import Httpx2Transport  # noqa: PLC0415  costs 60 ms

        return Httpx2Transport(limits=limits, proxy=checked_proxy(proxy, socks=True))
    if transport == "aiohttp":
        try:
            from structguard.http.via_aiohttp import AiohttpTransport  # noqa: PLC0415  an extra
        except ModuleNotFoundError as error:
            raise MissingExtra("the aiohttp transport", "fast") from error
        return AiohttpTransport(limits=limits, proxy=checked_proxy(proxy, socks=False))
    if isinstance(transport, str):
        raise ValueError(f"transport must be 'httpx2' or 'aiohttp', got {transport!r}")
    if not callable(getattr(transport, "send", None)):
        raise TypeError(f"a transport needs an async send(), got {type(transport).__name__}")
    if limits is not None or proxy is not None:
        raise ValueError(
            "limits and proxy have no effect on a transport of your own: set them there"
        )
    return transport


def transport_of_client(client: object) -> OpenAITransport:
    """
    A caller's own async openai client as a transport.

    Raises:
        TypeError: a sync client, or no openai client at all.
    """
    from openai import AsyncOpenAI  # noqa: PLC0415  whoever hands one over has paid for the import

    from structguard.http.via_openai import OpenAITransport  # noqa: PLC0415

    if not isinstance(client, AsyncOpenAI):
        raise TypeError(
            f"client must be an AsyncOpenAI or AsyncAzureOpenAI, got {type(client).__name__}"
        )
    return OpenAITransport(client)
