"""Stands in for a language model: it follows the text format that each prompt describes."""

from __future__ import annotations

import re

from structguard.testing import Ask, Said

TOPIC = "the trip to Lisbon"


def model(ask: Ask) -> Said:
    """The model's answer to one request."""
    system, user = _texts(ask)
    for mark, answer in ANSWERS.items():
        if mark in system:
            return Said(text=answer(user))
    return Said(text=f"Good question about {TOPIC}: {user.splitlines()[-1]}")


def _rewrite(user: str) -> str:
    message = user.splitlines()[-1]
    clear = re.sub(r"\bthere\b", "in Lisbon", message, flags=re.IGNORECASE)
    clear = re.sub(r"\b(?:it|that)\b", TOPIC, clear, count=1, flags=re.IGNORECASE)
    return f"<rewritten_query>{clear}</rewritten_query>"


def _link(user: str) -> str:
    ids = re.findall(r"^(\d+):", user, re.MULTILINE)
    return f"LINK {ids[0]} {ids[1]} kind=RELATES_TO\nLINK {ids[0]} 99" if len(ids) > 1 else "NONE"


def _vote(user: str) -> str:
    shown = re.findall(r"^(\w+:\d+)", user, re.MULTILINE)
    return "\n".join(["Let me see.", *(f"UPVOTE {target}" for target in shown), "UPVOTE fact:99"])


def _distill(_user: str) -> str:
    return (
        'LESSON activation="planning a trip"; principle="book early and travel light"; tags=Travel\n'
        'PROCEDURE activation="planning a trip"; steps="Compare trains@search; Book"; tags=travel'
    )


ANSWERS = {
    "<rewritten_query>": _rewrite,
    "LINK from_id to_id": _link,
    "UPVOTE kind:id": _vote,
    "LESSON activation": _distill,
}


def _texts(ask: Ask) -> tuple[str, str]:
    """The system text and the last user text of a Chat Completions body."""
    messages = ask.body["messages"]
    if not isinstance(messages, list):
        return "", ""
    texts = {message["role"]: message["content"] for message in messages}
    return texts.get("system", ""), texts.get("user", "")
