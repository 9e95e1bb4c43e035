"""Every row of the flow table, played without I/O (spec guard §2)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from structguard.events import (
    FormatIgnored,
    FormatRecovered,
    RefusalObserved,
    RefusalRemembered,
    RefusalRenewed,
    RefusalSkipped,
    RefusalUnhandled,
)
from structguard.flow import Remember, Sent
from structguard.memo import open_memo
from structguard.options import Policy
from structguard.types import MemoKey, Place, Refusal, Scope
from tests.flow.play import REFUSAL, FakeCall, Player, Refused, answered, failed, refused


class Wall:
    """A wall clock that a test can move."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_call_without_a_format_is_sent_once_untouched() -> None:
    player = Player()
    served = player.play([answered()], FakeCall(guardable=False))
    assert player.forms == ["with format"]
    assert (served.enforced, served.requests) == (None, 1)
    assert player.events == []


def test_an_accepted_format_is_one_send_and_enforced() -> None:
    player = Player()
    served = player.play([answered('{"a":1}')])
    assert (served.value, served.enforced, served.requests) == ('{"a":1}', True, 1)
    assert player.memo.entries() == []


def test_an_error_that_is_no_refusal_comes_out_untouched_after_one_send() -> None:
    player, error = Player(), ValueError("context length")
    with pytest.raises(ValueError, match="context length") as caught:
        player.play([failed(error)])
    assert caught.value is error
    assert caught.value.__cause__ is None
    assert len(player.sends) == 1


def test_a_refusal_is_sent_once_more_without_the_format_and_remembered() -> None:
    player = Player()
    served = player.play([refused(), answered("prose")])
    assert player.forms == ["with format", "without format"]
    assert (served.value, served.enforced, served.requests) == ("prose", False, 2)
    assert served.refusal == REFUSAL
    assert [type(event) for event in player.events] == [RefusalRemembered]
    assert [entry.evidence for entry in player.memo.entries()] == [REFUSAL.evidence]


def test_it_is_remembered_only_after_the_second_send_was_answered() -> None:
    player = Player()
    player.play([refused(), answered()])
    kinds = [type(effect).__name__ for effect in player.effects]
    assert kinds == ["Send", "Send", "Remember"]
    assert player.sends[1].confirm


def test_a_remembered_refusal_costs_one_send_and_tells_a_skip() -> None:
    player = Player()
    player.play([refused(), answered()])
    player.effects.clear()
    served = player.play([answered()])
    assert player.forms == ["without format"]
    assert (served.enforced, served.requests, served.refusal) == (False, 1, REFUSAL)
    assert isinstance(player.events[-1], RefusalSkipped)
    assert player.memo.entries()[0].saved == 1


def test_a_failed_retry_raises_its_own_error_from_the_first_and_remembers_nothing() -> None:
    player, second = Player(), RuntimeError("down")
    with pytest.raises(RuntimeError, match="down") as caught:
        player.play([refused(), failed(second)])
    assert caught.value is second
    assert isinstance(caught.value.__cause__, Refused)
    assert player.memo.entries() == []
    assert [(type(e), e.reason) for e in player.events if isinstance(e, RefusalUnhandled)] == [
        (RefusalUnhandled, "retry_failed")
    ]


def test_a_retry_that_came_back_empty_is_returned_and_not_remembered() -> None:
    player = Player()
    served = player.play([refused(), answered("", answer=False)])
    assert (served.value, served.enforced, served.requests) == ("", False, 2)
    assert player.memo.entries() == []
    assert not [effect for effect in player.effects if isinstance(effect, Remember)]


def test_a_retry_that_meets_the_same_refusal_pauses_the_second_send() -> None:
    player = Player()
    with pytest.raises(Refused):
        player.play([refused(), refused()])
    with pytest.raises(Refused):
        player.play([refused()])
    assert player.forms == ["with format", "without format", "with format"]
    assert player.memo.entries() == []
    assert player.events[-1].reason == "retry_paused"  # type: ignore[union-attr]


def test_a_retry_that_fails_otherwise_pauses_nothing() -> None:
    player = Player()
    with pytest.raises(RuntimeError):
        player.play([refused(), failed(RuntimeError())])
    served = player.play([refused(), answered()])
    assert served.requests == 2


@pytest.mark.parametrize(("left", "sends"), [(0.24, 1), (-1.0, 1), (0.26, 2), (None, 2)])
def test_no_second_send_when_less_time_is_left_than_the_floor(
    left: float | None, sends: int
) -> None:
    player = Player()
    if sends == 1:
        with pytest.raises(Refused):
            player.play([refused(left=left)])
        assert player.memo.entries() == []
        assert player.events[-1].reason == "no_time"  # type: ignore[union-attr]
    else:
        player.play([refused(left=left), answered()])
        assert player.sends[1].budget == left
    assert len(player.sends) == sends


def test_require_enforced_raises_the_refusal_and_ignores_the_memo() -> None:
    memo = Player()
    memo.play([refused(), answered()])
    player = Player(memo=memo.memo, policy=Policy(require_enforced=True))
    with pytest.raises(Refused):
        player.play([refused()])
    assert player.forms == ["with format"]
    assert player.events[-1].reason == "require_enforced"  # type: ignore[union-attr]
    assert player.play([answered()]).enforced is True


def test_mode_off_sends_once_and_says_nothing() -> None:
    player = Player(policy=Policy(mode="off"))
    with pytest.raises(Refused):
        player.play([refused()])
    assert (player.forms, player.events) == (["with format"], [])


def test_observe_reports_what_it_would_have_done() -> None:
    player = Player()
    player.play([refused(), answered()])
    watching = Player(memo=player.memo, policy=Policy(mode="observe"))
    with pytest.raises(Refused):
        watching.play([refused()])
    fresh = Player(policy=Policy(mode="observe"))
    with pytest.raises(Refused):
        fresh.play([refused()])
    told = [e.would for e in watching.events + fresh.events if isinstance(e, RefusalObserved)]
    assert told == ["skip", "retry"]
    assert watching.forms == fresh.forms == ["with format"]
    assert fresh.memo.entries() == []


def test_a_schema_refusal_is_remembered_for_that_schema_only_and_advises() -> None:
    player = Player()
    refusal = Refusal(Scope.SCHEMA, "keyword", "json_schema", "minItems is not supported")
    player.play([refused(refusal), answered()])
    remembered = player.events[-1]
    assert isinstance(remembered, RefusalRemembered)
    assert remembered.advice == "set additionalProperties to false"
    other = FakeCall(MemoKey(provider="p", model="m", base_url="p", schema="d2"))
    assert player.play([answered()], other).enforced is True
    assert player.play([answered()]).enforced is False


def test_a_combination_is_remembered_with_its_flag() -> None:
    player = Player()
    key = MemoKey(provider="p", model="m", base_url="p", schema="d1", flags=frozenset({"tools"}))
    refusal = Refusal(Scope.COMBINATION, "pair", "json_mode", "not with tools", flag="tools")
    player.play([refused(refusal), answered()], FakeCall(key))
    assert player.play([answered()]).enforced is True
    assert player.play([answered()], FakeCall(key)).enforced is False


def test_an_unnamed_refusal_expires_after_five_minutes() -> None:
    player = Player()
    refusal = Refusal(Scope.UNNAMED, "unnamed", "", "")
    player.play([refused(refusal), answered()])
    (event,) = player.events
    assert isinstance(event, RefusalRemembered)
    assert event.expires_in is not None
    assert 270.0 <= event.expires_in <= 330.0


def test_a_server_error_is_remembered_from_the_second_rescue_on() -> None:
    player = Player(policy=Policy(also_statuses=frozenset({500})))
    player.play([refused(status=500), answered()])
    assert player.memo.entries() == []
    player.play([refused(status=500), answered()])
    assert len(player.memo.entries()) == 1


def expired(policy: Policy | None = None) -> tuple[Player, Wall]:
    wall = Wall()
    player = Player(memo=open_memo("memory:", wall=wall), policy=policy or Policy())
    player.play([refused(), answered()])
    wall.now += 200_000.0
    player.effects.clear()
    player.events.clear()
    return player, wall


def test_after_expiry_one_caller_asks_again_and_acceptance_clears_the_entry() -> None:
    player, _ = expired()
    served = player.play([answered()])
    assert (player.forms, served.enforced) == (["with format"], True)
    assert player.memo.entries() == []
    assert [type(event) for event in player.events] == [FormatRecovered]


def test_after_expiry_a_refusal_renews_the_entry_without_a_warning() -> None:
    player, wall = expired()
    served = player.play([refused(), answered()])
    assert (served.enforced, served.requests) == (False, 2)
    assert [type(event) for event in player.events] == [RefusalRenewed]
    (entry,) = player.memo.entries()
    assert entry.confirmed == wall.now


def test_an_expired_entry_refused_for_another_reason_makes_way_for_the_new_one() -> None:
    player, _ = expired()
    schema = Refusal(Scope.SCHEMA, "schema_keyword", "json_schema", "minItems is not supported")
    player.play([refused(schema), answered()])
    assert [entry.scope for entry in player.memo.entries()] == [Scope.SCHEMA]


def test_while_one_holds_the_lease_the_others_stay_degraded() -> None:
    player, _ = expired()
    (entry,) = player.memo.entries()
    assert player.memo.lease(entry, 30.0)
    served = player.play([answered()])
    assert (player.forms, served.enforced) == (["without format"], False)


def test_an_entry_that_never_expires_is_never_tried_again() -> None:
    player, _ = expired(Policy(expiry=None))
    assert player.play([answered()]).enforced is False


def test_prose_in_a_row_marks_the_format_ignored_and_puts_the_schema_in_the_prompt() -> None:
    player = Player(policy=Policy(ignored_after=2))
    player.play([answered("prose", prose=True)])
    player.play([answered("prose", prose=True)])
    assert [event for event in player.events if isinstance(event, FormatIgnored)]
    player.play([answered('{"a":1}', prose=False)])
    assert player.forms == ["with format", "with format", "with format and prompt"]


def test_json_in_between_breaks_the_row_and_what_cannot_be_told_does_not_count() -> None:
    player = Player(policy=Policy(ignored_after=2))
    for prose in (True, False, True, None):
        player.play([answered(prose=prose)])
    assert player.memo.entries() == []


def test_prose_is_not_counted_by_default() -> None:
    player = Player()
    for _ in range(5):
        player.play([answered("prose", prose=True)])
    assert player.memo.entries() == []


def test_an_ignored_format_is_tried_plainly_after_its_hour_and_cleared_by_json() -> None:
    wall = Wall()
    policy = Policy(ignored_after=1)
    player = Player(memo=open_memo("memory:", wall=wall), policy=policy)
    player.play([answered("prose", prose=True)])
    wall.now += 7200.0
    player.effects.clear()
    player.play([answered("{}", prose=False)])
    assert player.forms == ["with format"]
    assert player.memo.entries() == []


def test_a_call_that_the_memo_knows_nothing_of_never_computes_its_key() -> None:
    class Costly(FakeCall):
        @property
        def key(self) -> MemoKey:
            raise AssertionError("the key was computed")

        @property
        def place(self) -> Place:
            raise AssertionError("the place was computed")

        @property
        def pair(self) -> tuple[str, str]:
            return ("other", "model")

    object.__setattr__(call := Costly.__new__(Costly), "form", "with format")
    object.__setattr__(call, "guardable", True)
    player = Player()
    player.play([refused(), answered()])
    assert player.play([answered()], call).enforced is True


def test_two_first_calls_share_one_entry_and_one_warning() -> None:
    first = Player()
    second = Player(memo=first.memo)

    def meanwhile() -> Sent[str]:
        second.play([refused(), answered()])
        return answered()

    assert first.play([refused(), meanwhile]).requests == 2
    told = [e for e in first.events + second.events if isinstance(e, RefusalRemembered)]
    assert len(told) == len(first.memo.entries()) == 1


@dataclass(frozen=True)
class Unreadable(FakeCall):
    """A call whose schema cannot be read once the prompt is to say it."""

    def degraded(self) -> FakeCall:
        raise ValueError("a broken schema")


def test_a_schema_that_cannot_be_read_is_the_callers_error_and_the_refusal_its_cause() -> None:
    player = Player()
    with pytest.raises(ValueError, match="a broken schema") as caught:
        player.play([refused()], Unreadable())
    assert isinstance(caught.value.__cause__, Refused)
    assert player.memo.entries() == []


def test_one_error_raised_twice_is_not_its_own_cause() -> None:
    again = refused()
    with pytest.raises(Refused) as caught:
        Player().play([again, again])
    assert caught.value.__cause__ is None
