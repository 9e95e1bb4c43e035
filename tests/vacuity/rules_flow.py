"""The rows of the flow table (spec guard §2), each broken on purpose."""

from __future__ import annotations

from tests.vacuity.mutation import Mutation

FLOW = "structguard/flow/algorithm.py"
TESTS = ("tests/flow/test_flow.py",)


def flow(name: str, old: str, new: str) -> Mutation:
    return Mutation(name, FLOW, old, new, TESTS)


MUTATIONS = [
    flow("a call without a format is guarded all the same", "if not call.guardable:", "if False:"),
    flow(
        "the memo is not asked",
        "    entry = view.look(call)\n    if entry is None:",
        "    entry = None\n    if entry is None:",
    ),
    flow(
        "an expired entry is not tried again",
        "if view.due(entry) and (yield Lease(entry)):",
        "if False:",
    ),
    flow(
        "an expired entry is tried without a lease",
        "if view.due(entry) and (yield Lease(entry)):",
        "if view.due(entry):",
    ),
    flow(
        "an entry that does not hold any more is kept",
        "                yield Forget(expired)\n                self.notify(FormatRecovered",
        "                self.notify(FormatRecovered",
    ),
    flow(
        "the detector is never believed", "        if sent.refusal is None:\n", "        if True:\n"
    ),
    flow(
        "a second send without time for it",
        "if sent.left is not None and sent.left < self.policy.retry_floor:",
        "if False:",
    ),
    flow(
        "the second send gets the whole time again",
        "self.send(degraded, sent.left, confirm=True)",
        "self.send(degraded, None, confirm=True)",
    ),
    flow("a pause is not kept", "if self.view.paused(self.call):", "if False:"),
    flow(
        "a retry that met the same refusal pauses nothing",
        "                self.view.pause(self.call.key)\n",
        "                pass\n",
    ),
    flow(
        "any failed retry pauses",
        "if retried.refusal is not None and retried.refusal.rule == refusal.rule:",
        "if True:",
    ),
    flow(
        "the second send keeps the format",
        "            degraded = self.call.degraded()\n",
        "            degraded = self.call\n",
    ),
    flow(
        "remembered before the retry",
        "        retried = yield",
        "        yield from self.remember(refusal, sent.status, expired)\n        retried = yield",
    ),
    flow("an empty retry is remembered", "        if retried.answered:\n", "        if True:\n"),
    flow(
        "the first error is lost",
        "raise failure from error",
        "raise failure",
    ),
    flow(
        "a server error is believed at once",
        "if status not in DEFAULT_STATUSES and not self.view.rescued_before(self.call.key):",
        "if False:",
    ),
    flow(
        "a warning for every writer",
        "        elif new:\n",
        "        else:\n",
    ),
    flow(
        "require_enforced degrades",
        'if policy.mode != "guard" or policy.require_enforced:',
        'if policy.mode != "guard":',
    ),
    flow(
        "modes off and observe guard",
        'if policy.mode != "guard" or policy.require_enforced:',
        "if policy.require_enforced:",
    ),
    flow("a skip is not told", "    notify(entry.skipped)\n", ""),
    flow("spared requests are not counted", "    view.note_saved(entry)\n", ""),
    flow(
        "an ignored format leaves the prompt as it is",
        "                return self.call.prompted()\n",
        "                return self.call\n",
    ),
    flow(
        "prose is counted without being asked to",
        "if self.policy.ignored_after and sent.prose is not None:",
        "if sent.prose is not None:",
    ),
    flow(
        "json does not break the row of prose",
        "            self.view.reset_prose(self.call.key)\n",
        "",
    ),
    Mutation(
        "a failed call stays in memory until the collector comes by",
        "structguard/flow/drive.py",
        "for function in (guarded_flow, _step)}",
        "for function in (guarded_flow,)}",
        ("tests/flow/test_drive.py", "-k", "let_go"),
    ),
]
