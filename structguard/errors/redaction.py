"""What looks like a credential, and how it is masked."""

from __future__ import annotations

import re

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
