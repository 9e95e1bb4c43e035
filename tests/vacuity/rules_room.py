"""What is promised of memory and of growing stores, each broken once."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_CYCLES, _DISK = "tests/guard/test_no_cycles.py", "tests/gateway/test_store_disk.py"
_STORE = "structguard/gateway/store_disk.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        "room: a wrapped client's raw reply holds itself",
        "structguard/clients/openai_state.py",
        "        return weakref.ref(value)",
        "        return lambda: value",
        (_CYCLES, "-k", "wrap and raw and accept"),
    ),
    Mutation(
        "room: a transport's stream holds itself",
        "structguard/clients/http_reply.py",
        "response_ref = publish(info), weakref.ref(response)",
        "response_ref = publish(info), lambda: response",
        (_CYCLES, "-k", "transport and stream and accept"),
    ),
    Mutation(
        "room: a response set again stays where it stood",
        _STORE,
        '                self._execute("DELETE FROM Cache WHERE key = ? AND raw = 1", (text.key,))\n',
        "",
        (f"{_DISK}::test_a_text_set_again_is_the_newest",),
    ),
    Mutation(
        "room: every response is looked at when one is kept",
        _STORE,
        "            if not goes(written, freed):\n                break\n",
        "            if not goes(written, freed):\n                continue\n",
        (f"{_DISK}::test_one_more_turn_costs_the_same_however_many_are_kept",),
    ),
    Mutation(
        "room: whoever waits beside a failed write hears nothing",
        _STORE,
        "each.written, each.failure = True, failure",
        "each.written, each.failure = True, failure if each is text else None",
        (f"{_DISK}::test_turns_that_wait_together_are_all_told_of_a_failure",),
    ),
    Mutation(
        "room: a refusal is judged without what the provider sends",
        "structguard/gateway/upstream.py",
        "        if told is not None:  # what a refusal",
        "        if told is None:  # what a refusal",
        ("tests/gateway/test_named.py",),
    ),
]
