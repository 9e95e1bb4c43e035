"""
litellm as a library, in its own environment: a provider whose format it refuses before it sends.

`python -m benchmarks.e2e.litellm_sdk URL` prints one JSON line: what came without a guard, and what
came of two guarded calls.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from importlib import import_module
from typing import Any

import structguard
from benchmarks.e2e.places import QUESTION, Answer


def main(url: str) -> None:
    """Ask three times."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    library: Any = import_module("litellm")
    library.suppress_debug_info = True
    safe: Any = structguard.guarded("volcengine", memo="memory:")(library.completion)
    print(json.dumps([_ask(one, url) for one in (library.completion, safe, safe)]))


def _ask(completion: Any, url: str) -> str:
    try:
        reply = completion(
            model="volcengine/tiny",
            messages=[{"role": "user", "content": QUESTION}],
            response_format=Answer,
            api_base=url,
            api_key="none",
            max_tokens=80,
        )
    except Exception as error:  # noqa: BLE001  what it raises is what is shown
        return f"{type(error).__name__}: {error}"
    return repr(structguard.parse(reply.choices[0].message.content, Answer).value)


if __name__ == "__main__":
    main(sys.argv[1])
