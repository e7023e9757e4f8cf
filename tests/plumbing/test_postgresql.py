"""What goes before a statement: the scope, BEGIN and savepoints arrive in time, and never outlive what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID, uuid4

import pytest
from django.db import DataError, IntegrityError, ProgrammingError, connection, connections, transaction

from plumbing.models import OutboxEvent
from plumbing.postgresql.base import DatabaseWrapper
from plumbing.rowsec import current_scope, system_scope, tenant_scope
from tests.servers import Servers

ADA, BO = uuid4(), uuid4()
needs_db = pytest.mark.django_db


def undo(*works: Callable[[], object]) -> None:
    """Does them in a transaction (or a savepoint) that is rolled back."""
    with transaction.atomic():
        for work in works:
            work()
        transaction.set_rollback(True)


def make_event(tenant_id: UUID = ADA) -> OutboxEvent:
    return OutboxEvent.objects.create(tenant_id=tenant_id, kind="tests.Happened", payload={})


def told() -> tuple[str | None, str | None]:
    """What the session has, without a word of ours before it."""
    row = connection.connection.execute(
        "SELECT current_setting('vxpu.tenant', true), current_setting('vxpu.system', true)"
    ).fetchone()
    return row[0], row[1]


@pytest.fixture
def pooled(servers: Servers) -> Iterator[DatabaseWrapper]:
    """A wrapper of its own over a pool of one connection."""
    kept = connections["default"].settings_dict
    wrapper = DatabaseWrapper({**kept, "OPTIONS": {"pool": {"min_size": 1, "max_size": 1}}}, alias="pooled")
    yield wrapper
    wrapper.close()
    wrapper.close_pool()


def ask(wrapper: DatabaseWrapper) -> tuple[int, str, str]:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid(), current_setting('vxpu.tenant'), current_setting('vxpu.system')")
        pid, tenant, system = cursor.fetchone()
    return pid, tenant, system


def test_a_pooled_connection_forgets_whose_it_was(committed_db: str, pooled: DatabaseWrapper) -> None:
    pooled.scope = ("someone", "on")
    first = ask(pooled)
    assert first[1:] == ("someone", "on")
    pooled.close()
    pooled.scope = ("", "")
    assert ask(pooled) == (first[0], "", "")


@needs_db
def test_a_scope_in_which_nothing_is_asked_is_not_sent() -> None:
    assert current_scope() == (None, False)
    with system_scope(), tenant_scope(ADA):
        assert told() == ("", "")
    with tenant_scope(ADA):
        assert OutboxEvent.objects.count() == 0
        with system_scope():
            pass
        assert told() == (str(ADA), "")


@needs_db
def test_after_a_rollback_the_scope_is_said_again() -> None:
    with system_scope():
        with pytest.raises(DataError), transaction.atomic(), tenant_scope(ADA):
            connection.cursor().execute("SELECT 1 / 0")
        assert current_scope() == (None, True)
        with tenant_scope(ADA):
            undo(current_scope)
        assert current_scope() == (None, True)


@needs_db
def test_a_scope_that_was_said_in_what_rolled_back_is_not_taken_for_said() -> None:
    with tenant_scope(ADA):
        undo(make_event)
        assert OutboxEvent.objects.count() == 0
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            make_event(BO)
        make_event()


@needs_db
def test_savepoints_undo_their_own_part_only() -> None:
    with system_scope(), transaction.atomic():
        kept = make_event()
        undo(make_event, transaction.atomic(make_event))
        with pytest.raises(IntegrityError), transaction.atomic():
            OutboxEvent.objects.bulk_create([OutboxEvent(id=kept.pk, tenant_id=ADA, kind="twice", payload={})])
        with transaction.atomic(), transaction.atomic():
            last = make_event()
        assert set(OutboxEvent.objects.values_list("pk", flat=True)) == {kept.pk, last.pk}


def test_a_statement_that_cannot_be_written_takes_no_begin_with_it(committed_db: str) -> None:
    with system_scope():
        with transaction.atomic():
            with pytest.raises(DataError), transaction.atomic():
                connection.cursor().execute("SELECT %s", ["\0"])
            make_event()
            transaction.set_rollback(True)
        assert OutboxEvent.objects.count() == 0


@needs_db
def test_an_empty_savepoint_is_never_sent() -> None:
    current_scope()
    undo()
    with transaction.atomic():
        pass
    wrapper = connections["default"]
    assert isinstance(wrapper, DatabaseWrapper)
    assert wrapper.take_front() == []


def test_a_transaction_commits_and_rolls_back(committed_db: str) -> None:
    with system_scope():
        with transaction.atomic():
            make_event()
        undo(lambda: make_event(BO))
        with transaction.atomic():  # with nothing in it
            pass
        assert [row.tenant_id for row in OutboxEvent.objects.all()] == [ADA]


@needs_db
def test_a_long_reading_goes_by_the_scope_of_its_start() -> None:
    with system_scope():
        make_event(ADA)
        make_event(BO)
    with tenant_scope(BO):
        assert [row.tenant_id for row in OutboxEvent.objects.iterator(chunk_size=1)] == [BO]


@needs_db
def test_several_rows_of_parameters_and_a_copy_come_after_the_scope() -> None:
    with system_scope():
        make_event()
    with tenant_scope(ADA), connection.cursor() as cursor:
        cursor.executemany("UPDATE plumbing_outboxevent SET kind = %s", [["one"], ["two"]])
        assert cursor.rowcount == 2
    statement = "COPY (SELECT kind FROM plumbing_outboxevent) TO STDOUT"
    with tenant_scope(ADA), connection.cursor() as cursor, cursor.copy(statement) as rows:
        assert list(rows.rows()) == [("two",)]
