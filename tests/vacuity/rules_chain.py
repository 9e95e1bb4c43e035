"""Chain and breaker: each rule of the chain's table, broken."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

PARTITION = "structguard/layers/partition.py"
BREAKER = "structguard/layers/breaker.py"
FALLBACK = "structguard/layers/fallback.py"
TESTS = "tests/layers/test_fallback.py"
STREAMS = "tests/layers/test_fallback_stream.py"


def _one(test: str, file: str = TESTS) -> tuple[str, ...]:
    return (f"{file}::{test}",)


ORDER = "tests/layers/test_fallback_order.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        "chain: a slow stream of a fallback moves the chain away again",
        "structguard/layers/partition.py",
        "if link == head or ticket.turn != self._turn or not",
        "if link == head or not",
        ("tests/layers/test_fallback_stream.py", "-k", "slow_stream"),
    ),
    Mutation(
        "chain: the attempts of a chain within are lost",
        "structguard/layers/fallback.py",
        'inner = getattr(error, "attempts", ()) if link in chains else ()',
        "inner = ()",
        ("tests/layers/test_fallback.py", "-k", "chain_within_a_chain"),
    ),
    Mutation(
        "outage: a foreign answer is judged by its status alone",
        "structguard/layers/outage.py",
        "    if found is None:\n        return kind_of_status(status)\n",
        "    if found:\n        return kind_of_status(status)\n    assert found\n",
        ("tests/layers/test_fallback_outage.py", "-k", "as_our_own"),
    ),
    Mutation(
        "chain: an observer can fail a call",
        FALLBACK,
        "observer = careful(observer)",
        "observer = observer",
        _one("test_an_observer_that_raises_fails_no_call"),
    ),
    Mutation(
        "chain: breaker and degrade swapped",
        FALLBACK,
        """        if guard is not None and not getattr(provider, "protected", False):
            provider = guard.protect(provider, model=model)
        return _Entry(
            name=name,
            provider=provider,
            model=model,
            complete=stack((self._breaker.layer(index),), provider.complete),
""",
        """        provider.complete = stack((self._breaker.layer(index),), provider.complete)
        if guard is not None and not getattr(provider, "protected", False):
            provider = guard.protect(provider, model=model)
        return _Entry(
            name=name,
            provider=provider,
            model=model,
            complete=provider.complete,
""",
        _one("test_a_handled_refusal_is_a_success_to_the_breaker_though_every_kind_counts", ORDER),
    ),
    Mutation(
        "chain: the override is not sticky",
        PARTITION,
        "        self.override = link\n        self._turn += 1\n",
        "        self._turn += 1\n",
        _one("test_a_fallback_that_served_stays_until_cooldown_and_probe_interval_are_over"),
    ),
    Mutation(
        "chain: no probe interval",
        PARTITION,
        "now - self._asked_at >= self.options.probe_interval",
        "now >= self._asked_at",
        _one("test_a_fallback_that_served_stays_until_cooldown_and_probe_interval_are_over"),
    ),
    Mutation(
        "chain: the ladder does not climb",
        PARTITION,
        "ladder[min(state.step, len(ladder) - 1)]",
        "ladder[0]",
        _one("test_going_away_and_coming_back_is_told_once_each"),
    ),
    Mutation(
        "chain: cooling links are asked",
        PARTITION,
        '        if mode == "cooling":\n            return False\n',
        "",
        _one("test_a_cooling_link_is_skipped"),
    ),
    Mutation(
        "chain: the last to cool is asked",
        PARTITION,
        "self._links[link].armed_at, link)",
        "-self._links[link].armed_at, link)",
        _one("test_when_all_are_cooling_only_the_one_cooling_longest_is_asked"),
    ),
    Mutation(
        "chain: immediate kinds wait for the threshold",
        PARTITION,
        'counts == "immediate" or state.step or',
        "state.step or",
        _one("test_a_kind_that_advances_asks_the_next_link"),
    ),
    Mutation(
        "chain: success clears no count",
        PARTITION,
        "            state.failures = 0\n            self._reasons.pop",
        "            self._reasons.pop",
        _one("test_success_clears_count_cooldown_and_ladder"),
    ),
    Mutation(
        "chain: the window is for ever",
        PARTITION,
        "            state.failures = state.step = 0\n",
        "            pass\n",
        _one("test_failures_older_than_the_window_are_forgotten"),
    ),
    Mutation(
        "chain: every caller probes",
        PARTITION,
        "        state.probing = True\n",
        "",
        _one("test_two_hundred_callers_make_exactly_one_probe"),
    ),
    Mutation(
        "chain: a cancelled probe keeps the slot",
        PARTITION,
        "        if ticket.probe:\n            state.probing = False\n",
        "        if ticket.probe and asked_at is not None:\n            state.probing = False\n",
        _one("test_a_cancelled_probe_frees_the_slot_and_does_not_put_the_next_one_off"),
    ),
    Mutation(
        "chain: a burst climbs the ladder",
        PARTITION,
        "        state = self._settle(ticket, asked_at=now)\n"
        "        if state.epoch != ticket.epoch:\n            return ()\n",
        "        state = self._settle(ticket, asked_at=now)\n",
        _one("test_a_burst_of_failures_climbs_one_step_of_the_ladder"),
    ),
    Mutation(
        "chain: an unhandled refusal moves the chain",
        PARTITION,
        "or ticket.turn != self._turn or not self._links[head].failures:",
        "or ticket.turn != self._turn:",
        _one("test_an_unhandled_refusal_advances_and_leaves_the_primary_the_primary"),
    ),
    Mutation(
        "chain: partitions grow without end",
        BREAKER,
        "            self._partitions.popitem(last=False)\n",
        "            pass\n",
        _one("test_ten_thousand_partitions_stay_within_the_bound_and_the_oldest_go_first"),
    ),
    Mutation(
        "chain: one partition for all",
        BREAKER,
        "        found = self._partitions.get(key)\n",
        '        key = ""\n        found = self._partitions.get(key)\n',
        _one("test_partitions_know_nothing_of_one_another"),
    ),
    Mutation(
        "chain: cancellation counts",
        BREAKER,
        "            self._partition.release(self._ticket)\n            return\n",
        '            self._partition.fail(self._ticket, 0.0, "immediate", "gone")\n            return\n',
        _one("test_a_callers_cancellation_passes_without_advance_or_count"),
    ),
    Mutation(
        "chain: every kind advances",
        FALLBACK,
        "        if self._judge(error).advance:\n            return False\n",
        "        if error:\n            return False\n",
        _one("test_a_kind_that_does_not_advance_is_raised_unchanged"),
    ),
    Mutation(
        "chain: the primary's key is not told",
        FALLBACK,
        "and not partition.fallback_served",
        "and False",
        _one("test_a_refused_key_or_account_of_the_primary_is_told_if_no_fallback_ever_served"),
    ),
    Mutation(
        "chain: attempts are lost",
        FALLBACK,
        "        _attach(error, every)\n        self._observer(",
        "        self._observer(",
        _one("test_an_exhausted_chain_raises_the_last_error_with_all_attempts"),
    ),
    Mutation(
        "chain: a pin enters the chain",
        FALLBACK,
        "            return await entry.provider.complete(_for_link(request, entry))\n",
        "            return await entry.complete(_for_link(request, entry))\n",
        _one("test_a_pinned_link_is_asked_once_and_the_chain_is_not_entered"),
    ),
    Mutation(
        "chain: a cut stream is not counted",
        BREAKER,
        "            self._call.broke(error)\n",
        "",
        _one("test_a_live_stream_is_never_restarted", STREAMS),
    ),
    Mutation(
        "chain: a consumer's exception counts",
        BREAKER,
        '        if self._stage == "asking":\n            self._report(error)\n',
        "        self._report(error)\n",
        _one("test_what_the_consumer_raises_is_no_failure_of_the_link", STREAMS),
    ),
    Mutation(
        "chain: the first event is not awaited",
        BREAKER,
        '        message = "the stream ended before its first event"\n',
        "        if link >= 0:\n            return first  # type: ignore[return-value]\n"
        '        message = "the stream ended before its first event"\n',
        _one("test_a_stream_that_ends_before_its_first_event_advances_and_counts", STREAMS),
    ),
]
