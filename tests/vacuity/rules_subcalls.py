"""Sub-calls and the memory four: each rule of their spec, broken."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

CALL = "structguard/subcalls/call.py"
SESSIONS = "structguard/subcalls/sessions.py"
REWRITER = "structguard/memory/rewriter.py"
LINKS = "structguard/memory/links.py"
VOTES = "structguard/memory/votes.py"
LESSONS = "structguard/memory/lessons.py"


def _one(test: str, file: str = "subcalls/test_subcalls.py") -> tuple[str, ...]:
    return (f"tests/{file}::{test}",)


MUTATIONS: list[Mutation] = [
    Mutation(
        "subcall: an observer costs an outcome",
        CALL,
        "careful(options.observer)",
        "options.observer",
        _one("test_an_observer_that_raises_costs_no_outcome"),
    ),
    Mutation(
        "subcall: endpoint faults are raised",
        CALL,
        "            if kind_of(error) is None:\n                raise",
        "            if error:\n                raise",
        _one("test_no_fault_of_model_or_endpoint_is_raised"),
    ),
    Mutation(
        "subcall: programming errors are swallowed",
        CALL,
        "            if kind_of(error) is None:\n                raise",
        "            if not error:\n                raise",
        _one("test_programming_errors_are_raised"),
    ),
    Mutation(
        "subcall: no partition",
        CALL,
        "                partition=partition,\n            )",
        '                partition="",\n            )',
        _one("test_the_request_carries_format_timeout_model_and_partition"),
    ),
    Mutation(
        "subcall: a decline is a value",
        CALL,
        'if completion.finish == "declined":',
        'if completion.finish == "never":',
        _one("test_no_fault_of_model_or_endpoint_is_raised"),
    ),
    Mutation(
        "subcall: no abort",
        SESSIONS,
        "            older.scope.cancel()\n",
        "",
        _one("test_a_newer_call_of_the_session_aborts_the_one_in_flight"),
    ),
    Mutation(
        "subcall: an abort looks like a time-out",
        SESSIONS,
        "            older.aborted = True\n",
        "",
        _one("test_a_newer_call_of_the_session_aborts_the_one_in_flight"),
    ),
    Mutation(
        "subcall: every failure warns",
        SESSIONS,
        "        if count + 1 == STREAK:",
        "        if count + 1 >= STREAK:",
        _one("test_three_failures_or_time_outs_in_a_row_give_one_warning"),
    ),
    Mutation(
        "subcall: success does not reset the streak",
        SESSIONS,
        '        if status not in {"timeout", "failed"}:\n            return\n',
        '        if status not in {"timeout", "failed"}:\n'
        "            self._counts[session] = count\n            return\n",
        _one("test_an_outcome_without_fault_starts_the_count_anew"),
    ),
    Mutation(
        "subcall: an abort resets the streak",
        SESSIONS,
        '        if status == "aborted":\n            return\n',
        "",
        _one("test_sessions_are_counted_apart_and_an_abort_is_neutral"),
    ),
    Mutation(
        "subcall rewriter: asked again in the same turn",
        REWRITER,
        '        if outcome.status != "aborted":\n',
        '        if outcome.status == "none":\n',
        _one("test_the_same_turn_is_asked_about_once", "memory/test_rewriter.py"),
    ),
    Mutation(
        "subcall rewriter: an aborted attempt counts",
        REWRITER,
        '        if outcome.status != "aborted":\n',
        "        if outcome:\n",
        _one("test_an_aborted_attempt_is_asked_about_again", "memory/test_rewriter.py"),
    ),
    Mutation(
        "subcall rewriter: who waits for an aborted turn aborts the newer one",
        REWRITER,
        "            if running.outcome is not None:",
        "            if running.outcome is not None and running.outcome.ok:",
        _one("test_who_waits_for_an_aborted_turn_is_aborted_with_it", "memory/test_rewriter.py"),
    ),
    Mutation(
        "subcall memory: a line's bullets run over line ends",
        "structguard/memory/parts.py",
        'BULLET = r"[ \\t>*`-]*',
        'BULLET = r"[\\s>*`-]*',
        ("tests/memory/test_hostile_answers.py", "-k", "blank"),
    ),
    Mutation(
        "subcall rewriter: one loop waits for another's call",
        REWRITER,
        "self._running: PerLoop[dict[str, _Running]] = PerLoop(dict)",
        "shared: dict[str, _Running] = {}\n"
        "        self._running: PerLoop[dict[str, _Running]] = PerLoop(lambda: shared)",
        _one("test_one_rewriter_serves_event_loops_in_several_threads", "memory/test_rewriter.py"),
    ),
    Mutation(
        "subcall links: one memory twice is two",
        LINKS,
        "if len(known) < 2:",
        "if len(memories) < 2:",
        _one("test_one_memory_twice_is_one", "memory/test_links.py"),
    ),
    Mutation(
        "subcall rewriter: several lines pass",
        REWRITER,
        "if len(text.splitlines()) > 1:",
        "if len(text.splitlines()) > 9:",
        _one(
            "test_what_cannot_be_used_is_none_and_the_caller_keeps_the_message",
            "memory/test_rewriter.py",
        ),
    ),
    Mutation(
        "subcall links: unknown ids pass",
        LINKS,
        '    if str(start) not in known or str(end) not in known:\n        return "unknown_id"\n',
        "",
        _one(
            "test_a_bad_link_is_dropped_with_its_reason_and_the_good_one_kept",
            "memory/test_links.py",
        ),
    ),
    Mutation(
        "subcall links: no cap",
        LINKS,
        "len(accepted) >= limits.links",
        "len(accepted) >= 99",
        _one("test_at_most_four_are_kept", "memory/test_links.py"),
    ),
    Mutation(
        "subcall votes: anything may be voted on",
        VOTES,
        '    if target not in allowed:\n        return "not_surfaced"\n',
        "",
        _one(
            "test_a_bad_vote_is_dropped_with_its_reason_and_the_good_one_kept",
            "memory/test_votes.py",
        ),
    ),
    Mutation(
        "subcall votes: the last of a kind and id wins",
        VOTES,
        "    if any(target == (other.kind, other.id) for other in accepted):\n"
        '        return "duplicate"\n',
        "",
        _one(
            "test_a_bad_vote_is_dropped_with_its_reason_and_the_good_one_kept",
            "memory/test_votes.py",
        ),
    ),
    Mutation(
        "subcall distiller: a bad procedure costs the lesson",
        LESSONS,
        "    return Read(lesson, [*bad, rejected(half, found)])",
        "    return Rejection(found)",
        _one(
            "test_a_bad_procedure_is_left_out_with_a_typed_reason_and_the_lesson_kept",
            "memory/test_distiller.py",
        ),
    ),
    Mutation(
        "subcall distiller: tags keep their case",
        LESSONS,
        'tag = (plain(item) or "").lower()',
        'tag = plain(item) or ""',
        _one(
            "test_tags_are_lower_case_once_each_and_within_the_limits", "memory/test_distiller.py"
        ),
    ),
    Mutation(
        "subcall: a cut-off answer without text says that there is nothing",
        CALL,
        'completion.finish == "stop" and not completion.text.strip()',
        "not completion.text.strip()",
        _one("test_an_answer_that_was_cut_before_its_first_word_is_failed", "memory/test_links.py"),
    ),
    Mutation(
        "links: an answer without text is a failure",
        LINKS,
        '        empty="none",',
        "        empty=None,",
        _one("test_nothing_is_none", "memory/test_links.py"),
    ),
]
