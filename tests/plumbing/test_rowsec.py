"""Row-level security, for real: the tests' connection is the application's role."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.utils import ProgrammingError

from plumbing.models import OutboxEvent
from plumbing.rowsec import current_scope, system_scope, tenant_scope

pytestmark = pytest.mark.django_db
ADA, BO = uuid4(), uuid4()


def make_event(tenant_id: UUID) -> OutboxEvent:
    return OutboxEvent.objects.create(tenant_id=tenant_id, kind="tests.Happened", payload={})


@pytest.fixture
def two_rows() -> None:
    with system_scope():
        make_event(ADA)
        make_event(BO)


def test_default_scope_sees_nothing(two_rows: None) -> None:
    assert OutboxEvent.objects.count() == 0


def test_a_tenant_sees_its_own_rows(two_rows: None) -> None:
    with tenant_scope(ADA):
        assert [row.tenant_id for row in OutboxEvent.objects.all()] == [ADA]


def test_the_system_sees_all(two_rows: None) -> None:
    with system_scope():
        assert OutboxEvent.objects.count() == 2


def test_no_insert_without_a_scope() -> None:
    with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        make_event(ADA)


def test_no_insert_for_another_tenant() -> None:
    with tenant_scope(BO), pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        make_event(ADA)


def test_a_row_cannot_be_given_to_another_tenant(two_rows: None) -> None:
    with (
        tenant_scope(ADA),
        pytest.raises(ProgrammingError, match="row-level security"),
        transaction.atomic(),
    ):
        OutboxEvent.objects.update(tenant_id=BO)


def test_other_tenants_rows_cannot_be_changed_or_deleted(two_rows: None) -> None:
    with tenant_scope(ADA):
        assert OutboxEvent.objects.filter(tenant_id=BO).update(kind="stolen") == 0
        assert OutboxEvent.objects.filter(tenant_id=BO).delete()[0] == 0


def test_scopes_nest_and_restore() -> None:
    assert current_scope() == (None, False)
    with tenant_scope(ADA):
        with system_scope():
            assert current_scope() == (None, True)
        assert current_scope() == (ADA, False)
    assert current_scope() == (None, False)


def test_scope_is_restored_after_a_failed_transaction() -> None:
    def fail() -> None:
        with transaction.atomic(), tenant_scope(ADA):
            connection.cursor().execute("SELECT 1 / 0")

    with system_scope():
        with pytest.raises(Exception, match="division by zero"):
            fail()
        assert current_scope() == (None, True)


def test_the_application_cannot_switch_it_off() -> None:
    with pytest.raises(ProgrammingError, match="must be owner"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE plumbing_outboxevent DISABLE ROW LEVEL SECURITY")
