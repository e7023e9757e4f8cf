"""What a pooled connection must forget before the next request borrows it. Free of Django: settings import it."""

from __future__ import annotations

from typing import Any

import psycopg


def forget_scope(connection: psycopg.Connection[Any]) -> None:
    """The pool's `reset` hook: back to the default scope, in which no tenant's rows are visible."""
    connection.execute("SELECT set_config('vxpu.tenant', '', false), set_config('vxpu.system', '', false)")
