"""Where a lease stands, a reservation goes: the decision alone, as a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from marketplace.models import ALLOWED, Reservation, ReservationState
from marketplace.services.follow import _ONWARD, where_it_is
from tests.marketplace.factories import HOUR, NOON
from vxpu.market import LeaseView
from vxpu.slices import Period, Slice
from vxpu.states import Isolation, LeaseState

S, L = ReservationState, LeaseState
ONE = UUID(int=1)


def lease(state: LeaseState, **over: Any) -> LeaseView:
    view = LeaseView(
        id=ONE, tenant_id=ONE, owner=ONE, device_id=ONE, node_id=ONE, state=state,
        slice=Slice(memory_mib=1, share_permille=1), period=Period(starts_at=NOON, ends_at=NOON + HOUR), token=1,
        version=1, isolation=Isolation.STRICT, ready_at=None, ended_at=None, end_reason="",
    )  # fmt: skip
    return replace(view, **over)


def booked(state: ReservationState = S.CONFIRMED, **over: Any) -> Reservation:
    return Reservation(state=state, starts_at=NOON, ends_at=NOON + HOUR, **over)


def goes(row: Reservation, view: LeaseView, *, now: datetime = NOON) -> str | None:
    target, reason = where_it_is(row, view, now=now)
    assert (target is None) == (reason == "")
    return None if target is None else str(target)


def test_a_start_that_was_reached_is_activating_and_one_ahead_is_no_news() -> None:
    assert goes(booked(), lease(L.ASSIGNED)) == "activating"
    assert goes(booked(), lease(L.ASSIGNED), now=NOON - timedelta(seconds=1)) is None
    assert goes(booked(S.ACTIVATING), lease(L.PREPARING)) is None


def test_ready_is_active_and_stays_so_through_a_silence() -> None:
    assert goes(booked(S.ACTIVATING), lease(L.READY, ready_at=NOON)) == "active"
    assert goes(booked(S.ACTIVE), lease(L.UNREACHABLE, ready_at=NOON)) == "active"
    assert goes(booked(S.ACTIVE), lease(L.SUSPENDED, ready_at=NOON)) == "suspended"


def test_an_end_that_was_reached_or_asked_for_is_ending() -> None:
    running = lease(L.READY, ready_at=NOON)
    assert goes(booked(S.ACTIVE), running, now=NOON + HOUR) == "ending"
    assert goes(booked(S.ACTIVE), running, now=NOON + HOUR - timedelta(microseconds=1)) == "active"
    assert goes(booked(S.ENDING, released_at=NOON), lease(L.DRAINING, ready_at=NOON)) == "ending"


def test_gone_is_completed_only_as_ordered() -> None:
    in_time = lease(L.GONE, ready_at=NOON, ended_at=NOON + HOUR, end_reason="expired")
    early = replace(in_time, ended_at=NOON + HOUR / 2, end_reason="ended_by_node")
    never = replace(in_time, ready_at=None)
    assert goes(booked(S.ACTIVE), in_time) == "completed"
    assert goes(booked(S.ACTIVE), early) == "failed"
    assert goes(booked(S.ENDING, released_at=NOON), early) == "completed"
    assert goes(booked(S.ACTIVATING), never) == "failed"


def test_lost_moves_on() -> None:
    assert goes(booked(S.ACTIVE), lease(L.LOST, ready_at=NOON, ended_at=NOON)) == "moving"


@pytest.mark.parametrize("target", sorted(_ONWARD))
def test_every_step_on_the_way_is_a_legal_move_and_leads_there(target: ReservationState) -> None:
    for start in _ONWARD[target]:
        state, steps = start, 0
        while state not in {target, S.FAILED}:
            following = _ONWARD[target][state]
            assert following in ALLOWED[state], f"{state} -> {following}"
            state, steps = following, steps + 1
            assert steps < len(ReservationState)
