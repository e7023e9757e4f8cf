"""Locks of this room. The global order is quota < account < node < device < lease; the audit chain comes last of all,
because an event is recorded when everything else is done."""

from __future__ import annotations

from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from identity.models import Member, Role, User
from plumbing import db

AUDIT_CHAIN = 0x617564  # a namespace for advisory locks: two-integer form, this one first


@db.transaction_required
def lock_audit_chain(*, tenant_id: UUID) -> None:
    """One writer at a time on a tenant's chain, until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [AUDIT_CHAIN, str(tenant_id)])


@db.transaction_required
def lock_user(*, user_id: UUID) -> User:
    """One log-in or change of password at a time: a session that is being opened sees the password that holds."""
    return User.objects.select_for_update().get(pk=user_id)


@db.transaction_required
def lock_admins(*, tenant_id: UUID) -> QuerySet[Member]:
    """Every admin's role of the tenant, in order of id: of two who remove each other, one stays."""
    admins = Member.objects.filter(tenant_id=tenant_id, role=Role.TENANT_ADMIN).order_by("pk")
    return admins.select_for_update(of=("self",))
