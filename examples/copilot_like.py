"""
An endpoint like GitHub Copilot's: own headers, a bearer token that expires, models that are served
on one API or the other.

The long-lived token buys short-lived ones; `credentials` is asked again before one runs out, and
once when the endpoint turns one down. `discover` reads each model's `supported_endpoints`.

    COPILOT_OAUTH_TOKEN=… python examples/copilot_like.py gpt-5.5 "Say hello."
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping

import anyio
import httpx2

from structguard.providers import Credential, OpenAICompat
from structguard.types import Request

BASE_URL = "https://api.githubcopilot.com"
TOKEN_URL = "https://api.github.com/copilot_internal/v2/token"  # noqa: S105  an address
HEADERS: Mapping[str, str] = {
    "editor-version": "structguard-example/1.0",
    "copilot-integration-id": "vscode-chat",
}


class BearerRefresh:
    """A credentials callable: trades the long-lived token for a short-lived one."""

    def __init__(self, oauth_token: str, *, token_url: str = TOKEN_URL) -> None:
        self._oauth_token = oauth_token
        self._token_url = token_url

    async def __call__(self) -> Credential:
        """A fresh token, and for how many seconds it is good."""
        async with httpx2.AsyncClient() as client:
            reply = await client.get(
                self._token_url, headers={"authorization": f"token {self._oauth_token}"}
            )
        reply.raise_for_status()
        given = reply.json()
        return Credential(
            token=given["token"], expires_in=max(0.0, given["expires_at"] - time.time())
        )


def provider(
    oauth_token: str, *, base_url: str = BASE_URL, token_url: str = TOKEN_URL
) -> OpenAICompat:
    """The profile: one entry, one credential, whichever API a model is served on."""
    return OpenAICompat(
        base_url,
        id="copilot",
        credentials=BearerRefresh(oauth_token, token_url=token_url),
        headers=HEADERS,
        discover=True,
    )


async def main(model: str, prompt: str) -> None:
    """Ask one model one thing."""
    token = os.environ.get("COPILOT_OAUTH_TOKEN")
    if not token:
        sys.exit("set COPILOT_OAUTH_TOKEN to the long-lived token of your account")
    async with provider(token) as copilot:
        reply = await copilot.complete(
            Request(model=model, messages=[{"role": "user", "content": prompt}])
        )
        print(f"[{copilot.api_for(model)}, {reply.requests} requests] {reply.text}")


if __name__ == "__main__":
    anyio.run(main, *(sys.argv[1:3] if len(sys.argv) > 2 else ("gpt-5.5", "Say hello.")))
