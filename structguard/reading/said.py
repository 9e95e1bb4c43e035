"""
What the words around a value say of it: an example of the form, or a draft that is taken back.

Only words right before a value count, so that a text is never judged by its mood. They decide
between values that fit; alone, an example is refused only beside words that decline or ask.
Source: spec parse, step 7 (nothing is taken rather than a guess).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from structguard.reading.values import Candidate

_LEAD: Final = 240  # characters before a value in which words are about it
_AROUND: Final = 1500  # characters before the first and behind the last value that may decline
_FENCE = re.compile(r"(?:`{2,}|~{3,})[ \t]*[\w+#.-]{0,15}\s*\Z|<[\w|/=\"' -]{1,40}>\s*\Z")
_SENTENCE = re.compile(r"(?<!e\.g)[.!?](?:\s+|[\"')*]+\s+)(?=\S)|\n\s*\n|[\u3002\uff01\uff1f]")
_EXAMPLE = re.compile(
    r"\b(?:examples?|e\.\s?g\.|for instance|sample|template|placeholder|hypothetical(?:ly)?"
    r"|(?:something|would|should|will|might|could) (?:look )?(?:be )?(?:something )?like"
    r"|(?:must|should|needs to|has to) (?:be |look )?(?:in |like )?(?:this|the following)(?: format| form)?"
    r"|beispiel|z\.\s?b\.|exemples?|ejemplos?|exemplos?|esempio)(?!\w)"
    r"|\u4f8b\u5982|\u793a\u4f8b|\u4f8b\u5b50|\u4f8b\u3048\u3070|\u4f8b[:\uff1a]",
    re.IGNORECASE,
)
# What a value is called right before it: Input: {…}, my first draft was {…}, incorrect: {…}
_LABEL = re.compile(
    r"(?<!action )(?<!tool )\b(?:input|original|source|request|query|question|prompt|draft|old|previous"
    r"|initial(?: \w+)?|incorrect|wrong|bad|invalid|eingabe|entr\u00e9e|entrada"
    r"|(?:output|response|expected|required|answer) (?:format|schema|structure))"
    r"(?: (?:json|text|version|record|answer|output|one))?(?: (?:was|is))?[\s*_`\"']*[:=]?[\s*_`\"']*\Z"
    r"|(?:\A|\n)[\s*_#>-]*(?:given|before|user)[\s*_]*:[\s*_]*\Z"
    r"|(?:\u8f93\u5165|\u5165\u529b|\u539f\u6587)[:\uff1a]\s*\Z",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"<(?:examples?|input|sample|template|question|query|source|original)>\s*\Z", re.IGNORECASE
)
# A lead without one of these words matches neither pattern: far cheaper than the patterns.
_HINTS: Final = frozenset(
    {"example", "examples", "e", "instance", "sample", "template", "placeholder", "hypothetical",
     "hypothetically", "like", "format", "form", "shape", "structure", "beispiel", "z", "exemple",
     "exemples", "ejemplo", "ejemplos", "exemplo", "exemplos", "esempio", "input", "original",
     "source", "given", "before", "request", "query", "question", "prompt", "user", "draft", "old",
     "previous", "initial", "incorrect", "wrong", "bad", "invalid", "eingabe", "entrada"}
)  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_CORRECTS = re.compile(
    r"\b(?:correct(?:ion|ed|ing)|(?:let me|i(?:'ll| will)?|to) (?:correct|fix|revise|redo|try)"
    r"|let me (?:re-?check|re-?consider|re-?examine|double[- ]check|try again)"
    r"|(?:this|that)(?: is| was| isn[\u2019']t| is not|[\u2019']s) (?:wrong|incorrect|right|correct|valid)|wait|hold on|sorry"
    r"|on second thoughts?|scratch that|my mistake|i (?:made|misread|misspoke|missed|forgot)"
    r"|revised|final(?: (?:answer|version|json|output|result|response))?(?: is)?(?=\W{0,4}\Z)|actually"
    r"|(?:edit|updated?)(?=:)|oops|apolog(?:y|ies|i[sz]e)|instead|fixed(?= |:)|updated (?:json|answer|version|output|response)"
    r"|korrektur|korrigiert|corregid[oa]|correcci\u00f3n|corrig\u00e9e?|correction)\b"
    r"|\u66f4\u6b63|\u4fee\u6b63|\u7ea0\u6b63|\u8a02\u6b63",
    re.IGNORECASE,
)
# Words of an offer: what follows stands beside the first value, not in its place.
_OFFERS = re.compile(
    r"\b(?:if you|prefer|would rather|alternativ\w*|optional(?:ly)?|another|could also|can also|variant)\b",
    re.IGNORECASE,
)
_MANY = re.compile(
    r"\b(?:examples|samples|templates|drafts|inputs|beispiele|exemples|ejemplos|exemplos)\b",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:i(?:[\u2019']m| am) (?:sorry|unable|not able)|unfortunately"
    r"|(?:i|we) (?:can(?:no|[\u2019'])?t|cannot|could(?: not|n[\u2019']t)|(?:do not|don[\u2019']t) (?:see|have)"
    r"|need (?:more|the|you)|would need)"
    r"|(?:please|could you|can you|kindly)(?: please)? (?:provide|share|paste|upload|send|supply|attach|specify)"
    r"|(?:no|without(?: the| any)?) (?:text|document|article|image|file|input|context) (?:was|is|were|has)"
    r"|there(?:[\u2019']s| is| are| was| were) no|once you (?:provide|share|send|paste|do)|leider|(?:tut|tun) mir (?:sehr )?leid|ich kann"
    r"|lo siento|no puedo|d\u00e9sol\u00e9e?|je ne peux)\b"
    r"|\u62b1\u6b49|\u8bf7\u63d0\u4f9b|\u7533\u3057\u8a33",
    re.IGNORECASE,
)


def lead_of(text: str, start: int, since: int) -> str:
    """The sentence, or the line without an end, that leads to a value; fences are passed over."""
    return _SENTENCE.split(_unfenced(text[max(since, start - _LEAD) : start]))[-1]


def mark_examples(candidates: Sequence[Candidate], text: str) -> None:
    """Mark the values that the words before them call an example; behind "examples", what follows too."""
    if not candidates:
        return
    end, before = 0, False
    for candidate in sorted(candidates, key=lambda c: c.span):
        start = candidate.span[0]
        words = _WORD.findall(text[max(end, start - _LEAD) : start].lower())
        if words and words != ["json"]:  # a fence alone says nothing
            lead = lead_of(text, start, end) if _may_be_called(words) else ""
            candidate.example = _EXAMPLE.search(lead) is not None
            candidate.labelled = (
                _LABEL.search(lead) is not None
                or _TAG.search(text, max(end, start - _LEAD), start) is not None
            )
            before = candidate.example and _MANY.search(lead) is not None
        else:
            candidate.example = before
        end = max(end, candidate.span[1])


def _may_be_called(words: list[str]) -> bool:
    return not _HINTS.isdisjoint(words) or not all(map(str.isascii, words))


def calls_aside(lead: str) -> bool:
    """Whether the words that lead to a value call it an example, a draft or an input."""
    return (_EXAMPLE.search(lead) or _LABEL.search(lead)) is not None


def mark_retracted(fitting: Sequence[Candidate], text: str) -> None:
    """Mark the values behind which words correct them and another one follows."""
    ordered = sorted(fitting, key=lambda c: c.span)
    for index, (one, other) in enumerate(pairwise(ordered), 1):
        if not other.aside and corrects(text, one.span[1], other.span[0]):
            for earlier in ordered[:index]:
                earlier.retracted = True


def corrects(text: str, end: int, start: int) -> bool:
    """Whether the words between two values take the first one back."""
    if start <= end:
        return False
    between = text[max(end, start - 2 * _LEAD) : start]
    if _WORD.search(between) is None:
        return False
    between = _unfenced(between)
    return _CORRECTS.search(between) is not None and _OFFERS.search(between) is None


def _unfenced(lead: str) -> str:
    """The words before a value without the marks, of a fence or a tag, that open it."""
    lead = lead.rstrip()
    while (mark := _FENCE.search(lead)) is not None:
        lead = lead[: mark.start()].rstrip()
    return lead


def declines(text: str, candidates: Sequence[Candidate]) -> bool:
    """Whether the text around the values says that there is no answer, or asks for the input."""
    first = min(candidate.span[0] for candidate in candidates)
    last = max(candidate.span[1] for candidate in candidates)
    around = text[max(0, first - _AROUND) : first] + "\n" + text[last : last + _AROUND]
    return _DECLINES.search(around) is not None
