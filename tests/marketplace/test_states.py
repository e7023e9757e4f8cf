"""Reservation states: the code's table and the database's trigger are one, and each transition is one row."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.utils import InternalError

from marketplace.errors import ReservationChanged, WrongState
from marketplace.migrations import __name__ as migrations_name
from marketplace.models import ALLOWED, ENDED, FIRST_STATES, Reservation, ReservationEvent, ReservationState
from marketplace.services._transition import move
from tests.marketplace.factories import NOON, buy, fresh, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")
S = ReservationState


@pytest.fixture
def row() -> Reservation:
    make_price()
    Node(now=NOON)
    return buy(make_buyer())


def test_the_database_allows_exactly_what_the_code_allows() -> None:
    from importlib import import_module

    folder = Path(str(import_module(migrations_name).__file__)).parent
    modules = [import_module(f"{migrations_name}.{path.stem}") for path in sorted(folder.glob("0*.py"))]
    newest = [module.MOVES for module in modules if hasattr(module, "MOVES")][-1]
    assert set(newest) == {f"{state}>{to}" for state, nexts in ALLOWED.items() for to in nexts}


def test_every_state_is_reachable_and_some_are_ends() -> None:
    reached, grows = set(FIRST_STATES), True
    while grows:
        more = reached | {to for state in reached for to in ALLOWED[state]}
        grows, reached = more != reached, more
    assert reached == set(ReservationState)
    assert {str(state) for state in ENDED} == {"completed", "expired", "rejected", "cancelled", "no_show", "failed"}


def test_a_move_is_noted_with_actor_and_reason(row: Reservation) -> None:
    move(row, S.ACTIVATING, actor="user:ada", reason="why not", now=NOON)
    booked, moved = ReservationEvent.objects.filter(reservation=row).order_by("version")
    assert (booked.from_state, booked.to_state, booked.reason) == ("", "confirmed", "booked")
    assert (moved.from_state, moved.to_state, moved.actor, moved.reason) == (
        "confirmed", "activating", "user:ada", "why not",
    )  # fmt: skip


def test_an_illegal_move_is_refused_by_code_and_database(row: Reservation) -> None:
    with pytest.raises(WrongState):
        move(row, S.COMPLETED, actor="x", reason="x", now=NOON)
    with pytest.raises(IntegrityError, match="does not move"), transaction.atomic():
        Reservation.objects.filter(pk=row.pk).update(state=S.COMPLETED, version=2)
    assert fresh(row).state == S.CONFIRMED


def test_a_move_without_its_version_is_refused(row: Reservation) -> None:
    with pytest.raises(IntegrityError, match="version"), transaction.atomic():
        Reservation.objects.filter(pk=row.pk).update(state=S.ACTIVATING)
    with pytest.raises(IntegrityError, match="version"), transaction.atomic():
        Reservation.objects.filter(pk=row.pk).update(version=7)


def test_who_saw_an_old_version_changes_nothing(row: Reservation) -> None:
    stale = fresh(row)
    move(row, S.ACTIVATING, actor="a", reason="first", now=NOON)
    with pytest.raises(ReservationChanged):
        move(stale, S.CANCELLED, actor="b", reason="second", now=NOON)
    assert fresh(row).state == S.ACTIVATING


def test_the_log_of_transitions_is_append_only(row: Reservation) -> None:
    for statement in (
        "UPDATE marketplace_reservation_event SET reason = 'x'",
        "DELETE FROM marketplace_reservation_event",
    ):
        with pytest.raises((IntegrityError, InternalError)), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.parametrize("state", sorted(set(ReservationState) - FIRST_STATES))
def test_a_reservation_does_not_begin_in_the_middle(row: Reservation, state: str) -> None:
    row.pk, row.lease_id, row.state, row._state.adding = None, None, state, True
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_what_takes_capacity_has_a_lease_and_a_price(row: Reservation) -> None:
    for column in ("lease_id", "device_id", "price_id", "unit_price"):
        with pytest.raises(IntegrityError, match="lease_and_price"), transaction.atomic():
            Reservation.objects.filter(pk=row.pk).update(**{column: None})


def test_no_two_ways_lead_back_from_an_end() -> None:
    assert all(not ALLOWED[end] for end in ENDED)
    assert all(to in ALLOWED for nexts in ALLOWED.values() for to in itertools.chain(nexts))


def test_two_up_is_by_way_of_moving_on_another_lease_and_both_are_noted(row: Reservation) -> None:
    rows = Reservation.objects.filter(pk=row.pk)
    move(row, S.ACTIVATING, actor="a", reason="a", now=NOON)
    move(row, S.ACTIVE, actor="a", reason="a", now=NOON)
    for wrong in ({"state": S.ACTIVATING}, {"state": S.SUSPENDED, "lease_id": new_uuid()}):
        with pytest.raises(IntegrityError, match="move"), transaction.atomic():
            rows.update(version=row.version + 2, **wrong)
    for version in (5, 7):  # the second time from and to the same state
        rows.update(state=S.ACTIVATING, version=version, lease_id=new_uuid(), change_reason="both")
    noted = (
        ReservationEvent.objects.filter(reservation=row)
        .order_by("id")
        .values_list("version", "from_state", "to_state", "reason")
    )
    assert list(noted)[-4:] == [
        (4, "active", "moving", "both"), (5, "moving", "activating", "both"),
        (6, "activating", "moving", "both"), (7, "moving", "activating", "both"),
    ]  # fmt: skip
