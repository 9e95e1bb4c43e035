"""Ways to break the refusal detector (spec guard §1); each turns its tests red."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

JUDGE, RULES = "structguard/refusal/judge.py", "structguard/refusal/rules.py"
PLACES, FOREIGN = "structguard/refusal/places.py", "structguard/refusal/foreign.py"
STATEMENTS, ROUTING = "structguard/refusal/statements.py", "structguard/refusal/routing.py"
EXCLUSIONS, LISTS = "structguard/refusal/exclusions.py", "structguard/refusal/lists.py"
BODIES = "structguard/refusal/bodies.py"


def cases(group: str) -> tuple[str, ...]:
    """The tests of one group of own cases."""
    return ("tests/refusal/test_cases.py", "-k", group)


def excluded(name: str) -> tuple[str, ...]:
    """The tests of the exclusions."""
    return ("tests/refusal/test_cases.py", "-k", name)


def exclusion(name: str, test: str) -> Mutation:
    """Take one exclusion out, by renaming its pattern's row to a table nobody reads."""
    return Mutation(
        f"refusal: exclusion {name} removed",
        JUDGE,
        "for name, pattern in NEVER if pattern.search(text)",
        f'for name, pattern in NEVER if name != "{name}" and pattern.search(text)',
        excluded(test),
    )


MUTATIONS = [
    Mutation(
        "refusal: detector forced to None",
        JUDGE,
        "    refusal = _judge(code, whole, sent, wire, flags)\n",
        "    refusal = None\n",
        ("tests/refusal/test_corpus.py",),
    ),
    Mutation(
        "refusal: a request without a format is judged too",
        JUDGE,
        "    if sent is None:\n        return None\n",
        '    sent = sent or "json_schema"\n',
        ("tests/refusal/test_judge.py", "-k", "without_a_format"),
    ),
    Mutation(
        "refusal: media endpoints are judged too",
        JUDGE,
        '"images": None,',
        '"images": "chat",',
        ("tests/refusal/test_judge.py", "-k", "media"),
    ),
    Mutation(
        "refusal: any status is admitted",
        JUDGE,
        "return status in {200, 400, 404, 405, 422} or",
        "return True or",
        cases("statuses"),
    ),
    Mutation(
        "refusal: a status that never refuses can be admitted",
        JUDGE,
        "and status not in NEVER_REFUSALS",
        "",
        ("tests/refusal/test_judge.py", "-k", "cannot_be_admitted"),
    ),
    Mutation(
        "refusal: also_statuses is ignored",
        JUDGE,
        "(status in also and",
        "(status in () and",
        ("tests/refusal/test_judge.py", "-k", "admitted_500"),
    ),
    Mutation(
        "refusal: the code inside a 200 is not read",
        BODIES,
        "            return int(text)\n",
        "            return 400\n",
        cases("statuses"),
    ),
    Mutation(
        "refusal: a sentence is enough on a 404",
        JUDGE,
        "    if code == 404:\n        return None\n",
        "",
        cases("routes"),
    ),
    Mutation(
        "refusal: any rule is enough on a 405",
        JUDGE,
        "if explicit and not finding.rule.explicit:",
        "if False:",
        cases("statuses"),
    ),
    Mutation(
        "refusal: a location elsewhere does not decide",
        JUDGE,
        "if place is Place.ELSEWHERE or (cue",
        "if (cue",
        cases("located"),
    ),
    Mutation(
        "refusal: a location at the format is not enough",
        RULES,
        'Rule("format_location", Scope.CAPABILITY, _format_place)',
        'Rule("format_location", Scope.CAPABILITY, lambda _: False)',
        cases("located"),
    ),
    Mutation(
        "refusal: a path inside the schema counts as the format",
        PLACES,
        "    return Place.SCHEMA if inside or",
        "    return Place.FORMAT if inside or",
        cases("schemas"),
    ),
    Mutation(
        "refusal: name and strict count as the format",
        PLACES,
        '_TAIL_NAMES = frozenset({"name", "strict", "description"})',
        "_TAIL_NAMES = frozenset[str]()",
        ("tests/refusal/test_reading.py", "-k", "placed"),
    ),
    Mutation(
        "refusal: effort beside the format counts as the format",
        PLACES,
        'frozenset({"effort", "verbosity", "taskbudget"})',
        "frozenset[str]()",
        cases("located"),
    ),
    Mutation(
        "refusal: a list with ours in it still refuses",
        JUDGE,
        "    if sent in listed:\n",
        "    if False:\n",
        cases("lists"),
    ),
    Mutation(
        "refusal: a list without ours is not read",
        JUDGE,
        "if evidence is not None and code != 405",
        "if False",
        cases("lists"),
    ),
    Mutation(
        "refusal: what was received is read as listed",
        LISTS,
        "yield part[: end.start()] if end else part",
        "yield part",
        cases("lists"),
    ),
    Mutation(
        "refusal: schema evidence gives way to capability words",
        JUDGE,
        "            if finding.rule.scope is Scope.SCHEMA:\n                return finding\n",
        "",
        ("tests/refusal/test_judge.py", "-k", "outweighs"),
    ),
    Mutation(
        "refusal: a schema is at fault though none was sent",
        RULES,
        'return self.sent == "json_schema"',
        "return True",
        ("tests/refusal/test_judge.py", "-k", "only_be_at_fault"),
    ),
    Mutation(
        "refusal: an echoed schema counts as evidence",
        RULES,
        'if ":" in blob.group()',
        "if False",
        cases("schemas"),
    ),
    Mutation(
        "refusal: a feature word alone refuses",
        RULES,
        "return match is not None and not _of_another(sentence.spaced, match)",
        "return True",
        cases("excluded"),
    ),
    Mutation(
        "refusal: a verb alone refuses",
        RULES,
        "        if sentence.feature is None:\n            return False\n        match",
        "        match",
        cases("excluded"),
    ),
    exclusion("json_word", "word_json"),
    exclusion("size", "context"),
    exclusion("auth_or_billing", "auth"),
    exclusion("model_or_api", "model_gone"),
    exclusion("moved", "moved"),
    exclusion("tools_path", "function_schema_in_words"),
    exclusion("failed_generation", "generated"),
    exclusion("media", "media_value"),
    Mutation(
        "refusal: a telling code is not heard",
        JUDGE,
        "        if any(never_code(code) for code in statement.codes):\n            continue\n",
        "",
        excluded("context_code"),
    ),
    Mutation(
        "refusal: a link names the format",
        "structguard/refusal/text.py",
        '    return _LINK.sub("", text)\n',
        "    return text\n",
        excluded("link_only"),
    ),
    Mutation(
        "refusal: an echoed request is read",
        STATEMENTS,
        "        text = _without_echo(text)\n",
        "",
        ("tests/refusal/test_reading.py", "-k", "blanked"),
    ),
    Mutation(
        "refusal: strings that hold JSON are not unwrapped",
        STATEMENTS,
        "        if value is not None:\n            self.value(value, near, level + 1, 0)\n"
        "            return\n",
        "",
        ("tests/refusal/test_reading.py", "-k", "an_answer_is_no_statement"),
    ),
    Mutation(
        "refusal: Python reprs are not read",
        "structguard/refusal/lenient.py",
        "    return (opening.start(), objects) if said else (0, [])",
        "    return (0, [])",
        ("tests/refusal/test_reading.py", "-k", "python_repr"),
    ),
    Mutation(
        "refusal: a funnel step that dropped nothing refuses",
        ROUTING,
        "or count < before",
        "or count <= before",
        cases("routes"),
    ),
    Mutation(
        "refusal: another failed step refuses",
        ROUTING,
        "        return _STEP.search(plain(failed)) is not None\n",
        "        return True\n",
        cases("routes"),
    ),
    Mutation(
        "refusal: endpoints missing for tools refuse",
        ROUTING,
        "    return _OTHER.search(text) is not None and",
        "    return False and",
        cases("routes"),
    ),
    Mutation(
        "refusal: a flag the call did not carry makes a combination",
        JUDGE,
        "if flags[flag] and pattern",
        "if pattern",
        cases("together"),
    ),
    Mutation(
        "refusal: a combination is taken for the capability",
        JUDGE,
        "Scope.COMBINATION if flag else scope",
        "scope",
        cases("together"),
    ),
    Mutation(
        "refusal: silent bodies are rescued by default",
        JUDGE,
        "if refusal is None and unnamed and code",
        "if refusal is None and code",
        ("tests/refusal/test_judge.py", "-k", "by_default"),
    ),
    Mutation(
        "refusal: silent bodies of other statuses are rescued",
        JUDGE,
        "and code in {400, 422} and",
        "and",
        ("tests/refusal/test_judge.py", "-k", "never_unnamed"),
    ),
    Mutation(
        "refusal: whoever names another field says nothing",
        BODIES,
        "        and place_of(statement.where, api) is not Place.ELSEWHERE\n",
        "",
        ("tests/refusal/test_judge.py", "-k", "says_something"),
    ),
    Mutation(
        "refusal: a telling body is called silent",
        BODIES,
        'and _GENERIC.issuperset(_WORD.findall(_ID.sub("", plain(statement.text))))',
        "",
        ("tests/refusal/test_judge.py", "-k", "says_something"),
    ),
    Mutation(
        "refusal: evidence keeps secrets",
        JUDGE,
        'told = redact(" ".join(evidence.split()))',
        'told = " ".join(evidence.split())',
        ("tests/refusal/test_judge.py", "-k", "secret"),
    ),
    Mutation(
        "is_refusal: the SDK's unwrapped body is judged",
        FOREIGN,
        "    if _is_status(status):\n        return status, _text(response)\n",
        "    if _is_status(status):\n        return status, _streamed(exc)[1]\n",
        ("tests/refusal/test_foreign.py", "-k", "raw_text"),
    ),
    Mutation(
        "is_refusal: the request is not read",
        FOREIGN,
        "    known = facts or _facts_of(exc)\n",
        "    known = facts or _UNKNOWN\n",
        ("tests/refusal/test_foreign.py", "-k", "without_a_format"),
    ),
    Mutation(
        "is_refusal: the code of a stream's error is not read",
        FOREIGN,
        "return (code if _is_status(code) else 400), json",
        "return 400, json",
        ("tests/refusal/test_foreign.py", "-k", "overload"),
    ),
    Mutation(
        "is_refusal: our own verdict is not heard",
        FOREIGN,
        "            return exc.refusal\n",
        "            return None\n",
        ("tests/refusal/test_foreign.py", "-k", "rides_on"),
    ),
    Mutation(
        "refusal: a clause about another parameter refuses a format named beside it",
        RULES,
        " and not _of_another(sentence.spaced, match)",
        "",
        ("tests/refusal/test_written.py", "-k", "gateway-log"),
    ),
    Mutation(
        "refusal: the name of a tool names a format",
        RULES,
        "return spaced(_NAMED.sub(r\"\\1\\2 '…'\", self.plain))",
        "return spaced(self.plain)",
        ("tests/refusal/test_written.py", "-k", "schema-writer"),
    ),
    Mutation(
        "refusal: what was sent is a complaint at the format's place",
        PLACES,
        "        if _VALUE.match(rest):\n",
        "        if False:\n",
        ("tests/refusal/test_written.py", "-k", "gateway-log"),
    ),
    Mutation(
        "refusal: complaints filed by field need an envelope",
        STATEMENTS,
        "            if _filed(mapping):\n",
        "            if False:\n",
        ("tests/refusal/test_written.py", "-k", "django or marshmallow"),
    ),
    Mutation(
        "refusal: a turn of the conversation speaks to the caller",
        STATEMENTS,
        'return "message" in keys and not keys & {"role", "content"}',
        'return "message" in keys',
        ("tests/refusal/test_written.py", "-k", "temperature-must-most"),
    ),
    Mutation(
        "refusal: a path that is only mentioned is pointed at",
        PLACES,
        'not before[own:].strip(" \'\\"`") or COMPLAINT.search(said) or _FAULT.search(said)',
        "True",
        ("tests/refusal/test_written.py", "-k", "mention"),
    ),
]
