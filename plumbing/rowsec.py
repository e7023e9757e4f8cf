"""Row-level security: which tenant's rows this connection may see, and the migration operations that switch it on.

The database judges by the scope (two settings of the session); the default is none: no row is visible, none can be
written. The application's role is neither owner nor superuser, so the policies bind it; the owner, who migrates, is
exempt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.migrations.operations.base import Operation

from plumbing.postgresql.base import DatabaseWrapper


@contextmanager
def _scope(tenant: str, system: str) -> Iterator[None]:
    """Costs nothing by itself: the next statement takes it along (plumbing/postgresql)."""
    link = connections[DEFAULT_DB_ALIAS]
    if not isinstance(link, DatabaseWrapper):
        raise TypeError("row-level security needs the database engine plumbing.postgresql")
    before, link.scope = link.scope, (tenant, system)
    try:
        yield
    finally:
        link.scope = before


@contextmanager
def tenant_scope(tenant_id: UUID) -> Iterator[None]:
    """Inside, this thread's connection sees and writes the rows of `tenant_id` only. Nestable."""
    with _scope(str(tenant_id), ""):
        yield


@contextmanager
def system_scope() -> Iterator[None]:
    """Inside, every tenant's rows are visible: for operators, the agents' doors and Celery tasks. Nestable."""
    with _scope("", "on"):
        yield


def current_scope() -> tuple[UUID | None, bool]:
    """(tenant, is_system) of this thread's connection, as the database sees it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('vxpu.tenant', true), current_setting('vxpu.system', true)")
        tenant, system = cursor.fetchone()
    return (UUID(tenant) if tenant else None), system == "on"


class _SqlOperation(Operation):
    """A migration step that changes no model state."""

    reversible = True

    def __init__(self, table: str) -> None:
        if not table.replace("_", "").isalnum():
            raise ValueError(f"{table!r} is not a table name")
        self.table = table

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return self.__class__.__name__, [self.table], {}

    def state_forwards(self, app_label: str, state: Any) -> None:  # noqa: ARG002 - Django's signature
        return None

    def forward_sql(self) -> list[str]:
        raise NotImplementedError

    def backward_sql(self) -> list[str]:
        raise NotImplementedError

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002
        for statement in self.forward_sql():
            schema_editor.execute(statement, params=None)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:  # noqa: ARG002
        for statement in self.backward_sql():
            schema_editor.execute(statement, params=None)


class EnableRowSecurity(_SqlOperation):
    """The table's rows are seen and written only in the scope of their `tenant_id`, or in the system's."""

    def forward_sql(self) -> list[str]:
        # Sub-selects are evaluated once a statement, not once a row.
        rule = (
            "(SELECT current_setting('vxpu.system', true)) = 'on' OR "
            "tenant_id = (SELECT nullif(current_setting('vxpu.tenant', true), ''))::uuid"
        )
        return [
            f'ALTER TABLE "{self.table}" ENABLE ROW LEVEL SECURITY',
            f'CREATE POLICY vxpu_tenant ON "{self.table}" USING ({rule}) WITH CHECK ({rule})',
        ]

    def backward_sql(self) -> list[str]:
        return [
            f'DROP POLICY vxpu_tenant ON "{self.table}"',
            f'ALTER TABLE "{self.table}" DISABLE ROW LEVEL SECURITY',
        ]

    def describe(self) -> str:
        return f"Switch row-level security on for {self.table}"


class AppendOnly(_SqlOperation):
    """The table takes inserts only: UPDATE, DELETE and TRUNCATE are refused (SQLSTATE 23001) for every role."""

    def forward_sql(self) -> list[str]:
        return [
            """CREATE OR REPLACE FUNCTION vxpu_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = '23001';
            END $$""",
            f"""CREATE TRIGGER vxpu_append_only BEFORE UPDATE OR DELETE ON "{self.table}"
            FOR EACH ROW EXECUTE FUNCTION vxpu_refuse_change()""",
            f"""CREATE TRIGGER vxpu_no_truncate BEFORE TRUNCATE ON "{self.table}"
            FOR EACH STATEMENT EXECUTE FUNCTION vxpu_refuse_change()""",
        ]

    def backward_sql(self) -> list[str]:
        return [
            f'DROP TRIGGER vxpu_append_only ON "{self.table}"',
            f'DROP TRIGGER vxpu_no_truncate ON "{self.table}"',
        ]

    def describe(self) -> str:
        return f"Make {self.table} append-only"
