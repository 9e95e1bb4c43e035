"""What a sub-call gives back, and what a describing function says when there is nothing to ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeAlias, cast

from typing_extensions import TypeVar

from structguard.errors import StructguardError
from structguard.reading import Source

T = TypeVar("T")
D = TypeVar("D", default=None)

Status: TypeAlias = Literal["ok", "none", "skipped", "aborted", "timeout", "failed"]


@dataclass(frozen=True, slots=True)
class Skip:
    """Returned instead of messages by the function of a sub-call: there is nothing to ask."""

    reason: str


@dataclass(frozen=True, kw_only=True)  # no slots: Outcome[Answer](…) must work at run time
class Outcome(Generic[T, D]):
    """
    The result of a sub-call.

    `value` is the checked value if `status` is ok, otherwise the sub-call's `otherwise`. The other
    statuses are: none (the model said that there is nothing, or no part of its answer could be
    used), skipped (not asked), aborted (a newer call of the session replaced it), timeout and
    failed. `reason` explains the status in one line. `source` and `enforced` are those of the reply.
    `requests` counts HTTP requests (0 if the call was interrupted and the number is unknown),
    `elapsed` is in seconds, `rejected` lists the parts of the answer that were not used, with
    reasons, and `error` is the exception, if there was one.
    """

    value: T | D
    status: Status
    reason: str = ""
    source: Source | None = None
    enforced: bool | None = None
    requests: int = 0
    elapsed: float = 0.0
    rejected: tuple[object, ...] = ()
    error: Exception | None = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.status == "ok"

    def require(self) -> T:
        """
        Return the value.

        Raises:
            SubcallFailed: The status is not ok; the error, if there was one, is its cause.
        """
        if self.status != "ok":
            raise SubcallFailed(cast("Outcome[object, object]", self)) from self.error
        return cast("T", self.value)


class SubcallFailed(StructguardError):
    """`Outcome.require()` had no value to return; `outcome` holds the rest."""

    def __init__(self, outcome: Outcome[object, object]) -> None:
        super().__init__(f"the sub-call gave no value ({outcome.status}): {outcome.reason}")
        self.outcome = outcome

    def __reduce__(
        self,
    ) -> tuple[Callable[[Outcome[object, object]], SubcallFailed], tuple[Outcome[object, object]]]:
        return type(self), (self.outcome,)
