"""The gateway's main rules, each broken once."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_IN = "structguard/gateway"
_CHAT, _RESPONSES = "tests/gateway/test_chat.py", "tests/gateway/test_responses.py"
_STATE, _LIMITS = "tests/gateway/test_state.py", "tests/gateway/test_limits.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        "gateway: the client's cookie goes upstream",
        f"{_IN}/transport.py",
        '"openai-project")',
        '"openai-project", "cookie")',
        (f"{_CHAT}::test_of_the_clients_headers_only_the_safe_ones_go_upstream",),
    ),
    Mutation(
        "gateway: our own token goes upstream",
        f"{_IN}/core.py",
        "if self.auth.open and (key",
        "if (key",
        (f"{_LIMITS}::test_our_token_never_goes_upstream",),
    ),
    Mutation(
        "gateway: one client's refusal is another's",
        f"{_IN}/upstreams.py",
        'memo_id=f"{name}#{scope}" if own else name,',
        "memo_id=name,",
        (f"{_CHAT}::test_another_clients_key_learns_nothing_from_a_refusal",),
    ),
    Mutation(
        "gateway: an alias is taken for the provider that is called the same",
        f"{_IN}/upstreams.py",
        "key = (turn.model if chained else first, chained, turn.scope)",
        "key = (turn.model if chained else first, False, turn.scope)",
        (
            "tests/gateway/test_ways.py::test_an_alias_that_is_called_as_a_provider_is_not_taken_for_it",
        ),
    ),
    Mutation(
        "gateway: a setting that its kind of upstream ignores is taken",
        f"{_IN}/config_provider.py",
        "and self.kind not in kinds:",
        "and self.kind in ():",
        ("tests/gateway/test_config.py::test_a_setting_that_cannot_be_names_its_place",),
    ),
    Mutation(
        "gateway: a whole reply to a stream goes out as it came",
        f"{_IN}/flowing.py",
        'if unread.lstrip().startswith(b"{"):',
        "if not head:",
        ("tests/gateway/test_unstreamed.py",),
    ),
    Mutation(
        "gateway: a reference is looked up in the conversation alone",
        f"{_IN}/conversation.py",
        "if id_ not in known and made is not None:",
        "if made is None:",
        (f"{_STATE}::test_items_are_found_by_their_references_alone",),
    ),
    Mutation(
        "gateway: a place is told as counted with the history",
        f"{_IN}/responses.py",
        "turn.before = len(items) - len(input_items(asked))",
        "turn.before = 0",
        (f"{_STATE}::test_a_fault_is_told_at_its_place_in_the_clients_own_input",),
    ),
    Mutation(
        "gateway: a client's field breaks the header that names it",
        f"{_IN}/turn.py",
        "mark if mark.isprintable() else",
        "mark if mark else",
        ("tests/gateway/test_fitted.py", "-k", "one_line"),
    ),
    Mutation(
        "gateway: with the guard off it is claimed that a format was enforced",
        f"{_IN}/turn.py",
        'if self.mode == "off":',
        'if self.mode == "native":',
        ("tests/gateway/test_wires.py", "-k", "nothing_is_claimed"),
    ),
    Mutation(
        "gateway: a call that was cut off is called complete",
        f"{_IN}/sequence.py",
        "yield from self._give(status)",
        'yield from self._give("completed")',
        ("tests/gateway/test_spec_replies.py", "-k", "cut_off"),
    ),
    Mutation(
        "gateway: the model's answer is not healed",
        f"{_IN}/whole.py",
        "if found.text != text:",
        "if not found.text:",
        (
            f"{_CHAT}::test_the_structured_answer_arrives_whatever_the_upstream_does",
            "-k",
            "refuse400-False",
        ),
    ),
    Mutation(
        "gateway: native mode degrades all the same",
        f"{_IN}/passing.py",
        'if turn.mode != "guard":',
        'if turn.mode == "off":',
        (f"{_CHAT}::test_native_mode_hands_the_refusal_on_and_off_mode_does_not_look",),
    ),
    Mutation(
        "gateway: an upstream's address is told",
        f"{_IN}/faults.py",
        "if error.failure.network:",
        "if error.failure.truncated:",
        (f"{_CHAT}::test_an_upstream_that_cannot_be_reached_is_a_502_without_its_address",),
    ),
    Mutation(
        "gateway: a client that leaves is not missed",
        f"{_IN}/sweep.py",
        "    if not watched.over:",
        "    if watched.over:",
        (f"{_CHAT}::test_a_client_that_leaves_takes_the_upstream_call_with_it",),
    ),
    Mutation(
        "gateway: Retry-After is lost",
        f"{_IN}/faults.py",
        'else {"retry-after": str(math.ceil(after))}',
        "else {}",
        (f"{_CHAT}::test_an_upstreams_error_has_four_keys_and_the_tables_status", "-k", "429"),
    ),
    Mutation(
        "gateway: size is checked after reading",
        f"{_IN}/asgi.py",
        "if length is not None and length.isdigit() and int(length) > limits.body:",
        "if length is None:",
        (f"{_LIMITS}::test_a_large_body_is_a_413_before_it_is_read",),
    ),
    Mutation(
        "gateway: a late body is waited for",
        f"{_IN}/sweep.py",
        "if now >= one.late_at and not one.late:",
        "if now < 0.0:",
        (f"{_LIMITS}::test_a_body_that_does_not_come_is_a_408",),
    ),
    Mutation(
        "gateway: as many requests as like",
        f"{_IN}/core.py",
        "if self.busy > self.config.limits.concurrent:",
        "if self.busy < 0:",
        (f"{_LIMITS}::test_more_requests_than_allowed_are_a_429_and_others_are_served",),
    ),
    Mutation(
        "gateway: store false is stored",
        f"{_IN}/conversation.py",
        'body.get("store") is False',
        'body.get("store") is None',
        (f"{_STATE}::test_store_false_keeps_nothing_and_says_so",),
    ),
    Mutation(
        "gateway: turns are everybody's",
        f"{_IN}/conversation.py",
        "found or await self.store.get(scope, id_)",
        'found or await self.store.get("", id_)',
        (
            f"{_STATE}::test_a_stored_response_can_be_read_listed_and_deleted",
            f"{_STATE}::test_another_credential_does_not_find_a_response",
        ),
    ),
    Mutation(
        "gateway: a failed turn evicts nothing",
        f"{_IN}/socket.py",
        "            self.local.turns.pop(previous, None)",
        "            self.local.turns.get(previous)",
        (f"{_STATE}::test_a_failed_turn_evicts_what_it_referenced",),
    ),
    Mutation(
        "gateway: a turn that breaks ends twice on a WebSocket",
        f"{_IN}/socket.py",
        '                case {"type": "error"}:',
        '                case {"type": "no such"}:',
        (f"{_STATE}::test_a_turn_that_breaks_on_its_way_ends_once",),
    ),
    Mutation(
        "gateway: an item is left open for the next",
        f"{_IN}/sequence.py",
        '        self._told.add(f"call {call.id}")\n        yield from self._close("completed")\n',
        '        self._told.add(f"call {call.id}")\n',
        (
            f"{_RESPONSES}::test_a_translated_stream_keeps_the_order_and_ends_in_the_same_items",
            "-k",
            "both",
        ),
    ),
    Mutation(
        "gateway: numbers have gaps where deltas were joined",
        f"{_IN}/flowing.py",
        'put(event, "sequence_number", self._number)',
        'put(event, "ignored", self._number)',
        (
            f"{_RESPONSES}::test_the_structured_answer_arrives_whatever_the_upstream_does",
            "-k",
            "refuse400-True",
        ),
    ),
    Mutation(
        "gateway: an upstream's gaps stay gaps",
        f"{_IN}/responses.py",
        "response.keys() >= REQUIRED",
        '"id" in response',
        (
            f"{_RESPONSES}::test_the_structured_answer_arrives_whatever_the_upstream_does",
            "-k",
            "enforce-False",
        ),
    ),
    Mutation(
        "gateway: an unknown hosted tool is left out silently",
        f"{_IN}/translate.py",
        "if kind not in AGENTS_TOOLS:",
        'if kind == "":',
        (f"{_RESPONSES}::test_what_cannot_be_honoured_is_a_400_that_names_it", "-k", "tools"),
    ),
    Mutation(
        "gateway: the world is served without a token",
        f"{_IN}/config.py",
        "if not self.auth.required and not _is_loopback(host):",
        "if not self.auth.required and not host:",
        ("tests/gateway/test_config.py::test_the_world_is_not_served_without_auth",),
    ),
]
