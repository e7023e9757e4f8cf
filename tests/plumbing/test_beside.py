"""Two pieces of work at once, each on a connection of its own; and the lookup for hundreds of ids."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from plumbing.beside import WORTH_IT, part_size, side_by_side
from plumbing.models import OutboxEvent
from plumbing.rowsec import current_scope
from tests.allocator.factories import TENANT
from vxpu.ids import new_uuid


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def both_there(barrier: threading.Barrier) -> Callable[[], tuple[int, bool]]:
    """Ends only while another is in there as well."""

    def call() -> tuple[int, bool]:
        barrier.wait(20)
        return backend(), current_scope()[1]

    return call


def test_two_run_at_once_on_two_connections_in_the_same_scope(committed_system: str) -> None:
    barrier = threading.Barrier(2)
    (one, one_sees_all), (other, other_sees_all) = side_by_side([both_there(barrier)] * 2)
    assert one != other
    assert backend() in {one, other}
    assert one_sees_all
    assert other_sees_all


def test_the_answers_come_in_the_order_of_the_calls(committed_system: str) -> None:
    assert side_by_side([partial(pow, number, 2) for number in range(20)]) == [number**2 for number in range(20)]
    assert side_by_side([]) == []


def test_one_alone_and_all_inside_a_transaction_run_here(committed_system: str) -> None:
    assert side_by_side([threading.get_ident]) == [threading.get_ident()]
    with transaction.atomic():
        assert side_by_side([backend, backend]) == [backend()] * 2


def test_an_error_is_raised_when_the_other_has_ended(committed_system: str) -> None:
    ended, begun = [], threading.Event()

    def fails() -> None:
        begun.wait(20)
        raise LookupError("no")

    def goes_on() -> None:
        begun.set()
        ended.append(backend())

    with pytest.raises(LookupError):
        side_by_side([fails, goes_on])
    assert len(ended) == 1


@given(st.integers(1, 5000), st.integers(1, 500))
def test_both_have_as_many_and_no_part_is_too_large(number: int, most: int) -> None:
    size = part_size(number, most)
    parts = -(-number // size)
    assert 1 <= size <= most
    assert parts == 1 or number > min(WORTH_IT, most)
    assert (parts + 1) // 2 == max(1, -(-number // (2 * most)))


@pytest.mark.usefixtures("system")
def test_among_finds_these_and_no_others() -> None:
    rows = [OutboxEvent(tenant_id=TENANT, kind="k", payload={}) for _ in range(3)]
    OutboxEvent.objects.bulk_create(rows)
    some = [rows[0].pk, rows[2].pk, new_uuid()]
    found = set(OutboxEvent.objects.filter(pk__among=some).values_list("pk", flat=True))
    assert found == {rows[0].pk, rows[2].pk}
    assert not OutboxEvent.objects.filter(pk__among=[]).exists()
    assert OutboxEvent.objects.exclude(pk__among=some).filter(kind="k").count() == 1
