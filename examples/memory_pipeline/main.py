"""Retrieve, rewrite, answer, link, vote, distill: a memory over an endpoint that refuses formats."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
from pretend import model

import structguard as sg
from structguard import memory
from structguard.events import Event, LinkAway, RefusalRemembered
from structguard.testing import RefusingEndpoint

TURNS = (
    "I want to plan a trip to Lisbon.",
    "When is it warm there?",
    "And how do I get there by train?",
    "What does that cost?",
    "Is it cheaper in May?",
    "What should I pack for it?",
    "Can I do without a suitcase then?",
    "How long does it take to book that?",
)
FACTS = (
    "The user likes trains more than planes.",
    "The user lives in Porto.",
    "A trip to Lisbon is best in May.",
    "The user travels light, a suitcase is a burden.",
)


@dataclass
class Report:
    """What happened over all turns."""

    outcomes: list[tuple[str, sg.Outcome[object, object]]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    asked: tuple[int, int] = (0, 0)  # requests to the endpoint, to the fallback

    @property
    def statuses(self) -> Counter[str]:
        """How many sub-calls ended how."""
        return Counter(outcome.status for _, outcome in self.outcomes)

    @property
    def warnings(self) -> int:
        """Refusals that were remembered: one warning each."""
        return sum(isinstance(event, RefusalRemembered) for event in self.events)

    @property
    def switches(self) -> int:
        """How often the chain left its primary."""
        return sum(isinstance(event, LinkAway) for event in self.events)


class Pipeline:
    """A conversation with a memory. All calls go through one chain; sub-calls in own partitions."""

    def __init__(self, chain: sg.FallbackChain, report: Report, session: str = "demo") -> None:
        self.chain = chain
        self.session = session
        self.report = report
        self.history: list[str] = []
        self.facts = [memory.Memory(number, text) for number, text in enumerate(FACTS, start=1)]
        watch = report.events.append
        self.rewrite = memory.rewriter(observer=watch)
        self.link = memory.link_generator(observer=watch)
        self.vote = memory.vote_runner(observer=watch)
        self.distill = memory.distiller(observer=watch)

    async def turn(self, message: str) -> str:
        """One turn: the reply to a message."""
        rewritten = await self.rewrite(self.chain, self.history, message, session=self.session)
        self._note("rewriter", rewritten)
        found = self.retrieve(rewritten.value or message)
        told = "\n".join(fact.text for fact in found)
        request = sg.Request(
            messages=[
                {"role": "system", "content": f"You know:\n{told}"},
                {"role": "user", "content": rewritten.value or message},
            ]
        )
        reply = (await self.chain.complete(request, partition=self.session)).text
        self._note("links", await self.link(self.chain, found, session=self.session))
        surfaced = [memory.Surfaced("fact", int(fact.id), fact.text) for fact in found]
        votes = await self.vote(self.chain, surfaced, message, reply, session=self.session)
        self._note("votes", votes)
        self.history += [f"user: {message}", f"assistant: {reply}"]
        return reply

    async def close(self) -> sg.Outcome[memory.Lesson]:
        """What the conversation taught."""
        episodes = [memory.Episode(line, ("travel",)) for line in self.history[::2]]
        lesson = await self.distill(self.chain, episodes, session=self.session)
        self._note("distiller", lesson)
        return lesson

    def retrieve(self, query: str) -> Sequence[memory.Memory]:
        """The two facts that share the most words with a query."""
        words = set(query.lower().split())
        return sorted(self.facts, key=lambda m: -len(words & set(m.text.lower().split())))[:2]

    def _note(self, name: str, outcome: sg.Outcome[object, object]) -> None:
        self.report.outcomes.append((name, outcome))


async def run(*, guarded: bool = True) -> Report:
    """All turns over a real endpoint that refuses formats; a fallback stands by."""
    report = Report()
    watch = report.events.append
    guard = sg.Guard(memo="memory:", observer=watch) if guarded else None
    with RefusingEndpoint("refuse404", answer=model) as cloud, RefusingEndpoint("enforce") as local:
        links = [
            sg.Link(sg.OpenAICompat(cloud.base_url, id="cloud", observer=watch), "vendor/model")
        ]
        if guarded:  # --bare shows the endpoint alone: its refusals are final
            links.append(
                sg.Link(sg.OpenAICompat(local.base_url, id="local", observer=watch), "small")
            )
        chain = sg.FallbackChain(links, guard=guard, observer=watch)
        pipeline = Pipeline(chain, report)
        for message in TURNS:
            await pipeline.turn(message)
        await pipeline.close()
        await chain.aclose()
        report.asked = (cloud.count(), local.count())
    return report


def show(report: Report) -> None:
    """Print every outcome, then the sum."""
    for name, outcome in report.outcomes:
        how = f"{outcome.source or '-'}, enforced={outcome.enforced}, {outcome.requests} requests"
        print(f"{name:10} {outcome.status:8} {how:42} {outcome.value or outcome.reason}"[:150])
    print(f"\noutcomes {dict(report.statuses)}, requests {report.asked[0]} to the endpoint and"
          f" {report.asked[1]} to the fallback; {report.switches} provider switches,"
          f" {report.warnings} warning(s)")  # fmt: skip


async def main() -> None:
    """Run, guarded unless --bare is given."""
    show(await run(guarded="--bare" not in sys.argv))


if __name__ == "__main__":
    anyio.run(main)
