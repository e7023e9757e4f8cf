"""The audit log: append-only, and chained so that a change shows."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction

from identity.errors import AuditChainBroken
from identity.facade import record_audit
from identity.models import AuditEvent
from identity.services import audit
from plumbing import db
from plumbing.rowsec import system_scope
from tests.identity.factories import Person, make_project, make_tenant
from tests.racing import race
from tests.servers import Servers


@db.transaction
def note(tenant_id: UUID, subject: str) -> None:
    record_audit(
        tenant_id=tenant_id, actor_id=None, action="test.noted", subject=subject, now=datetime.now(UTC),
        data={"mark": "ü", "n": 1},
    )  # fmt: skip


@pytest.mark.django_db
def test_what_people_do_is_told() -> None:
    ada = make_tenant()
    make_project(by=ada)
    events = ada.client.get("/api/v1/audit-events").json()["items"]
    assert [event["action"] for event in events] == ["project.created", "token.created", "tenant.created"]
    assert [event["seq"] for event in events] == [3, 2, 1]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement", ["UPDATE identity_auditevent SET action = 'x'", "DELETE FROM identity_auditevent"]
)
def test_events_are_neither_changed_nor_removed(statement: str) -> None:
    make_tenant()
    with system_scope(), pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        connection.cursor().execute(statement)


def test_not_even_the_owner_truncates(committed_system: str, servers: Servers) -> None:
    make_tenant()
    owner = servers.owner_url.rsplit("/", 1)[0] + f"/{committed_system}"
    with psycopg.connect(owner) as link, pytest.raises(psycopg.Error, match="append-only"):
        link.execute("TRUNCATE identity_auditevent")


def test_ten_writers_make_one_chain(committed_system: str) -> None:
    ada = make_tenant()
    outcomes = race(*[lambda: note(ada.tenant_id, "race")] * 10)
    assert outcomes == [None] * 10
    assert audit.verify(tenant_id=ada.tenant_id) == 12
    assert sorted(AuditEvent.objects.values_list("seq", flat=True)) == list(range(1, 13))


def forge(servers: Servers, database: str, statement: str) -> None:
    """As someone who has the superuser's password."""
    address = servers.admin_url.rsplit("/", 1)[0] + f"/{database}"
    with psycopg.connect(address) as link:
        link.execute("SET session_replication_role = replica")
        link.execute(statement.encode())


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("UPDATE identity_auditevent SET subject = 'nothing' WHERE seq = 2", 2),
        ("DELETE FROM identity_auditevent WHERE seq = 1", 2),
        ("UPDATE identity_auditevent SET data = '{}' WHERE seq = 3", 3),
        ("UPDATE identity_auditevent SET created_at = created_at + interval '1 microsecond' WHERE seq = 1", 1),
    ],
)
def test_a_forged_chain_shows(committed_system: str, servers: Servers, statement: str, seq: int) -> None:
    ada: Person = make_tenant()
    note(ada.tenant_id, "third")
    assert audit.verify(tenant_id=ada.tenant_id) == 3
    forge(servers, committed_system, statement)
    with pytest.raises(AuditChainBroken) as broken:
        audit.verify(tenant_id=ada.tenant_id)
    assert broken.value.data == {"seq": seq}
