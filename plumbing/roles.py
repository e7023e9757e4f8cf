"""The two database roles: the owner migrates, the application runs and is bound by row-level security."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from psycopg import sql

INIT_LOCK = 0x76787075  # "vxpu": one `manage.py init` at a time


class RoleUnfit(RuntimeError):
    """The application's role could look past row-level security."""


@contextmanager
def alone(*, owner: str) -> Iterator[None]:
    """Holds a lock on the database for the block: two deployments may start `init` at once."""
    with connections[owner].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [INIT_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [INIT_LOCK])


def grant_to_application(*, owner: str, role: str) -> None:
    """Let `role` use what the owner has and will make: rows yes, structure and TRUNCATE no. Idempotent."""
    name = sql.Identifier(role)
    privileges = [
        ("SELECT, INSERT, UPDATE, DELETE", "TABLES"),
        ("USAGE, SELECT", "SEQUENCES"),
        ("EXECUTE", "FUNCTIONS"),
    ]
    with connections[owner].cursor() as cursor:
        cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name))
        for rights, kind in privileges:
            words = {"rights": sql.SQL(rights), "kind": sql.SQL(kind), "role": name}
            cursor.execute(sql.SQL("GRANT {rights} ON ALL {kind} IN SCHEMA public TO {role}").format(**words))
            cursor.execute(
                sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {rights} ON {kind} TO {role}").format(**words)
            )


def check_application(*, alias: str = "default") -> None:
    """Raises RoleUnfit where the application's role is a superuser, may bypass row-level security, or owns a table."""
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper, rolbypassrls,"
            " EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            "   WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND pg_has_role(c.relowner, 'USAGE'))"
            " FROM pg_roles WHERE rolname = current_user"
        )
        name, is_superuser, bypasses, owns = cursor.fetchone()
    if is_superuser or bypasses or owns:
        raise RoleUnfit(f"{name} must be no superuser, without BYPASSRLS, and own no table.")
