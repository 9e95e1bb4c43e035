"""The rules of the quick ways: the plain case, the HTTP/1.1 client, text events by their bytes."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_PLAIN, _NEUTRAL = "tests/gateway/test_plain.py", "tests/gateway/test_neutral.py"
_HTTP, _SHORTCUT = "tests/http/test_httptools.py", "tests/wire/test_shortcut.py"
_CUTTING, _CUT = "tests/gateway/test_cutting.py", "structguard/gateway/cutting.py"
_CONNECTION = "structguard/http/h1/connection.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        "plain: what was tried is sent again",
        "structguard/gateway/plain.py",
        "outcome = self.outcome if body == self.body else None",
        "outcome = None",
        (f"{_PLAIN}::test_nothing_is_sent_more_often_than_it_has_to_be", "-k", "refuse400"),
    ),
    Mutation(
        "plain: what came of other bytes is taken",
        "structguard/gateway/plain.py",
        "outcome = self.outcome if body == self.body else None",
        "outcome = self.outcome",
        (f"{_PLAIN}::test_what_was_tried_is_taken_once_and_only_for_the_same_bytes",),
    ),
    Mutation(
        "plain: a policy that asks for more is not heard",
        "structguard/gateway/plain.py",
        'if policy.mode != "guard" or policy.require_enforced',
        "if policy.require_enforced",
        (f"{_PLAIN}::test_what_needs_more_than_one_look_is_not_plain",),
    ),
    Mutation(
        "neutral: a held answer waits for its end",
        "structguard/gateway/neutral.py",
        "return self._growing.feed(text)",
        "return self._growing.feed(text) and ''",
        (f"{_NEUTRAL}::test_a_held_answer_is_shown_as_it_grows",),
    ),
    Mutation(
        "neutral: texts are joined over a call",
        "structguard/gateway/neutral.py",
        '        if texts:\n            made.append(TextDelta("".join(texts)))\n            texts.clear()\n',
        "",
        (
            f"{_NEUTRAL}::test_what_waits_comes_with_what_was_awaited_and_neighbouring_texts_are_one",
        ),
    ),
    Mutation(
        "http: a connection that says what nobody asked is kept",
        _CONNECTION,
        "        if self._reply is not None and self._reply.done:\n            self._keep = False",
        "        pass",
        (f"{_HTTP}::test_a_connection_that_is_odd_is_not_used_again", "-k", "replies"),
    ),
    Mutation(
        "http: a request that is not out yet does not matter",
        _CONNECTION,
        "if not keep or self._transport.get_write_buffer_size():",
        "if not keep:",
        (f"{_HTTP}::test_a_reply_before_the_request_was_out_is_read_and_the_connection_closed",),
    ),
    Mutation(
        "http: a slow reader is not waited for",
        _CONNECTION,
        "elif reply.is_much:",
        "elif reply.done:",
        (f"{_HTTP}::test_a_slow_reader_holds_the_upstream_up",),
    ),
    Mutation(
        "http: a bomb is unpacked",
        "structguard/http/gunzip.py",
        "self._member.decompress(data, most - len(out))",
        "self._member.decompress(data)",
        (f"{_HTTP}::test_a_bomb_is_not_unpacked",),
    ),
    Mutation(
        "http: room is not given back when nobody answers",
        "structguard/http/h1/pool.py",
        "            self.slots.release()\n            raise",
        "            raise",
        (f"{_HTTP}::test_room_is_given_back_whatever_happens",),
    ),
    Mutation(
        "wire: what follows a text may be anything",
        "structguard/wire/shortcut.py",
        "            or not data.endswith(tail)\n",
        "",
        (f"{_SHORTCUT}::test_what_only_looks_alike_goes_the_long_way",),
    ),
    Mutation(
        "wire: a number may be anything",
        "structguard/wire/shortcut.py",
        "if not data[at:found].isdigit():",
        "if found < 0:",
        (f"{_SHORTCUT}::test_what_only_looks_alike_goes_the_long_way",),
    ),
    Mutation(
        "cutting: another's format is cut out",
        _CUT,
        " or raw.find(_NAME, 0, at) >= 0:",
        ":",
        (f"{_CUTTING}::test_what_the_bytes_do_not_say_for_certain_is_not_cut",),
    ),
    Mutation(
        "cutting: what stands behind the format goes with it",
        _CUT,
        "if len(body) == 1 else None",
        "if body else None",
        (f"{_CUTTING}::test_what_the_bytes_do_not_say_for_certain_is_not_cut",),
    ),
    Mutation(
        "cutting: messages that nobody reads are told",
        _CUT,
        " or raw.find(_MESSAGES, text.end(), comma) >= 0:",
        ":",
        (f"{_CUTTING}::test_what_the_bytes_do_not_say_for_certain_is_not_cut",),
    ),
    Mutation(
        "cutting: a text that another one replaces is told",
        _CUT,
        """rb'(?="\\s*\\})'""",
        """rb'(?=")'""",
        (f"{_CUTTING}::test_what_the_bytes_do_not_say_for_certain_is_not_cut",),
    ),
    Mutation(
        "cutting: the model is the client's",
        "structguard/gateway/turn.py",
        ' or asked.model != self.body.get("model"):',
        ":",
        (f"{_CUTTING}::test_a_body_for_another_model_is_written_anew",),
    ),
    Mutation(
        "cutting: the general way sends it again",
        "structguard/gateway/passing.py",
        "        return without or packed(",
        "        return packed(",
        (f"{_CUTTING}::test_a_cut_body_that_fails_is_not_sent_again",),
    ),
    Mutation(
        "cutting: nothing is told",
        _CUT,
        "member.told, raw[text.end() : comma]",
        "raw[text.end() : comma]",
        (f"{_CUTTING}::test_the_body_that_is_cut_equals_the_one_that_is_written_anew",),
    ),
]
