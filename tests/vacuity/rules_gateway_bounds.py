"""What the gateway promises of thoughts, decisions and connections, each broken once."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_IN = "structguard/gateway"
_THOUGHTS, _SCALE = "tests/gateway/test_thoughts.py", "tests/gateway/test_spec_scale.py"
_WAYS, _STATE = "tests/gateway/test_ways.py", "tests/gateway/test_state.py"
_PROMOTING, _EMBEDDINGS = "tests/gateway/test_promoting.py", "tests/gateway/test_embeddings.py"
_FILLING = "tests/gateway/test_filling.py"
_WRITE = "tests/gateway/test_one_write.py"
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
        "gateway: a stream that passes ends when its upstream hangs up",
        f"{_IN}/flowing.py",
        "if told is not None or is_last:",
        "if told is not None:",
        (f"{_WAYS}::test_a_stream_is_over_at_its_end_whether_or_not_the_upstream_hangs_up",),
    ),
    Mutation(
        "gateway: a passing stream without a value is no error",
        f"{_IN}/flowing.py",
        "self._unusable = self.strict",
        "self._unusable = False",
        (f"{_REPLIES}::test_a_passing_stream_without_a_value_fails_where_the_settings_say_so",),
    ),
    Mutation(
        "gateway: a reply is two packets",
        f"{_IN}/asgi.py",
        "at_once(self.scope, status, raw, body):",
        "False:",
        (f"{_WRITE}::test_a_whole_reply_is_one_write_and_as_uvicorn_sends_it", "-k", "enforce"),
    ),
    Mutation(
        "gateway: a reply is sent for another request",
        f"{_IN}/protocol.py",
        "            cycle.scope is not scope  #",
        "            False  #",
        (f"{_WRITE}::test_requests_that_come_together_are_answered_in_their_order",),
    ),
    Mutation(
        "gateway: a client that wants its connection closed waits for it",
        f"{_IN}/protocol.py",
        "            or not cycle.keep_alive\n",
        "",
        (f"{_WRITE}::test_a_client_that_asks_for_it_has_its_connection_closed",),
    ),
    Mutation(
        "gateway: a reply to HEAD has a body",
        f"{_IN}/protocol.py",
        '            or cycle.scope["method"] == "HEAD"\n',
        "",
        (f"{_WRITE}::test_a_reply_to_head_has_no_body",),
    ),
    Mutation(
        "gateway: a header's value ends the header",
        f"{_IN}/protocol.py",
        "        if len(head.translate(None, _CONTROLS)) != len(head) - 2 * ends:",
        "        if not head:",
        (f"{_WRITE}::test_a_value_that_would_end_its_header_is_not_sent",),
    ),
    Mutation(
        "gateway: a resource says what was not asked for",
        f"{_IN}/filling.py",
        "        lack.asked.isdisjoint(asked)\n        and ",
        "        ",
        (f"{_FILLING}::test_what_was_asked_for_is_not_taken_for_its_default",),
    ),
    Mutation(
        "gateway: what is not as it should be stays",
        f"{_IN}/filling.py",
        '        and _is_counted(given.get("usage"))\n',
        "",
        (f"{_FILLING}::test_what_is_added_equals_what_is_written_anew",),
    ),
    Mutation(
        "gateway: a text that is no strict JSON is handed on",
        f"{_IN}/responses.py",
        "known = text if strict else None",
        "known = text",
        (f"{_FILLING}::test_a_text_that_is_no_strict_json_is_not_handed_on",),
    ),
    Mutation(
        "gateway: a string that is no id is replaced",
        f"{_IN}/filling.py",
        "    if at < 0 or text.find(quoted, at + 1) >= 0:",
        "    if at < 0:",
        (f"{_FILLING}::test_an_id_that_stands_twice_is_not_replaced_by_its_bytes",),
    ),
    Mutation(
        "gateway: whoever waits is a late head",
        f"{_IN}/protocol.py",
        "        return not self._deaf and (",
        "        return (",
        (f"{_SOCKET}::test_an_idle_connection_outlives_the_time_that_a_head_may_take",),
    ),
    Mutation(
        "gateway: an error that an upstream tells is told twice",
        f"{_IN}/flowing.py",
        "if not may_err(block) or self._blocks.ended_before:",
        "if block:",
        (f"{_WAYS}::test_an_error_that_an_upstream_tells_on_its_way_is_told_once", "-k", "flat"),
    ),
    Mutation(
        "gateway: a cut stream is a bug",
        f"{_IN}/passing.py",
        "        stream.served, stream.fail = told, broken\n",
        "        stream.served = told\n",
        (f"{_WAYS}::test_a_passing_stream_that_is_cut_says_so", "-k", "chat"),
    ),
    Mutation(
        "gateway: a breaker takes a stream that broke for served",
        f"{_IN}/serving.py",
        "                await _heard(events)\n",
        "",
        (f"{_WAYS}::test_passing_streams_that_break_open_the_breaker", "-k", "chat"),
    ),
    Mutation(
        "gateway: another site's page gets a socket",
        f"{_IN}/core.py",
        'if origin.partition("://")[2] != exchange.header(b"host"):',
        'if origin.partition("://")[2] == "":',
        (f"{_STATE}::test_a_page_of_another_site_gets_no_socket_and_no_reply_without_a_token",),
    ),
    Mutation(
        "gateway: any page may spend the upstream's key",
        f"{_IN}/core.py",
        "        if self.auth.open and not basic:  # the status page's form has a token of its own\n"
        "            self._check_origin(exchange)\n",
        "",
        ("tests/gateway/test_state.py", "-k", "page_of_another_site"),
    ),
    Mutation(
        "gateway: bare events stay bare",
        f"{_IN}/opening.py",
        "stream.bare = is_bare(",
        "stream.bare = bool(head) and not is_bare(",
        (f"{_WAYS}::test_events_without_names_or_numbers_get_both",),
    ),
    Mutation(
        "gateway: an answer that was thought stays thought on chat streams",
        f"{_IN}/promoting.py",
        "self.thought.setdefault(index, []).append(text)",
        "self.thought.setdefault(index, [])",
        (f"{_PROMOTING}::test_an_answer_that_was_only_thought_is_said", "-k", "chat"),
    ),
    Mutation(
        "gateway: packed vectors are plain",
        f"{_IN}/embeddings.py",
        "_packed(vector) if packs else vector",
        "vector",
        (f"{_EMBEDDINGS}::test_vectors_come_in_the_encoding_that_was_asked_for",),
    ),
    Mutation(
        "gateway: a killed worker's requests stay in flight",
        f"{_IN}/worker.py",
        "        forget_dead_workers(Path(directory))",
        "        pass",
        ("tests/gateway/test_serve.py", "-k", "killed"),
    ),
]
