"""Who is let in, who is turned away, and for how long."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from structguard.gateway.auth import Auth, Caller, Token, TooManyFailures, Unauthorized
from tests.doubles import ManualClock

SECRET, OTHER = "sg-token-one", "sg-token-two"
PEER = "192.0.2.1"


def make(clock: Callable[[], float] | None = None, *, failures: int = 3, peers: int = 100) -> Auth:
    tokens = [Token.of_secret("one", SECRET), Token.of_secret("two", OTHER)]
    return Auth(tokens, failures=failures, window=60.0, peers=peers, clock=clock or ManualClock())


def fail(auth: Auth, times: int, peer: str = PEER) -> None:
    for _ in range(times):
        with pytest.raises(Unauthorized):
            auth.check("Bearer wrong", peer)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", " Bearer "])
def test_a_known_token_is_let_in_under_its_own_name(scheme: str) -> None:
    auth = make()
    assert auth.check(f"{scheme} {SECRET}", PEER).id == "one"
    assert auth.check(f"{scheme} {OTHER} ", PEER).id == "two"


@pytest.mark.parametrize(
    "header",
    [
        f"Bearer {SECRET[:-1]}",
        f"Bearer {SECRET}x",
        f"Bearer {SECRET.upper()}",
        f"Token {SECRET}",
        SECRET,
        "Bearer",
        "Bearer ",
        "Bearer \ud800",
        f"Bearer {hashlib.sha256(SECRET.encode()).hexdigest()}",
        "Bearer " + "x" * 10_000,
        "Basic " + base64.b64encode(f":{SECRET}".encode()).decode(),
    ],
)
def test_anything_else_is_unauthorized_and_counts(header: str) -> None:
    auth = make(failures=1)
    with pytest.raises(Unauthorized, match="not known") as caught:
        auth.check(header, PEER)
    assert caught.value.challenge == 'Bearer realm="structguard", error="invalid_token"'
    with pytest.raises(TooManyFailures):
        auth.check(header, PEER)


@pytest.mark.parametrize("header", [None, "", "  "])
def test_no_token_is_unauthorized_and_does_not_count(header: str | None) -> None:
    auth = make(failures=1)
    for _ in range(3):
        with pytest.raises(Unauthorized, match="send Authorization: Bearer TOKEN") as caught:
            auth.check(header, PEER)
        assert caught.value.challenge == 'Bearer realm="structguard"'


def test_a_browser_may_send_the_token_as_its_password() -> None:
    auth = make()
    encoded = base64.b64encode(f"anybody:{SECRET}".encode()).decode()
    assert auth.check(f"Basic {encoded}", PEER, basic=True).id == "one"
    assert auth.check(f"Bearer {SECRET}", PEER, basic=True).id == "one"


@pytest.mark.parametrize("wrong", ["!!!", base64.b64encode(b"\xff\xfe:x").decode(), "", "YQ=="])
def test_a_password_that_cannot_be_read_is_unauthorized(wrong: str) -> None:
    with pytest.raises(Unauthorized) as caught:
        make().check(f"Basic {wrong}", PEER, basic=True)
    assert caught.value.challenge == 'Basic realm="structguard", charset="UTF-8"'


def test_too_many_failures_close_a_peer_out_until_the_window_is_over() -> None:
    clock = ManualClock()
    auth = make(clock)
    fail(auth, 2)
    clock.now += 20.0
    fail(auth, 1)
    for header in ("Bearer wrong", f"Bearer {SECRET}", None):
        with pytest.raises(TooManyFailures, match="wait 40 s") as caught:
            auth.check(header, PEER)
        assert caught.value.retry_after == 40
    clock.now += 39.9
    with pytest.raises(TooManyFailures) as caught:
        auth.check(f"Bearer {SECRET}", PEER)
    assert caught.value.retry_after == 1
    clock.now += 0.2
    assert auth.check(f"Bearer {SECRET}", PEER).id == "one"


def test_a_peer_is_closed_out_alone() -> None:
    auth = make()
    fail(auth, 3)
    assert auth.check(f"Bearer {SECRET}", "192.0.2.2").id == "one"


def test_a_token_that_worked_from_a_peer_before_still_works_there() -> None:
    auth = make()
    assert auth.check(f"Bearer {SECRET}", PEER).id == "one"
    fail(auth, 3)
    assert auth.check(f"Bearer {SECRET}", PEER).id == "one"
    with pytest.raises(TooManyFailures):
        auth.check(f"Bearer {OTHER}", PEER)


def test_the_tokens_remembered_as_good_are_few() -> None:
    secrets = [f"token-{number}" for number in range(40)]
    tokens = [Token.of_secret(secret, secret) for secret in secrets]
    auth = Auth(tokens, failures=1, clock=ManualClock())
    for secret in secrets:
        auth.check(f"Bearer {secret}", PEER)
    fail(auth, 1)
    assert auth.check("Bearer token-39", PEER).id == "token-39"
    with pytest.raises(TooManyFailures):
        auth.check("Bearer token-0", PEER)


def test_failures_in_another_window_do_not_add_up() -> None:
    clock = ManualClock()
    auth = make(clock)
    for _ in range(5):
        fail(auth, 2)
        clock.now += 61.0
    assert auth.check(f"Bearer {SECRET}", PEER).id == "one"


def test_an_ipv6_customer_is_one_peer_whatever_the_address() -> None:
    auth = make()
    for last in ("1", "2", "3"):
        fail(auth, 1, f"2001:db8:1:2::{last}")
    with pytest.raises(TooManyFailures):
        auth.check("Bearer wrong", "2001:db8:1:2:ffff::9")
    fail(auth, 1, "2001:db8:1:3::1")


def test_a_mapped_address_is_its_ipv4_peer_and_a_strange_one_is_itself() -> None:
    auth = make()
    fail(auth, 3, "::ffff:192.0.2.1")
    with pytest.raises(TooManyFailures):
        auth.check("Bearer wrong", "192.0.2.1")
    fail(auth, 3, "unix:somewhere")
    fail(auth, 3, "fe80::1%eth0")
    with pytest.raises(TooManyFailures):
        auth.check("Bearer wrong", "fe80::2%eth1")


def test_a_flood_of_peers_takes_bounded_memory_and_the_last_are_remembered() -> None:
    auth = make(peers=50)
    for number in range(1000):
        fail(auth, 3, f"peer-{number}")
    assert repr(auth) == "<Auth 2 tokens, 50 peers>"
    with pytest.raises(TooManyFailures):
        auth.check("Bearer wrong", "peer-999")


def test_every_token_is_compared_whichever_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    compare = hmac.compare_digest

    def noted(given: bytes, known: bytes) -> bool:
        asked.append(known)
        return compare(given, known)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    auth = make()
    for header in (f"Bearer {SECRET}", f"Bearer {OTHER}"):
        asked.clear()
        auth.check(header, PEER)
        assert len(asked) == 2
    asked.clear()
    with pytest.raises(Unauthorized):
        auth.check("Bearer wrong", PEER)
    assert len(asked) == 2


def test_two_tokens_never_share_a_scope_and_one_has_the_same_over_restarts() -> None:
    one, two = (make().check(f"Bearer {secret}", PEER).scope for secret in (SECRET, OTHER))
    assert one != two
    assert one == make().check(f"Bearer {SECRET}", "other").scope


def test_without_tokens_everybody_is_let_in_and_what_is_presented_is_the_scope() -> None:
    auth = Auth([], clock=ManualClock())
    assert auth.open
    assert not make().open
    assert auth.check(None, PEER) == Caller("", "")
    a, b = auth.check("Bearer a", PEER), auth.check("Bearer b", PEER)
    assert a.id == b.id == ""
    assert len({a.scope, b.scope, ""}) == 3
    assert a == auth.check("Bearer a", PEER)


def test_no_secret_and_no_digest_of_one_is_ever_shown() -> None:
    token = Token.of_secret("one", SECRET)
    caller = make().check(f"Bearer {SECRET}", PEER)
    shown = repr(token) + repr(caller) + repr(make()) + str(make())
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    for secret in (SECRET, digest, caller.scope):
        assert secret not in shown
    assert digest[:32] != caller.scope
    with pytest.raises(Unauthorized) as caught:
        make().check("Bearer sg-wrong-secret", PEER)
    assert "sg-wrong-secret" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("wrong", ["", "secret", "A" * 64, "g" * 64, "a" * 63, "a" * 65])
def test_a_hash_that_is_none_is_refused_without_being_shown(wrong: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case hex digits") as caught:
        Token("one", wrong)
    assert not wrong or wrong not in str(caught.value)


@pytest.mark.parametrize("wrong", ["", "a b", "a\n", "\t"])
def test_a_secret_that_no_header_can_carry_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="without white space"):
        Token.of_secret("one", wrong)


@pytest.mark.parametrize(("failures", "window", "peers"), [(0, 1.0, 1), (1, 0.0, 1), (1, 1.0, 0)])
def test_limits_must_be_positive(failures: int, window: float, peers: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Auth([], failures=failures, window=window, peers=peers)


@given(st.text(st.characters()), st.text(st.characters()), st.booleans())
def test_no_header_and_no_peer_raises_anything_else(header: str, peer: str, basic: bool) -> None:  # noqa: FBT001
    auth = make(failures=2)
    for prefix in ("", "Bearer ", "Basic "):
        with pytest.raises((Unauthorized, TooManyFailures)):
            auth.check(prefix + header, peer, basic=basic)
