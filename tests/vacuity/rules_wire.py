"""Ways to break the wires' main rules."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

W = "structguard/wire"
T = "tests/wire"

MUTATIONS = [
    Mutation(
        "wire: a CRLF split between reads is two line ends",
        f"{W}/sse.py",
        'data = data.removeprefix(b"\\n")',
        "pass",
        (f"{T}/test_sse.py",),
    ),
    Mutation(
        "wire: data lines are not joined",
        f"{W}/sse.py",
        'b"\\n".join(data)) if data',
        "data[-1]) if data",
        (f"{T}/test_sse.py",),
    ),
    Mutation(
        "wire: what is left at the end of the bytes is lost",
        f"{W}/sse.py",
        "event = _event(rest) if rest else None",
        "event = None",
        (f"{T}/test_sse.py",),
    ),
    Mutation(
        "wire: an event's name need not agree with its type",
        f"{W}/stream.py",
        'return name == "message" or event.get("type", name) == name',
        "return True",
        (f"{T}/test_stream_rules.py", "-k", "fault_ends"),
    ),
    Mutation(
        "wire: a stream without a terminal event is whole",
        f"{W}/stream.py",
        "if not whole:",
        "if False:",
        (f"{T}/test_stream_rules.py", "-k", "fault_ends"),
    ),
    Mutation(
        "wire: a failure forgets that events had been given out",
        f"{W}/stream.py",
        "replace(failure, yielded=yielded)",
        "replace(failure, yielded=False)",
        (f"{T}/test_stream_rules.py", "-k", "fault_ends"),
    ),
    Mutation(
        "wire: reading goes on behind the terminal event",
        f"{W}/responses/stream.py",
        '            self._end({**self._partial, **(as_mapping(event.get("response")) or {})}, out)\n'
        "            return True",
        '            self._end({**self._partial, **(as_mapping(event.get("response")) or {})}, out)\n'
        "            return False",
        (f"{T}/test_streams.py", "-k", "behind_the_terminal"),
    ),
    Mutation(
        "wire: a call is given out before the calls ahead of it",
        f"{W}/responses/stream.py",
        "return  # an earlier call is still open",
        "continue  # an earlier call is still open",
        (f"{T}/test_stream_rules.py", "-k", "calls_wait"),
    ),
    Mutation(
        "wire: a call is given out again with the terminal event",
        f"{W}/responses/stream.py",
        "if call.id not in self._handed",
        "if call.id",
        (f"{T}/test_stream_rules.py", "-k", "calls_wait"),
    ),
    Mutation(
        "wire: bad tool arguments become an empty object",
        f"{W}/reply.py",
        "arguments=arguments, error=_fault(arguments)",
        "arguments='{}' if _fault(arguments) else arguments, error=None",
        (f"{T}/test_replies.py", "-k", "no_json_object"),
    ),
    Mutation(
        "wire: a decline's words are lost",
        f"{W}/reply.py",
        '"".join((*self.text, *self.declined))',
        '"".join(self.text)',
        (f"{T}/test_replies.py", "-k", "decline"),
    ),
    Mutation(
        "wire: a promoted answer is not marked",
        f"{W}/reply.py",
        "text, repairs = found, (PROMOTED,)",
        "text, repairs = found, ()",
        (f"{T}/test_replies.py", "-k", "promoted"),
    ),
    Mutation(
        "wire: reasoning is promoted though it does not fit the schema",
        f"{W}/reply.py",
        "fits = validator(format.schema).is_valid(value)",
        "fits = True",
        (f"{T}/test_replies.py", "-k", "promoted"),
    ),
    Mutation(
        "wire: calls beat a cut reply",
        f"{W}/reply.py",
        'elif self.calls and finish == "stop":',
        "elif self.calls:",
        (f"{T}/test_replies.py", "-k", "first_that_fits"),
    ),
    Mutation(
        "wire: text is read under every status",
        f"{W}/faults.py",
        "if status in _TEXT_STATUSES:",
        "if status:",
        (f"{T}/test_faults.py", "-k", "openai_family"),
    ),
    Mutation(
        "wire: the status comes before the code",
        f"{W}/faults.py",
        "    if hits:",
        "    if hits and failure.status is None:",
        (f"{T}/test_faults.py", "-k", "openai_family"),
    ),
    Mutation(
        "wire: a vague code overrules a status",
        f"{W}/faults.py",
        "if status is None or status < 400:",
        "if status is None or status < 400 or vague:",
        (f"{T}/test_faults.py", "-k", "openai_family"),
    ),
    Mutation(
        "wire: a 200 with an error code inside is only a bad response",
        f"{W}/faults.py",
        "return next((int(c) for c in codes",
        "return status or next((int(c) for c in codes",
        (f"{T}/test_replies.py", "-k", "error_inside"),
    ),
    Mutation(
        "wire: Retry-After dates are counted from nothing",
        f"{W}/headers.py",
        "since = sent.timestamp() if sent else now",
        "since = now",
        (f"{T}/test_headers.py",),
    ),
    Mutation(
        "wire: the word json stays when the format goes",
        f"{W}/encoding.py",
        "if format is None or not (isinstance(format, JsonObject) or options.needs_json_word):",
        "if format is not None and not (isinstance(format, JsonObject) or options.needs_json_word):",
        (f"{T}/test_chat_request.py", "-k", "word_json"),
    ),
    Mutation(
        "wire: reserved keys of extra_body win",
        f"{W}/payload.py",
        "ignored = {*reserved, *(key for key in if_absent if key in body)}",
        "ignored = set[str]()",
        (f"{T}/test_chat_request.py", "-k", "extra_body"),
    ),
    Mutation(
        "wire: what a wire cannot carry is dropped",
        f"{W}/encoding.py",
        "if value is not None and value != ():",
        "if False:",
        (f"{T}/test_chat_request.py", f"{T}/test_responses_request.py", "-k", "refused_by_name"),
    ),
    Mutation(
        "wire: sampling is sent with reasoning requests",
        f"{W}/chat/request.py",
        "temperature=None if reasoning else request.temperature,",
        "temperature=request.temperature,",
        (f"{T}/test_chat_request.py", "-k", "temperature"),
    ),
    Mutation(
        "wire: a reasoning item goes out twice",
        f"{W}/responses/request.py",
        "if identity not in sent:",
        "if True:",
        (f"{T}/test_responses_request.py", "-k", "reasoning_items"),
    ),
    Mutation(
        "wire: reasoning is not tied to the call it led to",
        f"{W}/reply.py",
        "self._leading += 1",
        "self._leading += 0",
        (f"{T}/test_replies.py", "-k", "tied_to_the_call"),
    ),
    Mutation(
        "wire: the model's tools are strict by default",
        f"{W}/responses/request.py",
        '"strict": tool.strict,',
        '"strict": True,',
        (f"{T}/test_responses_request.py", "-k", "flat"),
    ),
    Mutation(
        "wire: unsigned thinking goes to Anthropic",
        f"{W}/messages/request.py",
        'if part.signature and (not raw or "reasoningText" in raw):',
        "if True:",
        (f"{T}/test_messages_request.py", "-k", "refused_by_name"),
    ),
    Mutation(
        "wire: a schema's bomb is unfolded for Google",
        f"{W}/generate_content/schema.py",
        "_LIMIT = 10_000",
        "_LIMIT = 10_000_000",
        (f"{T}/test_generate_content_request.py", "-k", "cannot_hold", "--timeout", "5"),
    ),
]
