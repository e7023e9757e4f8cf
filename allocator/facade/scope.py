"""What every call of the facade is wrapped in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from plumbing.rowsec import system_scope

P = ParamSpec("P")
R = TypeVar("R")


def whole_fleet(function: Callable[P, R]) -> Callable[P, R]:
    """A tenant's request may not see the operator's devices or other tenants' calendars; placing must."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with system_scope():
            return function(*args, **kwargs)

    return run
