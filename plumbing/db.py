"""Named transactions: the outermost service opens one, what it calls demands one, and nothing leaves before commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import connection
from django.db import transaction as django_transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Lookup, UUIDField
from django.db.models.sql.compiler import SQLCompiler

P = ParamSpec("P")
R = TypeVar("R")


# True while a door (see `door`) has a transaction open that the next use case may take for its own.
_joinable: ContextVar[bool] = ContextVar("joinable", default=False)


class TransactionMissing(RuntimeError):
    """A function marked `transaction_required` was called outside a transaction."""


def transaction(function: Callable[P, R]) -> Callable[P, R]:
    """The use case: opens a durable transaction and refuses to be nested in another."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        joins = _joinable.get()
        token = _joinable.set(False)
        try:
            with django_transaction.atomic(durable=not joins):
                return function(*args, **kwargs)
        finally:
            _joinable.reset(token)

    return run


@contextmanager
def door() -> Iterator[None]:
    """The transaction of a door that must commit its own note together with the use case (an idempotent answer).

    Use cases called inside join it, one after the other, each as a savepoint; use cases inside use cases stay refused.
    """
    with django_transaction.atomic(durable=True):
        token = _joinable.set(True)
        try:
            yield
        finally:
            _joinable.reset(token)


def transaction_required(function: Callable[P, R]) -> Callable[P, R]:
    """What a use case calls: it writes, so it wants the caller's transaction."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not django_transaction.get_connection().in_atomic_block:
            raise TransactionMissing(f"{function.__module__}.{function.__qualname__} needs a transaction")
        return function(*args, **kwargs)

    return run


@contextmanager
def snapshot() -> Iterator[None]:
    """For an answer made of several reads: they all see one instant, and may only read.

    Enter scopes before it. Inside a transaction the reads see what that transaction sees, whatever its level.
    """
    if connection.in_atomic_block:
        yield
        return
    with django_transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def savepoint() -> django_transaction.Atomic:
    """A part of the caller's transaction that may fail alone."""
    return django_transaction.atomic(durable=False)


@UUIDField.register_lookup
class Among(Lookup):
    """``pk__among=ids``: for hundreds of them. One array and not a parameter each, and the index finds each: of
    ``IN (SELECT unnest(...))`` the planner may make a comparison of all rows with all ids."""

    lookup_name = "among"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        column, params = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s::uuid[])", (*params, f"{{{','.join(map(str, self.rhs))}}}")
