"""Locks of this room. The global order is quota < account < node < device < lease; the audit chain comes last of all,
because an event is recorded when everything else is done."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from plumbing import db

AUDIT_CHAIN = 0x617564  # a namespace for advisory locks: two-integer form, this one first


@db.transaction_required
def lock_audit_chain(*, tenant_id: UUID) -> None:
    """One writer at a time on a tenant's chain, until the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [AUDIT_CHAIN, str(tenant_id)])
