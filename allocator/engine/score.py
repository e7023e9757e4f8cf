"""Which of the cards that fit is the best: a named policy gives integer terms, their sum is the score."""

from __future__ import annotations

from dataclasses import dataclass

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, Card, Fleet
from allocator.engine.policies import POLICIES
from allocator.engine.search import Ranker


class UnknownPolicy(KeyError):
    """There is no policy of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    card: Card
    score: int
    terms: dict[str, int]


def rank(fleet: Fleet, ask: Ask, *, policy: str, limit: int) -> list[Scored]:
    """The best `limit` cards that take the ask. Deterministic: ties go to the lower node id, then device id."""
    if policy not in POLICIES:
        raise UnknownPolicy(policy)
    draft = Draft.of(fleet)
    ranker = Ranker(draft.view(ask.starts, ask.ends), POLICIES[policy])
    return [
        Scored(
            card=draft.layout.cards[found.row][found.columns[0]], score=found.score, terms=ranker.explain(ask, found)
        )
        for found in ranker.rank(ask, limit=limit)
    ]
