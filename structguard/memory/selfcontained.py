"""Whether a message can be understood without what was said before: a cautious guess, in English."""

from __future__ import annotations

import re

_POINTS_BACK = re.compile(
    r"""(?ix) \b(?: it|its|that|this|these|those|they|them|their|theirs|he|him|his|she|hers?
    | there|then|ones?|same|such|former|latter|above|earlier|before|previous(?:ly)?|again|also|too
    | instead|else|others?|another|both|either|neither|more|less|so|yes|no|ok|okay|continue|why
    | first|second|third|last|next )\b""",
)
_OPENS_LIKE_A_REPLY = re.compile(r"(?i)\s*(?:and|but|or|so|then|also|(?:what|how)\s+about)\b")
_ENGLISH = re.compile(
    r"""(?ix) \b(?: the|an?|is|are|was|were|do|does|did|what|which|who|when|where|how|can|could
    | should|would|will|of|in|on|for|with|to|from )\b""",
)
_LEAST_WORDS = 5


def is_self_contained(message: str) -> bool:
    """
    True only where nothing in an English message points back. Short messages, other languages and
    anything in doubt are False: a needless rewrite costs a call, a missing one an answer.
    """
    if len(message.split()) < _LEAST_WORDS or _OPENS_LIKE_A_REPLY.match(message):
        return False
    return bool(_ENGLISH.search(message)) and not _POINTS_BACK.search(message)
