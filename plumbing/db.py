"""Named transactions: the outermost service opens one, what it calls demands one, and nothing leaves before commit."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction as django_transaction

P = ParamSpec("P")
R = TypeVar("R")


class TransactionMissing(RuntimeError):
    """A function marked `transaction_required` was called outside a transaction."""


def transaction(function: Callable[P, R]) -> Callable[P, R]:
    """The use case: opens a durable transaction and refuses to be nested in another."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with django_transaction.atomic(durable=True):
            return function(*args, **kwargs)

    return run


def transaction_required(function: Callable[P, R]) -> Callable[P, R]:
    """What a use case calls: it writes, so it wants the caller's transaction."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not django_transaction.get_connection().in_atomic_block:
            raise TransactionMissing(f"{function.__module__}.{function.__qualname__} needs a transaction")
        return function(*args, **kwargs)

    return run


def savepoint() -> django_transaction.Atomic:
    """A part of the caller's transaction that may fail alone."""
    return django_transaction.atomic(durable=False)
