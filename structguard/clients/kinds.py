"""What somebody passed for a client: told by its class, without importing any SDK."""

from __future__ import annotations


def what_it_is(client: object) -> str:
    """What somebody passed for a client: its class, told apart from a class itself."""
    if isinstance(client, type):
        return f"the class {client.__qualname__} itself: create a client first"
    kind = type(client)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def is_openai(client: object) -> bool:
    """Whether a client is one of the SDK's, told by name so that nobody else imports the SDK."""
    return any(
        kind.__module__.partition(".")[0] == "openai" and kind.__name__ in ("OpenAI", "AsyncOpenAI")
        for kind in type(client).__mro__
    )
