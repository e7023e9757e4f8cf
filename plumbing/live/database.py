"""The database, from a loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout

from plumbing.principal import Principal
from plumbing.rowsec import system_scope, tenant_scope

DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)
P = ParamSpec("P")
R = TypeVar("R")


async def in_database(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """In a thread of the loop's own pool and in the system scope. Raises DATABASE_AWAY."""
    return await _in_thread(system_scope, lambda: call(*args, **kwargs))


async def in_scope_of(principal: Principal, call: Callable[[], R]) -> R:
    """As `in_database`, and the call sees what the principal's REST requests see."""
    return await _in_thread(lambda: scope_of(principal), call)


def scope_of(principal: Principal) -> AbstractContextManager[None]:
    return system_scope() if principal.is_operator else tenant_scope(principal.tenant_id)


async def _in_thread(scope: Callable[[], AbstractContextManager[None]], call: Callable[[], R]) -> R:
    """Not in the one thread that asgiref keeps for "sensitive" code: there one caller that waits for a row, or for a
    database that is away, would hold up every node's heartbeat until its gates close."""

    def scoped() -> R:
        with scope():
            return call()

    found: R = await database_sync_to_async(scoped, thread_sensitive=False)()
    return found
