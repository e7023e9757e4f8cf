"""Races: one thread and one database connection a call, let go at one moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self

from django.db import connection, connections

from plumbing.rowsec import system_scope


def race(*calls: Callable[[], Any], timeout_s: float = 30) -> list[Any]:
    """Run all calls at once, each in the system scope of its own connection; results or exceptions, in call order.

    Needs the fixture `committed_db`: a connection does not see what another has not committed.
    """
    barrier = threading.Barrier(len(calls))
    outcomes: list[Any] = [TimeoutError("the call has not ended")] * len(calls)

    def run(index: int) -> None:
        try:
            with system_scope():  # connects before the barrier
                barrier.wait(timeout_s)
                outcomes[index] = calls[index]()
        except BaseException as error:  # noqa: BLE001 - the outcome is for the test to judge
            outcomes[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    return outcomes


class OtherConnection:
    """A second connection that the test steps by hand: ``with OtherConnection() as other: other.do(lambda: ...)``.

    `do` waits for the result; `start` returns at once with a function that waits, to see that a call blocks.
    """

    def __enter__(self) -> Self:
        self._work: list[tuple[Callable[[], Any], threading.Event, list[Any]]] = []
        self._wake = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        with self._wake:
            self._open = False
            self._wake.notify()
        self._thread.join(30)

    def _serve(self) -> None:
        try:
            with system_scope():
                while (item := self._next()) is not None:
                    call, done, outcome = item
                    try:
                        outcome.append(call())
                    except BaseException as error:  # noqa: BLE001 - handed to the caller
                        outcome.append(error)
                    done.set()
        finally:
            connection.close()

    def _next(self) -> tuple[Callable[[], Any], threading.Event, list[Any]] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._work or not self._open)
            return self._work.pop(0) if self._work else None

    def start(self, call: Callable[[], Any]) -> Callable[[float], Any]:
        """Begin `call` there; the function returned waits that many seconds and gives or raises the outcome."""
        done, outcome = threading.Event(), list[Any]()
        with self._wake:
            self._work.append((call, done, outcome))
            self._wake.notify()

        def result(timeout_s: float = 30) -> Any:
            if not done.wait(timeout_s):
                raise TimeoutError("still waiting")
            if isinstance(outcome[0], BaseException):
                raise outcome[0]
            return outcome[0]

        return result

    def do(self, call: Callable[[], Any]) -> Any:
        return self.start(call)(30)
