"""What the gateway promises of thoughts, decisions and connections, each broken once."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_IN = "structguard/gateway"
_THOUGHTS, _SCALE = "tests/gateway/test_thoughts.py", "tests/gateway/test_spec_scale.py"
_REPLIES, _SOCKET = "tests/gateway/test_spec_replies.py", "tests/gateway/test_load_socket.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        "gateway: a model's signed thoughts are lost on their way",
        f"{_IN}/thoughts.py",
        "    if not signed and not any(",
        "    if True or not any(",
        (f"{_THOUGHTS}::test_signed_thoughts_come_back_in_the_next_turn", "-k", "google-by"),
    ),
    Mutation(
        "gateway: an upstream gets reasoning that it did not make",
        f"{_IN}/thoughts.py",
        "    if not answers:",
        "    if True:",
        (
            f"{_THOUGHTS}::test_an_upstream_that_speaks_responses_gets_no_reasoning_that_it_did_not_make",
        ),
    ),
    Mutation(
        "gateway: a reply is decided twice",
        f"{_IN}/passing.py",
        "            if isinstance(outcome, Whole):\n",
        "            if isinstance(outcome, Whole) and plain_reply(outcome, asked, Served()):\n",
        (f"{_SCALE}::test_a_memo_that_forgets_while_a_call_is_under_way_sends_nothing_twice",),
    ),
    Mutation(
        "gateway: a passing stream without a value is no error",
        f"{_IN}/flowing.py",
        "if self.strict and healer.holds",
        "if not self.strict and healer.holds",
        (f"{_REPLIES}::test_a_passing_stream_without_a_value_fails_where_the_settings_say_so",),
    ),
    Mutation(
        "gateway: whoever waits is a late head",
        f"{_IN}/protocol.py",
        "        return not self._deaf and (",
        "        return (",
        (f"{_SOCKET}::test_an_idle_connection_outlives_the_time_that_a_head_may_take",),
    ),
]
