"""The database, from a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError
from psycopg_pool import PoolTimeout

from plumbing.principal import Principal
from plumbing.rowsec import system_scope, tenant_scope

DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)
P = ParamSpec("P")
R = TypeVar("R")
AT_ONCE = 3
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_database(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """In a thread of the loop's own pool and in the system scope. Raises DATABASE_AWAY."""
    return await _in_thread(system_scope, lambda: call(*args, **kwargs))


async def in_scope_of(principal: Principal, call: Callable[[], R]) -> R:
    """In turn, and the call sees what the principal's REST requests see."""
    return await in_turn(lambda: scope_of(principal), call)


async def in_turn(scope: Callable[[], AbstractContextManager[None]], call: Callable[[], R]) -> R:
    """As `in_database`, a few at a time: a thousand tabs that come back at once leave threads for the nodes."""
    loop = asyncio.get_running_loop()
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = asyncio.Semaphore(AT_ONCE)
    async with turns:
        return await _in_thread(scope, call)


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
