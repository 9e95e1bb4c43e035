"""
One table per kind, one tree of exceptions, one place that builds them.

    StructguardError
    ├── ProviderError            a call failed; `.kind` says how
    │   ├── RateLimited          rate_limited
    │   ├── ContextLengthExceeded  context_length
    │   ├── ContentFiltered      content_filtered
    │   ├── AuthenticationFailed authentication
    │   ├── Timeout              timeout
    │   └── Unavailable          unavailable
    ├── ParseError (ValueError)  an answer holds no usable value
    └── MissingExtra (ImportError)  an optional package is not installed

Programmers' mistakes are plain ValueError or TypeError. Wording is not API, attributes are.
Source: spec errors.
"""

from structguard.errors.building import (
    Classify as Classify,
    ErrorBuilder as ErrorBuilder,
    operation as operation,
    provider_error as provider_error,
)
from structguard.errors.kinds import (
    KINDS as KINDS,
    KindRule as KindRule,
    kind_of_status as kind_of_status,
    rule_for as rule_for,
)
from structguard.errors.redaction import (
    redact as redact,
    secrets_in as secrets_in,
    without as without,
)
from structguard.errors.tree import (
    Attempt as Attempt,
    AuthenticationFailed as AuthenticationFailed,
    ContentFiltered as ContentFiltered,
    ContextLengthExceeded as ContextLengthExceeded,
    Details as Details,
    MissingExtra as MissingExtra,
    ParseError as ParseError,
    ParseReason as ParseReason,
    ProviderError as ProviderError,
    RateLimited as RateLimited,
    StructguardError as StructguardError,
    Timeout as Timeout,
    Unavailable as Unavailable,
)
