"""Providers and HTTP seam: retries, closing, credentials and the choice of wire API, broken."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

CALL = "structguard/providers/call.py"
ENGINE = "structguard/providers/engine.py"
ENCODING = "structguard/providers/encoding.py"
EXCHANGE = "structguard/providers/exchange.py"
STREAMING = "structguard/providers/streaming.py"
CREDENTIALS = "structguard/providers/credentials.py"
LOOKUP = "structguard/providers/lookup.py"
ENDPOINTS = "structguard/providers/endpoints.py"
ROUTES = "structguard/providers/routes.py"
SETTINGS = "structguard/providers/settings.py"
HTTPX2 = "structguard/http/via_httpx2.py"
AIOHTTP = "structguard/http/via_aiohttp.py"
OPENAI = "structguard/http/via_openai.py"


def _tests(module: str, *names: str) -> tuple[str, ...]:
    folder = "http" if module in {"transports", "seam", "urls"} else "providers"
    return tuple(f"tests/{folder}/test_{module}.py::test_{name}" for name in names)


MUTATIONS: list[Mutation] = [
    Mutation(
        "providers: the cause of an error tells the key",
        CALL,
        "            cause.args = (cause.failure.message,)\n",
        "",
        _tests("error_path", "no_cause_shows_the_key_either"),
    ),
    Mutation(
        "providers: a refusal's evidence tells the key",
        EXCHANGE,
        "call.concealed(failure.body),",
        "failure.body,",
        _tests("error_path", "no_refusal_shows_the_key_for_it_is_remembered"),
    ),
    Mutation(
        "refusal: a foreign refusal's evidence tells the key",
        "structguard/refusal/foreign.py",
        "        _without_credential(exc, body),\n",
        "        body,\n",
        ("tests/refusal/test_foreign.py", "-k", "own_key"),
    ),
    Mutation(
        "http: a second gzip member is lost",
        "structguard/http/gunzip.py",
        "            data = self._member.unused_data\n",
        '            data = b""\n',
        (*_tests("transports", "a_body_packed_in_two_members_is_unpacked_whole"), "-k", "httpx2"),
    ),
    Mutation(
        "providers: a location may be any host",
        "structguard/providers/google.py",
        'if not location.replace("-", "").isalnum():',
        "if not location:",
        _tests("google", "a_location_is_a_word_for_it_becomes_a_host"),
    ),
    Mutation(
        "wire: a date without a zone is local time",
        "structguard/wire/headers.py",
        "return found if found.tzinfo else found.replace(tzinfo=UTC)",
        "return found",
        ("tests/wire/test_headers.py", "-k", "every_form"),
    ),
    Mutation(
        "bedrock: damage takes with it what came before",
        "structguard/providers/aws.py",
        "            events_of.fail(Failure(status=200, message=text, truncated=True))\n",
        "            events.clear()\n"
        "            events_of.fail(Failure(status=200, message=text, truncated=True))\n",
        ("tests/providers/test_bedrock.py::test_what_came_before_the_damage_is_handed_out",),
    ),
    Mutation(
        "providers: an observer can fail a call",
        SETTINGS,
        "careful(self.observer)",
        "self.observer",
        _tests("error_path", "an_observer_that_raises_takes_no_errors_place"),
    ),
    Mutation(
        "providers: a format left out for tools is told as sent",
        ENCODING,
        "sent_format = sendable_format(request, format_, options)",
        "sent_format = format_",
        _tests("openai_compat", "what_a_request_carries_as_it_is_sent_is_told_beforehand"),
    ),
    Mutation(
        "providers: a final fault is sent again",
        CALL,
        "if not fault.retryable or self.failed >= self.attempts:",
        "if self.failed >= self.attempts:",
        _tests("error_path", "a_final_fault_is_sent_once_and_told_once"),
    ),
    Mutation(
        "providers: a refused format is retried",
        CALL,
        "return self.refusal is None and rule_for(self.kind, self.failure).retry",
        "return self.refusal is not None or rule_for(self.kind, self.failure).retry",
        _tests("error_path", "a_refused_format_rides_on_the_error_and_is_not_retried"),
    ),
    Mutation(
        "providers: Retry-After over its cap is waited out",
        CALL,
        "if retry_after is not None and retry_after > self.retry.retry_after_cap:",
        "if retry_after is None and self.retry.retry_after_cap < 0:",
        _tests("error_path", "a_retry_after_over_the_cap_ends_the_attempts"),
    ),
    Mutation(
        "providers: Retry-After is not honoured",
        CALL,
        "pause = max(retry_after or 0.0, backoff",
        "pause = max(0.0, backoff",
        _tests("error_path", "a_retry_after_is_waited_out"),
    ),
    Mutation(
        "providers: a pause longer than the budget is slept",
        CALL,
        "return pause if pause < self.left() else None",
        "return pause",
        _tests("error_path", "a_pause_longer_than_the_remaining_time_ends_the_attempts"),
    ),
    Mutation(
        "providers: the request's attempts are not shared",
        ENGINE,
        "attempts=request.attempts or self.retry.attempts,",
        "attempts=self.retry.attempts,",
        _tests("error_path", "the_requests_own_attempts_win"),
    ),
    Mutation(
        "providers: requests are not counted",
        ENGINE,
        "        call.requests += 1\n",
        "        call.requests = 1\n",
        _tests("error_path", "a_retry_that_serves_tells_nothing_and_is_counted"),
    ),
    Mutation(
        "providers: every attempt makes an error event",
        ENGINE,
        "            await self.sleep(pause)\n",
        "            call.error(outcome)\n            await self.sleep(pause)\n",
        _tests("error_path", "a_retry_that_serves_tells_nothing_and_is_counted"),
    ),
    Mutation(
        "providers: the detector is not asked",
        EXCHANGE,
        "return replace(fault, refusal=_refusal(call, route, sent_format, failure))",
        "return fault",
        _tests("error_path", "a_refused_format_rides_on_the_error_and_is_not_retried"),
    ),
    Mutation(
        "providers: the detector is asked without a format",
        EXCHANGE,
        "if sent_format is None or failure.status is None:",
        "if failure.status is None:",
        _tests("error_path", "without_a_format_the_same_words_are_no_refusal"),
    ),
    Mutation(
        "providers: a key in an endpoint's message is shown",
        "structguard/errors/redaction.py",  # several rooms mask a message: all with this
        r"| \b(?:sk|pk|",
        r"| \b(?:pk|",
        _tests("error_path", "no_error_shows_the_key"),
    ),
    Mutation(
        "providers: a format that was left out counts as not asked for",
        EXCHANGE,
        "    enforced = False if left_out else reply.enforced\n",
        "    enforced = reply.enforced\n",
        _tests("openai_compat", "tools_first_leaves_the_format_out_and_says_so"),
    ),
    Mutation(
        "providers: half a body is a cut stream",
        EXCHANGE,
        "replace(error.failure, truncated=False), error)",
        "replace(error.failure, network=False), error)",
        _tests("broken_connections", "a_broken_exchange_is_unavailable_and_sent_again"),
    ),
    Mutation(
        "providers: a broken stream does not know it had begun",
        STREAMING,
        "raise self._fail(replace(pending.failure, yielded=True), pending) from pending",
        "raise self._fail(pending.failure, pending) from pending",
        _tests(
            "broken_connections",
            "a_stream_cut_after_its_first_event_is_truncated_and_never_sent_again",
        ),
    ),
    Mutation(
        "providers: leaving a stream leaves its connection open",
        ENGINE,
        "            await events.aclose()\n",
        "            del events\n",
        _tests("broken_connections", "leaving_a_stream_early_closes_its_connection"),
    ),
    Mutation(
        "providers: reading goes on after the terminal event",
        STREAMING,
        "        if self._decoder.done:\n",
        "        if self._decoder.done and not self._ready:\n",
        _tests(
            "broken_connections",
            "reading_stops_at_the_terminal_event_though_the_socket_stays_open",
        ),
    ),
    Mutation(
        "providers: a finished stream throws its connection away",
        STREAMING,
        "            self._ended = True\n",
        "            self._ended = False\n",
        _tests("broken_connections", "a_stream_read_to_its_end_gives_its_connection_back"),
    ),
    Mutation(
        "providers: a refused stream stays open",
        EXCHANGE,
        "    if isinstance(outcome, Fault):\n        await response.aclose()\n",
        "",
        _tests("broken_connections", "a_refused_stream_gives_its_connection_up"),
    ),
    Mutation(
        "providers: a missing key is sent",
        SETTINGS,
        "        raise Unauthorised(what)\n",
        "        return {}\n",
        _tests("openai", "a_missing_key_is_an_authentication_error_and_nothing_is_sent"),
    ),
    Mutation(
        "providers: an empty variable counts as set",
        SETTINGS,
        'if (value := env.get(name, "").strip())), None)',
        "if (value := env.get(name)) is not None), None)",
        _tests("openai", "empty_variables_count_as_unset"),
    ),
    Mutation(
        "credentials: every caller fetches one",
        CREDENTIALS,
        "            if not self._fresh(rejected):\n",
        "            if True:\n",
        _tests("credentials", "concurrent_callers_share_one_fetch"),
    ),
    Mutation(
        "credentials: a refused one is handed out again",
        CREDENTIALS,
        "return rejected is None or any(",
        "return True or any(",
        _tests("credentials", "a_401_renews_once_and_is_counted"),
    ),
    Mutation(
        "credentials: a failed fetch is tried by all who wait",
        CREDENTIALS,
        "if self._round != round_ and self._failure is not None:",
        "if self._round == -1 and self._failure is not None:",
        _tests("credentials", "a_callable_that_fails_is_an_authentication_error_for_all_who_wait"),
    ),
    Mutation(
        "api choice: an explicit API is looked up",
        ROUTES,
        "        api = self._named(name)\n        if api is None:\n",
        "        api = None\n        if api is None:\n",
        _tests("api_choice", "the_providers_option_decides_without_a_look_up"),
    ),
    Mutation(
        "api choice: a model that lists both goes to responses",
        LOOKUP,
        'return "responses" if known == {"responses"} else "chat"',
        'return "responses" if "responses" in known else "chat"',
        _tests("api_choice", "the_list_says_which"),
    ),
    Mutation(
        "api choice: everybody looks up",
        LOOKUP,
        "            if not self._settled(credential):\n",
        "            if True:\n",
        _tests("api_choice", "concurrent_first_requests_share_one_look_up"),
    ),
    Mutation(
        "api choice: a failed look-up is asked again at once",
        LOOKUP,
        "        answer.again = self._clock() + pause\n",
        "        answer.again = self._clock()\n",
        _tests("api_choice", "a_failed_look_up_warns_once_and_is_asked_again_later"),
    ),
    Mutation(
        "api choice: a switch is remembered before it served",
        ENGINE,
        "                outcome = await self._over(call, other, send)\n",
        "                await self.router.learned(call, other, first)\n"
        "                outcome = await self._over(call, other, send)\n",
        _tests("api_choice", "a_failed_switch_gives_its_own_error_and_remembers_nothing"),
    ),
    Mutation(
        "api choice: an explicit API is switched",
        ROUTES,
        "        if self._named(call.model) is not None:\n            return None\n",
        "",
        _tests("api_choice", "an_explicit_api_is_trusted_and_never_switched"),
    ),
    Mutation(
        "api choice: what was learned is not used",
        ROUTES,
        "            api = self._learned(name)\n",
        "            api = None\n",
        _tests("api_choice", "a_wrong_guess_is_switched_once_and_remembered"),
    ),
    Mutation(
        "api choice: a chat URL's query goes to the Responses API",
        ENDPOINTS,
        "return not placeholders(self.base_url) and not query_of_chat",
        "return not placeholders(self.base_url)",
        _tests("api_choice", "a_url_nobody_can_derive_is_a_configuration_error"),
    ),
    Mutation(
        "http: a redirect is followed",
        AIOHTTP,
        "allow_redirects=False,",
        "allow_redirects=True,",
        _tests("transports", "any_status_is_a_reply_and_nothing_is_sent_again[307-aiohttp]"),
    ),
    Mutation(
        "http: the openai client retries",
        OPENAI,
        '"max_retries": 0,',
        '"max_retries": 2,',
        _tests("transports", "any_status_is_a_reply_and_nothing_is_sent_again[503-openai-client]"),
    ),
    Mutation(
        "http: a trickle stretches the budget",
        HTTPX2,
        "        if time.monotonic() < self._exact_from:\n",
        "        if self._exact_from:\n",
        _tests("transports", "a_trickle_does_not_stretch_the_budget[httpx2-asyncio]"),
    ),
    Mutation(
        "http: a header's text is repeated in the error",
        HTTPX2,
        "        case httpx2.LocalProtocolError():",
        "        case httpx2.CloseError():",
        _tests(
            "transports", "a_key_with_a_line_break_is_not_repeated_in_the_error[httpx2-asyncio]"
        ),
    ),
    Mutation(
        "http: a body over the limit is read on",
        HTTPX2,
        "        if self._read > self._limit:\n",
        "        if self._read < 0:\n",
        _tests("transports", "a_body_over_the_limit_is_given_up[httpx2-asyncio]"),
    ),
    Mutation(
        "http: a query of the base URL is dropped",
        "structguard/http/urls.py",
        "for part in (parts.query, query) if part)",
        "for part in (query,) if part)",
        _tests("urls", "a_path_is_joined_to_a_base"),
    ),
]
