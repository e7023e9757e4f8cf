"""Desired and observed in, actions out: each rule of an ordinary day and of an outage."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import reconcile
from agent.reconcile import Adjust, Drain, Gate, Kill, Observed, Prepare, Remove, Repair, Retry, decide
from vxpu.slices import Slice
from vxpu.states import LeaseState
from vxpu.wire.node import DesiredLease

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
NOW_NS = int(NOW.timestamp()) * reconcile.SECOND_NS
GRACE_NS = 5 * reconcile.SECOND_NS


def wanted(**over: Any) -> DesiredLease:
    values: dict[str, Any] = {
        "lease_id": "lse_a", "token": 3, "version": 1, "wanted": "ready", "device_key": "cpu:x",
        "slice": Slice(memory_mib=512, share_permille=250), "starts_at": NOW, "ends_at": None,
    }  # fmt: skip
    return DesiredLease(**{**values, **over})


RUNNING = Observed(lease_id="lse_a", token=3, version=1, state=LeaseState.READY)


def decided(*desired: DesiredLease | None, observed: tuple[Observed, ...] = (), **over: Any) -> list[reconcile.Action]:
    """`decide` on a quiet day; a lone None means that the server has not spoken."""
    spoken = None if desired == (None,) else {lease.lease_id: lease for lease in desired if lease is not None}
    arguments: dict[str, Any] = {
        "tokens_seen": {}, "ended": {}, "has_authority": True, "now_ns": NOW_NS, "grace_ns": GRACE_NS,
    }  # fmt: skip
    return decide(desired=spoken, observed=observed, **{**arguments, **over})


def test_a_new_lease_is_prepared_and_a_running_one_left_alone() -> None:
    assert decided(wanted()) == [Prepare(wanted())]
    assert decided(wanted(), observed=(RUNNING,)) == []


def test_a_half_made_slice_is_finished() -> None:
    half = replace(RUNNING, state=LeaseState.PREPARING, version=0)
    assert decided(wanted(), observed=(half,)) == [Prepare(wanted())]
    assert decided(wanted(), observed=(half,), has_authority=False) == []


def test_a_new_version_is_applied_and_short_limits_tried_again() -> None:
    assert decided(wanted(version=2), observed=(RUNNING,)) == [Adjust(wanted(version=2))]
    assert decided(wanted(), observed=(replace(RUNNING, limits_short=True),)) == [Retry("lse_a")]


@pytest.mark.parametrize("desired", [[], [wanted(wanted="gone")]])
def test_absent_or_gone_ends_the_slice(desired: list[DesiredLease]) -> None:
    assert decided(*desired, observed=(RUNNING,)) == [Drain("lse_a", "released")]


def test_its_time_ran_out() -> None:
    over = replace(RUNNING, ends_at_ns=NOW_NS - 1)
    assert decided(observed=(over,)) == [Drain("lse_a", "expired")]
    ended = wanted(ends_at=NOW - timedelta(seconds=1))
    assert decided(ended, observed=(over,)) == [Drain("lse_a", "expired")]
    assert decided(wanted(ends_at=NOW), observed=(over,)) == []


def test_a_superseded_token_kills_and_a_lower_one_is_void() -> None:
    assert decided(wanted(token=4), observed=(RUNNING,)) == [Drain("lse_a", "superseded")]
    assert decided(wanted(token=2, version=9), observed=(RUNNING,)) == []
    assert decided(wanted(token=2), tokens_seen={"lse_a": 3}) == []


def test_what_ended_here_does_not_start_again_under_its_token() -> None:
    assert decided(wanted(), ended={"lse_a": 3}) == []
    assert decided(wanted(token=4), ended={"lse_a": 3}, tokens_seen={"lse_a": 3}) == [Prepare(wanted(token=4))]


def test_without_authority_gates_close_and_nothing_is_killed() -> None:
    over = replace(RUNNING, ends_at_ns=NOW_NS - 60 * reconcile.SECOND_NS)
    ended = wanted(ends_at=NOW - timedelta(seconds=60))
    assert decided(ended, observed=(over,), has_authority=False) == [Gate("lse_a", closed=True, suspended=False)]
    assert decided(None, observed=(RUNNING,), has_authority=False) == [Gate("lse_a", closed=True, suspended=False)]
    assert decided(wanted(), has_authority=False) == []


def test_with_authority_again_the_gates_open() -> None:
    closed = replace(RUNNING, gate_closed=True)
    assert decided(wanted(), observed=(closed,)) == [Gate("lse_a", closed=False, suspended=False)]
    assert decided(wanted(), observed=(closed,), has_authority=False) == []


@pytest.mark.parametrize("desired", [[], [wanted(token=4)]])
def test_what_was_given_up_in_a_silence_ends_at_once_behind_its_closed_gate(desired: list[DesiredLease]) -> None:
    closed = replace(RUNNING, gate_closed=True)
    reason = "superseded" if desired else "released"
    assert decided(*desired, observed=(closed,)) == [Drain("lse_a", reason, at_once=True)]
    cut_off = replace(closed, state=LeaseState.DRAINING, draining_ns=None)
    assert decided(*desired, observed=(cut_off,))[:2] == [Kill("lse_a"), Remove("lse_a")]


def test_what_the_server_ends_in_good_order_has_its_grace_after_a_silence_too() -> None:
    closed = replace(RUNNING, gate_closed=True)
    assert decided(wanted(wanted="gone"), observed=(closed,)) == [Drain("lse_a", "released")]


def test_suspend_and_resume() -> None:
    pause = wanted(wanted="suspended")
    assert decided(pause, observed=(RUNNING,)) == [Gate("lse_a", closed=True, suspended=True)]
    paused = replace(RUNNING, state=LeaseState.SUSPENDED, gate_closed=True)
    assert decided(pause, observed=(paused,)) == []
    assert decided(pause, observed=(paused,), has_authority=False) == []
    assert decided(wanted(), observed=(paused,)) == [Gate("lse_a", closed=False, suspended=False)]


def test_dead_namespaces_are_made_again() -> None:
    assert decided(wanted(), observed=(replace(RUNNING, holding=False),)) == [Repair("lse_a")]


def test_a_draining_slice_gets_its_grace_then_dies() -> None:
    draining = replace(RUNNING, state=LeaseState.DRAINING, draining_ns=NOW_NS - 1)
    assert decided(observed=(draining,)) == []
    late = replace(draining, draining_ns=NOW_NS - GRACE_NS)
    assert decided(observed=(late,)) == [Kill("lse_a"), Remove("lse_a")]
    assert decided(observed=(replace(draining, populated=False),)) == [Kill("lse_a"), Remove("lse_a")]


def test_a_server_that_has_not_spoken_ends_nothing() -> None:
    assert decided(None, observed=(replace(RUNNING, ends_at_ns=1),)) == []


observations = st.builds(
    Observed, lease_id=st.sampled_from(["lse_a", "lse_b"]), token=st.integers(1, 4), version=st.integers(0, 3),
    state=st.sampled_from([LeaseState.PREPARING, LeaseState.READY, LeaseState.SUSPENDED, LeaseState.DRAINING]),
    gate_closed=st.booleans(), holding=st.booleans(), draining_ns=st.sampled_from([None, NOW_NS - GRACE_NS, NOW_NS]),
)  # fmt: skip


@given(observations, st.booleans(), st.sampled_from(["absent", "unspoken", "ready", "suspended"]), st.integers(1, 4))
def test_in_an_outage_nothing_that_runs_is_ended_unless_the_server_said_so(
    seen: Observed, has_authority: bool, said: str, token: int
) -> None:
    desired = {"lse_a": wanted(wanted=said, token=token)} if said in {"ready", "suspended"} else {}
    actions = decide(
        desired=None if said == "unspoken" else desired, observed=[seen], tokens_seen={}, ended={},
        has_authority=has_authority, now_ns=NOW_NS, grace_ns=GRACE_NS,
    )  # fmt: skip
    drains = [action for action in actions if isinstance(action, Drain)]
    lease = desired.get(seen.lease_id)
    may_end = said != "unspoken" and (lease is None or lease.token > seen.token)
    assert not drains or may_end
    if not has_authority:
        assert not [action for action in actions if isinstance(action, Prepare)]
        assert not [action for action in actions if isinstance(action, Gate) and not action.closed]
