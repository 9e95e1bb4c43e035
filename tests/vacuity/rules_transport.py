"""What the transport promises, each promise broken on purpose."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

CALL = "structguard/clients/http_call.py"
REPLY = "structguard/clients/http_reply.py"
RESPONSE = "structguard/clients/http_response.py"
STREAM = "structguard/clients/http_stream.py"
FACE = "structguard/clients/transport.py"
TESTS, ASYNC = "tests/clients/test_transport.py", "tests/clients/test_transport_async.py"
PURE = "tests/clients/test_http_stream.py"


def one(name: str, file: str, old: str, new: str, only: str, tests: str = TESTS) -> Mutation:
    return Mutation(f"transport {name}", file, old, new, (tests, "-k", only))


MUTATIONS = [
    one(
        "heals in the modes that only look",
        REPLY,
        'self.heals = self.policy.mode == "guard"',
        "self.heals = True",
        "only_look",
    ),
    one(
        "changes a signed request",
        REPLY,
        'if self.http.signed and self.policy.mode == "guard":',
        "if False:",
        "signed_request",
    ),
    one(
        "reads a streamed request body",
        CALL,
        "    if not isinstance(request.stream, httpx2.ByteStream):\n        return None\n",
        "",
        "streamed_request_body",
    ),
    one(
        "keeps the first request's length",
        CALL,
        "            headers.pop(name, None)\n        extensions",
        "            pass\n        extensions",
        "second_request_is",
    ),
    one(
        "gives the second send the whole time",
        CALL,
        "if budget is not None:",
        "if False:",
        "one_number",
    ),
    one(
        "takes phases for one number",
        CALL,
        "only = values.pop() if len(values) == 1 else None",
        "only = max(values, key=str)",
        "per_phase",
    ),
    one(
        "writes strict json anew",
        REPLY,
        "value=rewritten(same, reply) if changed else same,",
        "value=rewritten(same, reply),",
        "strict_json_is_handed",
    ),
    one(
        "lies about a healed body",
        RESPONSE,
        '    headers["content-length"] = str(len(raw))\n    return with_body(response, headers, raw)\n',
        "    return with_body(response, response.headers, raw)\n",
        "tells_the_truth",
    ),
    one(
        "hands an error on as a 200",
        REPLY,
        "self.handed = instead_of(response, raw, status=status)",
        "self.handed = instead_of(response, raw)",
        "inside_a_200_gets",
    ),
    one(
        "loses the first refusal",
        REPLY,
        "            self.handed.extensions[REFUSED] = first.response\n",
        "            pass\n",
        "failed_retry",
    ),
    one(
        "remembers an empty retry",
        REPLY,
        "answered=is_answer(reply, api) if self.confirm else True,",
        "answered=True,",
        "without_an_answer",
    ),
    one(
        "takes a redirect for an answer",
        REPLY,
        "if not response.is_success:  # a redirect",
        "if False:  # a redirect",
        "redirect",
    ),
    one(
        "hands a stream on before its first event",
        STREAM,
        "                self.failure, self.begun = event, True\n",
        "                self.begun = True\n",
        "error_as_the_first_event",
    ),
    one(
        "confirms a stream by any event",
        STREAM,
        "self.begun = self.answered or not self.confirm",
        "self.begun = True",
        "confirming_waits",
        PURE,
    ),
    one(
        "writes untouched events anew",
        STREAM,
        "            if self.healer.holds:\n",
        "            if True:\n",
        "byte_for_byte and messages",
        PURE,
    ),
    one(
        "loses what a broken stream held",
        STREAM,
        'return b"".join(left) + self._rest()',
        'return b"".join(left)',
        "cut_stream",
        PURE,
    ),
    one(
        "leaves an abandoned stream open",
        FACE,
        "                await _abandon(response, chunks)\n",
        "                pass\n",
        "first_event_is_a_status",
        ASYNC,
    ),
    one(
        "lets an unusable answer pass",
        REPLY,
        'lacks = self.policy.on_unusable == "error" and source is None',
        "lacks = False",
        "502_that_says_so",
        "tests/clients/test_on_unusable.py",
    ),
    one(
        "leaves httpx2's generators to the collector",
        FACE,
        "            async for _ in chunks:\n                pass\n        await chunks.aclose()\n",
        "            await chunks.aclose()\n",
        "left_early",
        ASYNC,
    ),
]
