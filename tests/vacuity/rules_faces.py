"""What the faces promise, each promise broken on purpose (wrap, guarded, degrade)."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

REPLY = "structguard/clients/openai_reply.py"
SDK = "structguard/clients/openai_sdk.py"
CALL = "structguard/clients/openai_call.py"
FUNCTION = "structguard/clients/function.py"
FUNCTION_CALL = "structguard/clients/function_call.py"
DEGRADE = "structguard/layers/degrade.py"
SERVED = "structguard/layers/served.py"
STREAMS = "structguard/clients/streams.py"
HEALING = "structguard/clients/healing.py"
WRAP, STREAM_TESTS = "tests/clients/test_wrap.py", "tests/clients/test_wrap_streams.py"
GUARDED, DEGRADED = "tests/clients/test_guarded.py", "tests/layers/test_degrade.py"
WRAP_FAULTS = "tests/clients/test_wrap_faults.py"
STREAM_FAULTS = "tests/clients/test_wrap_stream_faults.py"
GUARDED_FAULTS = "tests/clients/test_guarded_faults.py"
REPLIES, THOUGHTS = "structguard/clients/replies.py", "structguard/clients/thoughts.py"
UNUSABLE, THOUGHT_TESTS = "tests/clients/test_on_unusable.py", "tests/clients/test_thoughts.py"


def one(name: str, file: str, old: str, new: str, tests: str, only: str) -> Mutation:
    return Mutation(name, file, old, new, (tests, "-k", only))


MUTATIONS = [
    one(
        "wrap changes strict json",
        HEALING,
        '            return Healed(text, "json")\n',
        '            return Healed(compact(value), "json")\n',
        WRAP,
        "byte_for_byte",
    ),
    one(
        "wrap takes a misfit after a degraded send",
        HEALING,
        "if not degraded or looks_right(value, get_format()):",
        "if True:",
        WRAP,
        "unwrapped",
    ),
    one(
        "wrap believes an error in a 200",
        REPLY,
        "        if error is not None:\n            raise self.error_of(error)\n",
        "",
        WRAP,
        "error_object or no_reply",
    ),
    one(
        "wrap remembers an empty retry",
        REPLY,
        "self.answered = is_answer(reply, self.call.api)\n        if self.watch_prose",
        "self.answered = True\n        if self.watch_prose",
        WRAP,
        "empty_or_cut",
    ),
    one(
        "wrap guards a format of the operator's own",
        CALL,
        "guardable = has_format(body, api) and not (extra and names_format(extra))",
        "guardable = has_format(body, api)",
        WRAP,
        "operators_own",
    ),
    one(
        "wrap forgets its copies",
        SDK,
        '        "copy": copy,\n        "with_options": copy,\n',
        "",
        WRAP,
        "copies or unwrapping",
    ),
    one(
        "wrap changes the caller's options",
        CALL,
        "        options = self.options.model_copy()",
        "        options = self.options",
        WRAP,
        "caller_keeps",
    ),
    one(
        "wrap sends the second request as the first",
        CALL,
        '"json_data": dict(effect.call.body), ',
        "",
        WRAP,
        "second_request_is or callers_options",
    ),
    one(
        "a stream is handed on before its first event",
        REPLY,
        "        failure = error_of(event, self.call.api)\n",
        "        return True\n        failure = error_of(event, self.call.api)\n",
        STREAM_TESTS,
        "remembered or bare_json",
    ),
    one(
        "a stream that fails before it answers is handed on",
        REPLY,
        "            raise self.error_of(failure)\n",
        "            return True\n",
        STREAM_FAULTS,
        "tells_of_its_failure or fails_before",
    ),
    one(
        "a refused stream keeps its connection",
        "structguard/clients/openai_stream.py",
        "    except BaseException:\n        _close(events)\n",
        "    except BaseException:\n",
        STREAM_FAULTS,
        "lets_its_connection_go",
    ),
    one(
        "a refused async stream keeps its connection",
        "structguard/clients/openai_stream.py",
        "    except BaseException:\n        await _aclose(events)\n",
        "    except BaseException:\n",
        STREAM_FAULTS,
        "async_stream_lets",
    ),
    one(
        "an image in Base64 says json",
        "structguard/clients/bodies.py",
        " if key in _TEXT_KEYS)",
        ")",
        "tests/clients/test_bodies.py",
        "only_texts",
    ),
    one(
        "a byte order mark is handed on",
        HEALING,
        "text.lstrip(_BOM)",
        "text",
        WRAP,
        "byte_order_mark",
    ),
    one(
        "the beta namespace is not guarded",
        CALL,
        'options.url.partition("?")[0]',
        "options.url",
        WRAP,
        "beta_namespace",
    ),
    one(
        "held text is lost when a stream breaks",
        "structguard/clients/openai_stream.py",
        "        yield from healer.rest()\n        raise\n",
        "        raise\n",
        STREAM_TESTS,
        "breaks",
    ),
    one(
        "held text is lost when a stream ends early",
        "structguard/clients/openai_stream.py",
        "        _close(events)\n    yield from healer.rest()\n",
        "        _close(events)\n",
        STREAM_TESTS,
        "ends_early",
    ),
    one(
        "json streams are held",
        STREAMS,
        "            held.passing = True\n            return False\n",
        "",
        STREAM_TESTS,
        "untouched",
    ),
    one(
        "a degraded stream is not healed",
        STREAMS,
        "if not self.degraded and not held.carrier and _starts_as_json(held.text, self.get_format):",
        "if True:",
        STREAM_TESTS,
        "bare_json",
    ),
    one(
        "an answer the caller's type rejects is lost to the flow",
        REPLY,
        "            if self.raw:\n                raise\n",
        "            raise\n",
        WRAP_FAULTS,
        "does_not_fit or parse_cannot_take",
    ),
    one(
        "only the SDK's own errors are judged",
        SDK,
        "except Exception as error:  # noqa: BLE001  judged, then raised again unchanged\n"
        "                return guarded.failed(error)\n\n        served = drive(",
        "except RuntimeWarning as error:\n"
        "                return guarded.failed(error)\n\n        served = drive(",
        WRAP_FAULTS,
        "failed_retry",
    ),
    one(
        "modes that only look heal",
        CALL,
        'return self.guard.policy.mode == "guard"',
        "return True",
        WRAP_FAULTS,
        "only_look",
    ),
    one(
        "a stream that says nothing is an answer",
        REPLY,
        "self.response, self.answered = stream.response, False\n        events = stream._iterator"
        "  # noqa: SLF001\n        head: list[Any] = []\n        with closed",
        "self.response = stream.response\n        events = stream._iterator"
        "  # noqa: SLF001\n        head: list[Any] = []\n        with closed",
        STREAM_FAULTS,
        "says_nothing",
    ),
    one(
        "a held text comes back in every choice",
        STREAMS,
        '    put(chunk, "choices", [kept])\n',
        "",
        STREAM_FAULTS,
        "share_their_chunks",
    ),
    one(
        "what came beside a held text is said twice",
        STREAMS,
        "if get(holder, name) is not None:",
        "if False:",
        STREAM_FAULTS,
        "handed_on_once",
    ),
    one(
        "a default that is a format is no format",
        FUNCTION_CALL,
        "return isinstance(default, Mapping | type | JsonSchema | JsonObject)",
        "return False",
        GUARDED_FAULTS,
        "itself_a_format",
    ),
    one(
        "a function's StopIteration is a RuntimeError",
        "structguard/flow/drive.py",
        "        if not (isinstance(stopped, StopIteration) and isinstance(result, Sent)):\n",
        "        if error:\n",
        GUARDED_FAULTS,
        "stop_iteration or stops_iterating",
    ),
    one(
        "guarded believes a provider's word on a request without a format",
        FUNCTION,
        "anew=call is not self.call",
        "anew=False",
        GUARDED_FAULTS,
        "refuses_again",
    ),
    one(
        "guarded tells nobody of a call without a format",
        FUNCTION,
        "return _untouched(call, await function(*args, **kwargs))",
        "return await function(*args, **kwargs)",
        GUARDED_FAULTS,
        "simply_awaited",
    ),
    one(
        "guarded passes None where it could leave out",
        FUNCTION_CALL,
        "{self.guard.format: self._instead()}",
        "{self.guard.format: None}",
        GUARDED,
        "left_out or once_more",
    ),
    one(
        "guarded lets an object yield",
        FUNCTION_CALL,
        '_yields(function) or _yields(getattr(function, "__call__", None))',
        "_yields(function)",
        GUARDED,
        "programmers_mistakes",
    ),
    one(
        "guarded keeps a base URL's secret",
        "structguard/guard.py",
        "named = provider_id(provider)",
        "named = provider",
        GUARDED,
        "no_secret",
    ),
    one(
        "guarded remembers what it cannot see",
        FUNCTION,
        "answered=answers(value))",
        "answered=True)",
        GUARDED,
        "remembered",
    ),
    one(
        "guarded gives the second call the whole time",
        FUNCTION,
        "return effect.call.within(effect.budget).bound",
        "return effect.call.bound",
        GUARDED,
        "timeout",
    ),
    one(
        "a protected provider's sends share no budget",
        DEGRADE,
        "        if not budget.spent:\n            return request\n",
        "        if request:\n            return request\n",
        DEGRADED,
        "share_one_budget",
    ),
    one(
        "a format left out for tools is guarded",
        DEGRADE,
        "if call.leaves_out:",
        "if False:",
        DEGRADED,
        "asks_the_memo_nothing",
    ),
    one(
        "a provider's facts are not asked for",
        "structguard/layers/request_call.py",
        "        if facts_of is not None:\n",
        "        if facts_of is None:\n",
        DEGRADED,
        "always_reasons",
    ),
    one(
        "the operator's own format is one field of one vendor",
        "structguard/refusal/facts.py",
        "return any(_stands(body, path) for path in _FORMATS) if body else False",
        'return "response_format" in body',
        DEGRADED,
        "operators_own",
    ),
    one(
        "what stands beside a format is a format",
        "structguard/refusal/facts.py",
        "return fields is not None and not fields.keys().isdisjoint(last)",
        "return fields is not None",
        DEGRADED,
        "stands_beside",
    ),
    one(
        "a protected provider does not count the first send",
        SERVED,
        "requests = reply.requests + budget.spent",
        "requests = reply.requests",
        DEGRADED,
        "same_provider",
    ),
    one(
        "a retried stream is judged by its first event alone",
        SERVED,
        "if not confirm or is_sign(event):",
        "if True:",
        DEGRADED,
        "opened_again",
    ),
    one(
        "protecting twice protects twice",
        "structguard/guard.py",
        'if getattr(provider, "protected", False):',
        "if False:",
        DEGRADED,
        "twice",
    ),
    one(
        "wrap lets an unusable answer pass",
        REPLY,
        "if self.must_hold_json and source is None:",
        "if False:",
        UNUSABLE,
        "raises or never_gives_none",
    ),
    one(
        "on_unusable refuses a decline and a call",
        REPLIES,
        "    if calls_or_declines(reply, api):\n        return None\n    length",
        "    length",
        UNUSABLE,
        "an_answer_passes",
    ),
    one(
        "thoughts beside a decline become the answer",
        THOUGHTS,
        "if content or any(get(message, name) for name in _SAYS):",
        "if content:",
        THOUGHT_TESTS,
        "stay_thoughts",
    ),
    one(
        "an answer in the thoughts is lost",
        REPLY,
        "if source is None and promote(",
        "if False and promote(",
        THOUGHT_TESTS,
        "becomes_the_content",
    ),
]
