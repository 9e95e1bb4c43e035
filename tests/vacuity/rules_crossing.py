"""The rules of a whole reply over the other OpenAI wire, and of what a remembered refusal may skip."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_CROSSING, _DIRECT = "tests/gateway/test_crossing.py", "tests/gateway/test_direct.py"
_IN = "structguard/gateway"

MUTATIONS: list[Mutation] = [
    Mutation(
        "crossing: the short cut drops what stands beside a text",
        f"{_IN}/direct.py",
        "if item is None or not item.keys() <= shape:",
        "if item is None:",
        (f"{_DIRECT}::test_what_is_more_than_plain_goes_the_long_way",),
    ),
    Mutation(
        "crossing: the short cut takes any number for a cap",
        f"{_IN}/direct.py",
        "return cap is None or (type(cap) is int and cap > 0)",
        "return True",
        (f"{_DIRECT}::test_what_is_more_than_plain_goes_the_long_way",),
    ),
    Mutation(
        "crossing: the short cut loses the word JSON",
        f"{_IN}/direct.py",
        "not isinstance(format, JsonSchema) or options.needs_json_word",
        "options.needs_json_word",
        (f"{_DIRECT}::test_what_is_more_than_plain_goes_the_long_way",),
    ),
    Mutation(
        "crossing: thoughts that the body no longer holds are lost",
        f"{_IN}/crossing.py",
        "        if turn.is_read:  # it may hold more than its body does\n            return None\n",
        "",
        (f"{_CROSSING}::test_a_chat_models_own_thoughts_come_back_to_it",),
    ),
    Mutation(
        "crossing: how it was served is not told",
        f"{_IN}/crossing.py",
        "requests=told.requests, enforced=told.enforced",
        "requests=1, enforced=None",
        (f"{_CROSSING}::test_a_refused_format_is_rescued_and_remembered_for_streams_too",),
    ),
    Mutation(
        "crossing: a chat body's text takes the format's place",
        f"{_IN}/translate.py",
        '    _without_format(made.get("text"))\n',
        "",
        ("tests/gateway/test_writing.py", "-k", "own_text"),
    ),
    Mutation(
        "crossing: what changes the answer is dropped with a word",
        f"{_IN}/translate.py",
        'elif fate == "refuse":',
        'elif fate == "refuse" and target in _OWN:',
        ("tests/gateway/test_fitted.py", "-k", "refused_by_every_other_wire"),
    ),
    Mutation(
        "crossing: what has no place is dropped unseen",
        f"{_IN}/translate.py",
        'return known or "warn"',
        'return known or "drop"',
        ("tests/gateway/test_fitted.py", "-k", "has_no_place"),
    ),
    Mutation(
        "crossing: without tools there is still something said of them",
        f"{_IN}/translate.py",
        "return request.derive(hosted_tools=(), tool_choice=None, extra_body=extra)",
        "return request.derive(hosted_tools=())",
        ("tests/gateway/test_fitted.py", "-k", "last_tool"),
    ),
    Mutation(
        "gateway: half a pair is an error of ours",
        f"{_IN}/writing.py",
        "        if str(error) == TOO_DEEP:\n            raise\n",
        "        raise\n",
        ("tests/gateway/test_writing.py", "-k", "half"),
    ),
    Mutation(
        "gateway: half a pair that passed cannot be found again",
        f"{_IN}/stored.py",
        "if text is not None and text.startswith(MARK):",
        "if False:",
        ("tests/gateway/test_writing.py", "-k", "half"),
    ),
    Mutation(
        "crossing: the client's mode is not heard",
        f"{_IN}/crossing.py",
        "            mode=turn.mode,\n",
        "",
        (f"{_CROSSING}::test_native_mode_refuses_to_be_rescued",),
    ),
    Mutation(
        "crossing: the answer in the thoughts stays there",
        f"{_IN}/sending.py",
        "format_ = asked.format if asked.guardable else None",
        "format_ = None",
        (f"{_CROSSING}::test_an_answer_in_the_thoughts_becomes_the_answer",),
    ),
    Mutation(
        "crossing: what was sent back counts for an answer, not what the client gets",
        f"{_IN}/whole.py",
        "    reply = whole.decoded\n",
        "    reply = None\n",
        (f"{_CROSSING}::test_a_refusal_is_remembered_where_the_client_got_an_answer",),
    ),
    Mutation(
        "crossing: a reply that failed is an answer",
        f"{_IN}/whole.py",
        'return reply.finish != "error" and is_answered(reply)',
        "return is_answered(reply)",
        (f"{_CROSSING}::test_a_refusal_is_remembered_where_the_client_got_an_answer",),
    ),
    Mutation(
        "gateway: a send that nobody took over is not told",
        f"{_IN}/passing.py",
        "requests=0 if tried is None else 1,",
        "requests=0,",
        (f"{_CROSSING}::test_every_send_is_told_though_the_memo_learnt_of_it_meanwhile",),
    ),
    Mutation(
        "gateway: with the guard off a refusal is any error",
        f"{_IN}/sending.py",
        "if facts.sent is None or failure.status is None:",
        "if not asked.guardable or failure.status is None:",
        (f"{_CROSSING}::test_a_refusal_says_what_it_is_with_the_guard_off_too",),
    ),
    Mutation(
        "gateway: a client is told where an upstream redirects to",
        f"{_IN}/faults.py",
        "if 300 <= (error.failure.status or 0) < 400:",
        "if False:",
        (f"{_CROSSING}::test_a_redirect_is_told_without_where_it_goes",),
    ),
    Mutation(
        "gateway: a redirect is any bad reply",
        f"{_IN}/sending.py",
        "return moved or self._judged(",
        "return self._judged(",
        (f"{_CROSSING}::test_a_redirect_is_told_without_where_it_goes",),
    ),
    Mutation(
        "gateway: a URL is made without the model's name",
        f"{_IN}/sending.py",
        "self.endpoints.url(self.wire.API, asked.model)",
        'self.endpoints.url(self.wire.API, "m")',
        (f"{_CROSSING}::test_a_chat_url_with_a_query_and_the_models_name_is_reached",),
    ),
    Mutation(
        "gateway: a prompt that shows the schema is told it again",
        f"{_IN}/turn.py",
        'return self.raw is None or b"\\\\" in self.raw',
        "return False",
        ("tests/gateway/test_plain.py::test_a_prompt_that_shows_the_schema_is_not_told_it_again",),
    ),
]
