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
    """Returned by a describing function instead of messages: there is nothing to ask, and why."""

    reason: str


@dataclass(frozen=True, kw_only=True)  # no slots: Outcome[Answer](…) must work at run time
class Outcome(Generic[T, D]):
    """
    A sub-call's result.

    `value` is the checked value when `status` is ok, else the `otherwise` of the sub-call. `status`:
    none = the model said there is nothing (or nothing of its answer could be kept), skipped = not
    asked, aborted = a newer call of the session took its place, timeout, failed. `reason` says why
    in one line. `source` and `enforced` are the reply's, `requests` counts HTTP requests (0 where a
    call was cut off and they are not known), `elapsed` is in seconds, `rejected` lists the parts of
    the answer that were not taken, with reasons. `error` is what went wrong, if something did.
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
        The value.

        Raises:
            SubcallFailed: any status but ok; its cause is the error, if there was one.
        """
        if self.status != "ok":
            raise SubcallFailed(cast("Outcome[object, object]", self)) from self.error
        return cast("T", self.value)


class SubcallFailed(StructguardError):
    """`Outcome.require()` found no value; `outcome` tells the rest."""

    def __init__(self, outcome: Outcome[object, object]) -> None:
        super().__init__(f"the sub-call gave no value ({outcome.status}): {outcome.reason}")
        self.outcome = outcome

    def __reduce__(
        self,
    ) -> tuple[Callable[[Outcome[object, object]], SubcallFailed], tuple[Outcome[object, object]]]:
        return type(self), (self.outcome,)
