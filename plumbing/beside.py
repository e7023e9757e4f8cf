"""Pieces of work that lock different rows, two at once: the database has more than one core."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from django.db import connection

from plumbing.postgresql.base import DatabaseWrapper

R = TypeVar("R")


# Of less than this the other thread's connection costs more than it saves.
WORTH_IT = 50


def part_size(number: int, most: int) -> int:
    """Of parts of so many rows that both threads have as many: at most `most`."""
    rounds = -(-number // (2 * most))
    return max(1, number if number <= min(WORTH_IT, most) else -(-number // (2 * rounds)))


def side_by_side(calls: Sequence[Callable[[], R]]) -> list[R]:
    """What each returns, in order. Half of them run in a thread with a connection of its own and this one's scope.

    Each opens its own transaction: inside the caller's, and where there is only one, all run here. The first error is
    raised when both threads have ended.
    """
    if len(calls) < 2 or connection.in_atomic_block:
        return [call() for call in calls]
    scope = cast("DatabaseWrapper", connection).scope
    left = deque(enumerate(calls))
    found: dict[int, R] = {}

    def work() -> None:
        while True:
            try:
                number, call = left.popleft()
            except IndexError:
                return
            found[number] = call()

    def work_beside() -> None:
        cast("DatabaseWrapper", connection).scope = scope
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(1, thread_name_prefix="beside") as pool:
        other = pool.submit(work_beside)
        work()
        other.result()
    return [found[number] for number in range(len(calls))]
