"""What looks like a credential, and how it is masked."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"key|token|auth|secret|cookie", re.IGNORECASE)
_LEAST = 8  # characters; what is shorter is a word such as "none" and no secret
_SECRETS = re.compile(
    r"""(?ix)
    (?P<keep> \b(?:bearer|basic)\s+ ) [A-Za-z0-9._~+/=-]{8,}        # Authorization values
    | (?P<name> \b(?:api[-_ ]?key|x-api-key|authorization|access[-_ ]?token|secret|password|token)\b
        (?:\ provided)? ["']? \s* [:=] \s* ["']? (?:(?:bearer|basic)\s+)? ) (?!(?:bearer|basic)\b) [^\s"',;&}]{6,}  # key=value, "key": "value"
    | \b(?:sk|pk|rk|xai|gsk|hf|key|ghp|gho|github_pat)[-_][A-Za-z0-9][A-Za-z0-9_.-]{15,}
    | \b(?:AIza|ya29\.|AKIA|ASIA)[A-Za-z0-9_.-]{15,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?  # JSON web tokens
    | (?<=://)[^/\s:@]{0,256}:[^/\s@]{1,256}(?=@)                     # user:password@host, :password@host
    """
)


def redact(text: str) -> str:
    """The text with whatever looks like a credential replaced by ***."""
    return _SECRETS.sub(lambda m: (m.group("keep") or m.group("name") or "") + "***", text)


def secrets_in(sent: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The values sent under names of secrets, in headers or a query; a scheme before one is no part."""
    values = (value.rpartition(" ")[2] for name, value in sent if _NAME.search(name))
    return tuple(value for value in values if len(value) >= _LEAST)


def without(secrets: Iterable[str], text: str) -> str:
    """The text without these secrets, which some endpoints repeat in any words."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
