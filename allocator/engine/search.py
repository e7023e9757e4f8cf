"""Where an ask goes: the places that fit, scored by a policy, best first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.fleet import Ask
from allocator.engine.policies.base import Policy
from allocator.engine.view import View

# No score: the row does not take the ask.
NONE = -(2**62)


@dataclass(frozen=True, slots=True)
class Found:
    """Devices of a row (a node) that take the ask together, and how good that is."""

    row: int
    columns: tuple[int, ...]
    score: int


@dataclass(slots=True)
class _Table:
    """Of one shape of ask: each row's best score and device, and the version of the row that they were made of."""

    score: Ints
    column: Ints
    seen: Ints


@dataclass(slots=True)
class Ranker:
    """Ranks the places of one view by one policy. Scores are kept by shape and made anew only where a row changed."""

    view: View
    policy: Policy
    _tables: dict[Hashable, _Table] = field(default_factory=dict)

    def best(self, ask: Ask, *, without: Sequence[int] = ()) -> Found | None:
        """The best place outside the rows `without`; ties go to the first row, then the first device."""
        table = self._fresh(ask)
        if len(table.score) == 0:
            return None
        hidden = list(without)
        kept = table.score[hidden]
        table.score[hidden] = NONE
        row = int(table.score.argmax())
        score = int(table.score[row])
        table.score[hidden] = kept
        if score == NONE:
            return None
        columns = (int(table.column[row]),) if ask.devices == 1 else self.view.pick(ask, row)
        return Found(row, columns, score)

    def rank(self, ask: Ask, *, limit: int) -> list[Found]:
        """The best `limit` places, each device of a node a place of its own when one is asked for."""
        rows, scores = self._scores(ask, np.arange(self.view.layout.rows))
        order = np.argsort(-scores, axis=None, kind="stable")[:limit]
        found = []
        for at in order.tolist():
            row, column = divmod(at, scores.shape[1])
            if scores[row, column] == NONE:
                break
            columns = (column,) if ask.devices == 1 else self.view.pick(ask, int(rows[row]))
            found.append(Found(int(rows[row]), columns, int(scores[row, column])))
        return found

    def explain(self, ask: Ask, found: Found) -> dict[str, int]:
        """The terms of the score; they add up to it."""
        rows = np.array([found.row])
        terms = self.policy.terms(self.view, ask, rows, self.view.fits(ask, rows))
        column = found.columns[0] if ask.devices == 1 else 0
        return {name: int(term[0, column]) for name, term in terms.items()}

    def _scores(self, ask: Ask, rows: Ints) -> tuple[Ints, Ints]:
        """The rows that fit, and their scores as in `Policy.terms`; NONE where a device does not fit."""
        takes, fits = self.view.rows_that_fit(ask, rows)
        rows, fits = rows[takes], fits[takes]
        scores = np.zeros((len(rows), fits.shape[1] if ask.devices == 1 else 1), np.int64)
        for term in self.policy.terms(self.view, ask, rows, fits).values():
            scores += term
        return rows, np.where(fits, scores, NONE) if ask.devices == 1 else scores

    def _fresh(self, ask: Ask) -> _Table:
        shape = replace(ask, starts=0, ends=0)
        table = self._tables.get(shape)
        if table is None:
            count = self.view.layout.rows
            table = self._tables[shape] = _Table(
                np.full(count, NONE, np.int64), np.zeros(count, np.int64), np.full(count, -1, np.int64)
            )
        stale = np.flatnonzero(table.seen != self.view.version)
        if len(stale):
            rows, scores = self._scores(ask, stale)
            best = scores.argmax(axis=1) if len(rows) else np.zeros(0, np.int64)
            table.score[stale] = NONE
            table.score[rows] = scores[np.arange(len(rows)), best]
            table.column[rows] = best
            table.seen[stale] = self.view.version[stale]
        return table
