"""Django's PostgreSQL with fewer round trips: what only prepares a statement goes before it, in one message.

The row-level-security scope of `plumbing.rowsec`, BEGIN, SAVEPOINT and RELEASE are noted here, and travel with the next
statement; what turns out to be needless is never sent. `DatabaseWrapper.told` is the scope that the session is known to
have. It is unknown, and so is sent again, on a connection that was just made or came from the pool, after every error
and after every rollback (which takes settings back): no statement runs under a scope that another one left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db.backends.postgresql import base

Scope = tuple[str, str]
SETTINGS = ("vxpu.tenant", "vxpu.system")
NO_SCOPE: Scope = ("", "")


class Cursor(psycopg.ClientCursor[Any]):
    """Sends what its connection has noted before its own statement, and shows the results of that only."""

    owner: DatabaseWrapper | None = None
    _takes_front = False
    _front: Sequence[bytes] = ()

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        if self.owner is None:  # the pool's own, and the like
            return super().execute(query, params, **options)
        self._takes_front = True
        try:
            return super().execute(query, params, **options)
        except BaseException:
            self.owner.told = None
            raise
        finally:
            self._takes_front, self._front = False, ()

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        self._send_front()
        super().executemany(query, params_seq, **options)

    def copy(self, *args: Any, **options: Any) -> Any:
        self._send_front()
        return super().copy(*args, **options)

    def _send_front(self) -> None:
        if self.owner is not None:
            self.owner.send_front()

    def _execute_send(self, query: Any, **options: Any) -> None:
        # Not before: a statement whose values cannot be written is never sent, and what goes before it has to wait.
        if self._takes_front and self.owner is not None:
            self._front = self.owner.take_front()
            query.query = b"; ".join([*self._front, query.query])
        super()._execute_send(query, **options)

    def _set_results(self, results: list[Any]) -> None:
        super()._set_results(results[len(self._front) :])


_DjangosWrapper: Any = base.DatabaseWrapper  # its hooks are not in the stubs


class DatabaseWrapper(_DjangosWrapper):  # type: ignore[misc]
    """`scope` is (tenant, system) for the statements to come; see `plumbing.rowsec`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scope: Scope = NO_SCOPE
        self.told: Scope | None = None
        self._front: list[str] = []

    # ---- what goes before a statement ----

    def take_front(self) -> list[bytes]:
        """What is to be sent before the next statement; it counts as sent."""
        front, self._front = self._front, []
        if self.told != self.scope:
            told = self.told or (None, None)
            changed = zip(SETTINGS, self.scope, told, strict=True)
            front += [f"SET {name} = '{value}'" for name, value, known in changed if value != known]
            self.told = self.scope
        return [part.encode() for part in front]

    def send_front(self) -> None:
        """Alone, for statements that stand no others beside them."""
        if self._front or self.told != self.scope:
            with self.cursor() as cursor:
                cursor.execute("SELECT 1")

    def _forget(self) -> None:
        self._front, self.told = [], None

    # ---- Django's hooks ----

    def get_connection_params(self) -> dict[str, Any]:
        return {**super().get_connection_params(), "cursor_factory": Cursor}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._forget()
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        if name is None:
            cursor = super().create_cursor()
            cursor.owner = self
            return cursor
        self.send_front()
        cursor = super().create_cursor(name)
        cursor._withhold = self.autocommit  # noqa: SLF001 - Django goes by psycopg's autocommit, which is always on here
        return cursor

    def _set_autocommit(self, autocommit: bool) -> None:
        """psycopg's own stays on: transactions are begun and ended here."""
        if not self.connection.autocommit:
            super()._set_autocommit(True)
        if not autocommit:
            self._front.append(self.connection._get_tx_start_command().decode())  # noqa: SLF001 - with its isolation level

    def _commit(self) -> None:
        self._front.clear()  # nothing that was not sent has changed anything
        super()._commit()

    def _rollback(self) -> None:
        self._forget()
        super()._rollback()

    def _savepoint(self, sid: str) -> None:
        self._front.append(self.ops.savepoint_create_sql(sid))

    def _savepoint_commit(self, sid: str) -> None:
        unsent = self._unsent(sid)
        if unsent is None:
            self._front.append(self.ops.savepoint_commit_sql(sid))
        else:
            del self._front[unsent:]

    def _savepoint_rollback(self, sid: str) -> None:
        unsent = self._unsent(sid)
        if unsent is not None:
            del self._front[unsent + 1 :]  # it stays, until Django releases it
            return
        self._forget()  # whatever was noted since is inside it
        with self.wrap_database_errors, self.connection.cursor() as cursor:  # nothing may go before it
            cursor.execute(self.ops.savepoint_rollback_sql(sid))

    def _unsent(self, sid: str) -> int | None:
        """Where the savepoint stands among what was not sent yet."""
        create = self.ops.savepoint_create_sql(sid)
        return self._front.index(create) if create in self._front else None
