"""
The smallest program: a call that an endpoint refuses, and the same call rescued.

    python examples/first_rescue.py

The endpoint is real HTTP on 127.0.0.1 and answers 404 to every request with a response_format.
"""

from __future__ import annotations

from openai import NotFoundError, OpenAI
from pydantic import BaseModel

import structguard
from structguard.testing import RefusingEndpoint


class City(BaseModel):
    """The shape that is asked for."""

    name: str
    population: int


def main() -> None:
    """Ask three times: bare, guarded, and once more."""
    with (
        RefusingEndpoint("refuse404", value={"name": "Lisbon", "population": 545796}) as endpoint,
        OpenAI(base_url=endpoint.base_url, api_key="key") as client,
    ):
        try:
            ask(client)
        except NotFoundError as error:
            print("bare:   ", error.status_code, str(error)[:70], "…")
        structguard.wrap(client, memo="memory:")
        for word in ("guarded:", "again:  "):
            city, told = ask(client)
            print(word, repr(city), f"enforced={told.enforced} requests={told.requests}")


def ask(client: OpenAI) -> tuple[City | None, structguard.Info]:
    """One structured call, and how it was served."""
    with structguard.watch() as calls:
        answer = client.chat.completions.parse(
            model="vendor/model",
            messages=[{"role": "user", "content": "Which city should I see?"}],
            response_format=City,
        )
    return answer.choices[0].message.parsed, calls[0]


if __name__ == "__main__":
    main()
