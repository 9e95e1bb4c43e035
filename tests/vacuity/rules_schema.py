"""The schema room's main rules, each with the tests that must notice when it is broken."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_VALIDATE = "tests/schema/test_validate.py"
_SUITE = "tests/schema/test_suite.py"
_STRICT = "tests/schema/test_strict.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        name="schema-network-references-are-refused",
        file="structguard/schema/dialect.py",
        old="raise ValueError(_nowhere(schema, mapping, keyword, reference)) from error",
        new="continue",
        tests=(f"{_VALIDATE}::test_a_broken_schema_names_its_place",),
    ),
    Mutation(
        name="schema-endless-references-are-refused",
        file="structguard/schema/dialect.py",
        old="    for endless, why in _endless(visited):\n",
        new="    for endless, why in ():\n",
        tests=(f"{_VALIDATE}::test_a_broken_schema_names_its_place",),
    ),
    Mutation(
        name="schema-multiplying-references-are-refused",
        file="structguard/schema/dialect.py",
        old="                if done[here] > _MOST_IN_PLACE:",
        new="                if False:",
        tests=(f"{_VALIDATE}::test_references_that_multiply_are_refused_with_their_place",),
    ),
    Mutation(
        name="schema-patterns-that-run-away-are-left-to-bounded-time",
        file="structguard/schema/validate.py",
        old="if runs_away(schema) if fault is None else",
        new="if False if fault is None else",
        tests=(
            f"{_VALIDATE}::test_a_pattern_that_could_run_for_ever_is_left_to_the_engine_with_bounded_time",
        ),
    ),
    Mutation(
        name="schema-the-draft-is-the-one-named",
        file="structguard/schema/dialect.py",
        old='"json-schema.org/draft-07/schema": "7"',
        new='"json-schema.org/draft-07/schema": "2020-12"',
        tests=(f"{_VALIDATE}::test_the_draft_is_the_one_the_schema_names",),
    ),
    Mutation(
        name="schema-a-broken-schema-is-found-first",
        file="structguard/schema/validate.py",
        old="        raise ValueError(broken(fault))",
        new="        fault = None",
        tests=(f"{_VALIDATE}::test_a_broken_schema_names_its_place",),
    ),
    Mutation(
        name="schema-deep-values-do-not-crash-the-fast-engine",
        file="structguard/schema/validate.py",
        old="                    pack(value, 2)  # its",
        new="                    pass  # its",
        tests=(f"{_VALIDATE}::test_a_value_nested_very_deeply_is_a_verdict_not_a_crash",),
    ),
    Mutation(
        name="schema-deep-values-are-a-violation",
        file="structguard/schema/validate.py",
        old="        except Exception:  # noqa: BLE001  too deep",
        new="        except KeyError:  # too deep",
        tests=(f"{_VALIDATE}::test_a_value_nested_very_deeply_is_a_verdict_not_a_crash",),
    ),
    Mutation(
        name="schema-known-differences-stay-with-jsonschema",
        file="structguard/schema/engines.py",
        old='        "dependencies": lambda _value: True,',
        new='        "dependants": lambda _value: True,',
        tests=(f"{_VALIDATE}::test_what_the_engines_judge_differently_stays_with_jsonschema",),
    ),
    Mutation(
        name="schema-messages-hold-no-secret",
        file="structguard/schema/engines.py",
        old="    text = redact(text)\n",
        new="",
        tests=(f"{_VALIDATE}::test_a_message_holds_neither_a_huge_value_nor_a_secret",),
    ),
    Mutation(
        name="schema-a-changed-dict-is-a-new-schema",
        file="structguard/schema/identity.py",
        old="        packed = pack(schema, 2)\n",
        new='        packed = b"%d" % id(schema)\n',
        tests=(f"{_VALIDATE}::test_a_schema_changed_in_place_is_compiled_anew",),
    ),
    Mutation(
        name="schema-key-order-does-not-show-in-the-digest",
        file="structguard/schema/identity.py",
        old="return _text(schema, sort_keys=True)",
        new="return _text(schema, sort_keys=False)",
        tests=("tests/schema/test_identity.py::test_the_order_of_keys_does_not_show",),
    ),
    Mutation(
        name="schema-building-is-strict",
        file="structguard/schema/building.py",
        old="strict=True",
        new="strict=False",
        tests=(
            "tests/schema/test_build.py::test_nothing_is_converted_that_json_could_have_written",
        ),
    ),
    Mutation(
        name="schema-a-callers-schema-is-checked-on-entry",
        file="structguard/schema/source.py",
        old="    validator(given.schema)\n",
        new="",
        tests=(
            "tests/schema/test_source.py::test_a_wrong_dict_is_a_value_error_that_names_the_place",
        ),
    ),
    Mutation(
        name="schema-optional-keys-may-be-null-in-strict-mode",
        file="structguard/schema/strict.py",
        old="            properties[name] = _nullable(dict(as_mapping(inner) or {}))\n",
        new="",
        tests=(f"{_STRICT}::test_an_optional_key_becomes_one_that_may_be_null",),
    ),
    Mutation(
        name="schema-free-keys-cannot-fit-strict-mode",
        file="structguard/schema/strict.py",
        old="    if not properties and more is not False:",
        new="    if False:",
        tests=(f"{_STRICT}::test_what_cannot_fit_is_told_with_its_place",),
    ),
    Mutation(
        name="schema-formats-are-asserted-when-asked",
        file="structguard/schema/engines.py",
        old="validator_class.FORMAT_CHECKER if formats else None",
        new="None",
        tests=(f"{_VALIDATE}::test_formats_are_asserted_only_when_asked",),
    ),
    Mutation(
        name="schema-the-suite-decides",
        file="structguard/schema/validate.py",
        old="                return self._fast.is_valid(value)",
        new="                return True",
        tests=(f"{_SUITE}::test_the_suites_verdict_is_ours_and_both_engines[draft7-const]",),
    ),
]
