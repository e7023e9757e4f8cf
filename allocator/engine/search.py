"""Where an ask goes: the places that fit, scored by a policy, best first."""

from __future__ import annotations

import functools
import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from allocator.engine.added import added_terms
from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags
from allocator.engine.policies.base import Policy
from allocator.engine.view import View

# No score: the row does not take the ask.
NONE = -(2**62)
# Rows: so many are scored about as quickly as one.
FAR_BEHIND = 128
# With fewer rows than this, to look for a shape that is far behind costs each ask more than it saves a rare one.
FEW_ROWS = 2048


@dataclass(frozen=True, slots=True)
class Found:
    """Devices of a row (a node) that take the ask together, and how good that is."""

    row: int
    columns: tuple[int, ...]
    score: int


@dataclass(slots=True)
class _Table:
    """Of one shape of ask: each row's best score and device, and the version of the row that they were made of."""

    ask: Ask
    score: Ints
    column: Ints
    seen: Ints


@dataclass(slots=True)
class Ranker:
    """Ranks the places of one view by one policy. Scores are kept by shape and made anew only where a row changed."""

    view: View
    policy: Policy
    _tables: dict[Hashable, _Table] = field(default_factory=dict)
    _turns: list[Hashable] = field(default_factory=list)

    def best(self, ask: Ask, *, without: Sequence[int] = (), within: Ints | None = None) -> Found | None:
        """The best place outside the rows `without` (or in the rows `within`, ascending); ties go to the first row,
        then the first device."""
        table = self._fresh(ask)
        if len(table.score) == 0:
            return None
        if within is not None:
            row = int(within[table.score[within].argmax()]) if len(within) else 0
            return None if not len(within) or table.score[row] == NONE else self._found(table, ask, row)
        scores = table.score
        if without:
            scores = scores.copy()
            scores[list(without)] = NONE
        row = int(scores.argmax())
        return None if scores[row] == NONE else self._found(table, ask, row)

    def warm(self, asks: Iterable[Ask]) -> None:
        """Score every row for these shapes now, so that no later ask waits for it."""
        for ask in asks:
            self._fresh(ask)

    def keep_warm(self) -> None:
        """Bring one shape up to date if it is far behind, another with each call: a rare one never has far to go."""
        if self.view.layout.rows < FEW_ROWS:
            return
        if not self._turns:
            self._turns = list(self._tables)[::-1]
        if self._turns:
            self._refresh(self._tables[self._turns.pop()], at_least=FAR_BEHIND)

    def pick(self, ask: Ask, row: int) -> tuple[int, ...]:
        """Which of the devices of a node that takes the ask: by the policy, if it has a say in that."""
        pick = getattr(self.policy, "pick", None)
        return self.view.pick(ask, row) if pick is None else tuple(pick(self.view, ask, row))

    def _found(self, table: _Table, ask: Ask, row: int) -> Found:
        columns = (int(table.column[row]),) if ask.devices == 1 else self.pick(ask, row)
        return Found(row, columns, int(table.score[row]))

    def rank(self, ask: Ask, *, limit: int, within: Ints | None = None) -> list[Found]:
        """The best `limit` places, each device of a node a place of its own when one is asked for."""
        rows, scores = self._scores(ask, np.arange(self.view.layout.rows) if within is None else within)
        order = np.argsort(-scores, axis=None, kind="stable")[:limit]
        found = []
        for at in order.tolist():
            row, column = divmod(at, scores.shape[1])
            if scores[row, column] == NONE:
                break
            columns = (column,) if ask.devices == 1 else self.pick(ask, int(rows[row]))
            found.append(Found(int(rows[row]), columns, int(scores[row, column])))
        return found

    def explain(self, ask: Ask, found: Found) -> dict[str, int]:
        """The terms of the score; they add up to it."""
        rows = np.array([found.row])
        terms = self._terms(ask, rows, self.view.fits(ask, rows))
        column = found.columns[0] if ask.devices == 1 else 0
        return {name: int(term[0, column]) for name, term in terms.items()}

    def _scores(self, ask: Ask, rows: Ints) -> tuple[Ints, Ints]:
        """The rows that fit, and their scores as in `Policy.terms`; NONE where a device does not fit."""
        takes, fits = self.view.rows_that_fit(ask, rows)
        (found,) = takes.nonzero()
        rows, fits = rows.take(found), fits.take(found, axis=0)
        terms = self._terms(ask, rows, fits)
        scores = functools.reduce(operator.add, terms.values())
        return rows, np.where(fits, scores, NONE) if ask.devices == 1 else scores

    def _terms(self, ask: Ask, rows: Ints, fits: Flags) -> Mapping[str, Ints]:
        terms = self.policy.terms(self.view, ask, rows, fits)
        if ask.near is not None or self.view.layout.tells_health:
            terms = terms | added_terms(self.view, ask, rows, fits)
        return terms

    def _fresh(self, ask: Ask) -> _Table:
        shape = _shape(ask)
        table = self._tables.get(shape)
        if table is None:
            count = self.view.layout.rows
            table = self._tables[shape] = _Table(
                ask, np.full(count, NONE, np.int64), np.zeros(count, np.int64), np.full(count, -1, np.int64)
            )
        self._refresh(table)
        return table

    def _refresh(self, table: _Table, *, at_least: int = 1) -> None:
        (stale,) = (table.seen != self.view.version).nonzero()
        if len(stale) < at_least:
            return
        rows, scores = self._scores(table.ask, stale)
        table.score[stale] = NONE
        if len(rows):
            best = scores.argmax(axis=1)
            table.score[rows] = scores[np.arange(len(rows)), best]
            table.column[rows] = best
        table.seen[stale] = self.view.version[stale]


def _shape(ask: Ask) -> Hashable:
    """All but the period, which is the view's."""
    return (
        ask.permille, ask.mib, ask.whole, ask.kind, ask.device_id, ask.isolation_rank, ask.devices, ask.copy_permille,
        ask.cores_milli, ask.host_mib, ask.models, ask.pool, ask.site, ask.near,
    )  # fmt: skip
