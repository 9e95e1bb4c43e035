"""
Was the *format* refused? Pure judgement over status, body and what was sent; a table of named rules.

`detect_refusal` judges raw answers, `is_refusal` and `refusal_of` exceptions of any SDK,
`request_facts` reads what a request body carried. Source: spec guard §1, docs/refusals.md.
"""

from structguard.refusal.facts import (
    RequestFacts as RequestFacts,
    names_format as names_format,
    request_facts as request_facts,
)
from structguard.refusal.foreign import (
    body_of as body_of,
    is_refusal as is_refusal,
    refusal_of as refusal_of,
    status_of as status_of,
)
from structguard.refusal.judge import detect_refusal as detect_refusal
