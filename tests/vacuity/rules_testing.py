"""What the scripted provider, the loopback endpoint and the command line promise."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

_SCRIPT = "tests/testing/test_script.py"
_ENDPOINT = "tests/testing/test_endpoint.py"
_CLI = "tests/cli/test_cli.py"

MUTATIONS: list[Mutation] = [
    Mutation(
        name="testing-a-script-judges-refusals",
        file="structguard/testing/script.py",
        old="                sent=_sent_format(request),\n",
        new="                sent=None,\n",
        tests=(f"{_SCRIPT}::test_a_refusal_is_judged_as_our_providers_judge_it",),
    ),
    Mutation(
        name="testing-a-script-that-ran-out-says-so",
        file="structguard/testing/script.py",
        old="        if number > len(self.outcomes):",
        new="        if False:",
        tests=(f"{_SCRIPT}::test_running_out_says_what_was_asked",),
    ),
    Mutation(
        name="testing-a-broken-stream-is-marked-as-begun",
        file="structguard/testing/script.py",
        old="replace(step, yielded=yielded)",
        new="step",
        tests=(f"{_SCRIPT}::test_a_failure_inside_breaks_the_stream_there",),
    ),
    Mutation(
        name="testing-the-endpoint-refuses-formats-only",
        file="structguard/testing/endpoint.py",
        old="if ask.sent is not None and behaviour.when(ask) else None",
        new="if behaviour.when(ask) else None",
        tests=(f"{_ENDPOINT}::test_without_a_format_the_same_models_answer[refuse404-chat]",),
    ),
    Mutation(
        name="testing-the-endpoint-keeps-no-credentials",
        file="structguard/testing/endpoint.py",
        old=" if k.lower() not in _SECRET}",
        new="}",
        tests=(f"{_ENDPOINT}::test_requests_are_kept_without_credentials",),
    ),
    Mutation(
        name="testing-a-cut-answer-is-cut",
        file="structguard/testing/server.py",
        old="            pieces = _half(pieces)\n",
        new="",
        tests=(f"{_ENDPOINT}::test_a_cut_answer_ends_in_the_middle[False]",),
    ),
    Mutation(
        name="testing-busy-counts-by-model",
        file="structguard/testing/endpoint.py",
        old="self._failed[ask.model] <= self.failures",
        new="self._failed.total() <= self.failures",
        tests=(f"{_ENDPOINT}::test_a_busy_model_is_busy_so_many_times_each",),
    ),
    Mutation(
        name="testing-a-sample-fits-its-schema",
        file="structguard/testing/samples.py",
        old="next((value for value in values if fits(value)), values[0])",
        new="values[0]",
        tests=("tests/testing/test_samples.py",),
    ),
    Mutation(
        name="cli-a-missing-extra-is-wrong-usage",
        file="structguard/cli/__init__.py",
        old="    except MissingExtra as error:",
        new="    except ZeroDivisionError as error:",
        tests=(f"{_CLI}::test_what_a_command_does_becomes_the_exit_code",),
    ),
    Mutation(
        name="cli-only-the-asked-command-is-imported",
        file="structguard/cli/__init__.py",
        old="        if name == chosen:",
        new="        if True:",
        tests=(f"{_CLI}::test_only_the_command_that_is_asked_for_is_imported",),
    ),
    Mutation(
        name="cli-colour-is-for-terminals",
        file="structguard/cli/console.py",
        old="    return out.isatty()",
        new="    return True",
        tests=(f"{_CLI}::test_colour_is_for_terminals_that_want_it",),
    ),
    Mutation(
        name="cli-the-demo-fails-when-a-scene-does",
        file="structguard/cli/demo.py",
        old="    good = all(scene.as_expected for scene in scenes)",
        new="    good = True",
        tests=("tests/cli/test_demo.py::test_what_goes_wrong_is_said_and_is_exit_code_1",),
    ),
]
