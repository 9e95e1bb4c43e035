"""A reference model of one partition, written another way than the machine: a log of what happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from structguard.options import BreakerOptions


@dataclass
class Log:
    """One link's history: times of counted failures and of arming since a success."""

    options: BreakerOptions
    failures: list[float] = field(default_factory=list[float])
    armings: list[float] = field(default_factory=list[float])
    ever_armed: int = 0

    def cooldown(self) -> tuple[float, float]:
        """When the last cooldown began and ends."""
        if not self.armings:
            return (0.0, 0.0)
        ladder = self.options.cooldowns
        began = self.armings[-1]
        return (began, began + ladder[min(len(self.armings), len(ladder)) - 1])

    def stale(self, now: float) -> bool:
        return bool(self.failures) and now - self.failures[-1] > self.options.window

    def mode(self, now: float) -> str:
        if not self.armings:
            return "closed"
        if now < self.cooldown()[1]:
            return "cooling"
        return "closed" if self.stale(now) else "half-open"


@dataclass
class Call:
    """A call under way, as the model sees it."""

    link: int
    armed_before: int
    probe: bool
    moves_before: int


class Model:
    """What the chain's table says, read literally, over the logs."""

    def __init__(self, size: int, options: BreakerOptions) -> None:
        self.size = size
        self.options = options
        self.logs = [Log(options) for _ in range(size)]
        self.override = 0
        self.moves = 0
        self.primary_answered: float | None = None
        self.probes: set[int] = set()

    def closed_to(self, link: int, now: float) -> bool:
        """Whether a link is not to be asked now: it cools, or somebody else probes it."""
        mode = self.logs[link].mode(now)
        probed = link in self.probes and (mode == "half-open" or (link == 0 and self.override > 0))
        return mode == "cooling" or probed

    def wanted(self, now: float) -> list[int]:
        """All links in the order in which a call would like to ask them."""
        if self.override == 0:
            return list(range(self.size))
        others = [*range(self.override, self.size), *range(1, self.override)]
        waited = self.primary_answered is None or (
            now - self.primary_answered >= self.options.probe_interval
        )
        return [0, *others] if waited else [*others, 0]

    def next(self, now: float, tried: set[int]) -> int | None:
        """The link a call asks next; None when it has none left."""
        for link in self.wanted(now):
            if link not in tried and not self.closed_to(link, now):
                return link
        if not all(self.closed_to(link, now) for link in range(self.size)):
            return None
        left = set(range(self.size)) - tried
        if not left:
            return None
        return min(left, key=lambda i: (i in self.probes, self.logs[i].cooldown()[0], i))

    def starts(self, link: int, now: float) -> Call:
        log = self.logs[link]
        mode = log.mode(now)
        probes = mode == "half-open" or (mode == "closed" and link == 0 and self.override > 0)
        probe = probes and link not in self.probes
        if probe:
            self.probes.add(link)
        return Call(link, log.ever_armed, probe, self.moves)

    def ends(self, call: Call, now: float | None) -> None:
        """A call is over; `now` if its link answered with anything but success."""
        if call.probe:
            self.probes.discard(call.link)
        if now is not None and call.link == 0:
            self.primary_answered = now

    def served(self, call: Call, *, whole: bool = True) -> None:
        """A reply, or with `whole` False a stream's first event."""
        self.ends(call, None)
        call.probe = False
        log = self.logs[call.link]
        if log.ever_armed != call.armed_before:
            return
        head_failed = bool(self.logs[self.override].failures)
        was = self.override
        if call.link == 0:
            self.override = 0
        elif head_failed and call.moves_before == self.moves:
            self.override = call.link
        self.moves += self.override != was
        log.armings.clear()
        if whole:
            self.finished(call)

    def finished(self, call: Call) -> None:
        """A stream came to its end."""
        log = self.logs[call.link]
        if log.ever_armed == call.armed_before:
            log.failures.clear()

    def failed(self, call: Call, now: float, *, at_once: bool) -> None:
        self.ends(call, now)
        log = self.logs[call.link]
        if log.ever_armed != call.armed_before:
            return
        if log.stale(now):
            log.failures.clear()
            log.armings.clear()
        log.failures.append(now)
        if at_once or log.armings or len(log.failures) >= self.options.threshold:
            log.armings.append(now)
            log.ever_armed += 1
