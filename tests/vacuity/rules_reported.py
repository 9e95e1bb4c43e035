"""What bodies from public reports taught the detector, each lesson unlearnt once."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_IN = "structguard/refusal"
_REPORTED = "tests/refusal/test_reported.py"
_SENTENCES = "tests/refusal/test_cases.py::test_a_sentence_of_an_error_object_is_judged_rightly"

MUTATIONS: list[Mutation] = [
    Mutation(
        "reported: a path outweighs a list of types",
        f"{_IN}/judge.py",
        "if not (finding.rule.wordless and others and sent not in listed):",
        "if finding.rule.wordless or not (others and sent not in listed):",
        (_REPORTED,),
    ),
    Mutation(
        "reported: an engine that stumbles over our grammar counts as missing",
        f"{_IN}/rules.py",
        "    return not ours and STARTUP.search(sentence.spaced) is not None",
        "    return STARTUP.search(sentence.spaced) is not None",
        (_REPORTED,),
    ),
    Mutation(
        "reported: a path on its own line is lost to the complaint below it",
        f"{_IN}/statements.py",
        r'text = _PLACED.sub(r"\1: ", _HANGING.sub(": ", text))',
        'text = _HANGING.sub(": ", text)',
        (_SENTENCES,),
    ),
]
