"""Which of the cards that fit is the best: a named policy gives integer terms, their sum is the score."""

from __future__ import annotations

from dataclasses import dataclass

from allocator.engine.fit import asked_size, refusal, room
from allocator.engine.fleet import Ask, Card, Fleet
from allocator.engine.policies import POLICIES


class UnknownPolicy(KeyError):
    """There is no policy of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    card: Card
    score: int
    terms: dict[str, int]


def rank(fleet: Fleet, ask: Ask, *, policy: str, limit: int) -> list[Scored]:
    """The best `limit` cards that take the ask. Deterministic: ties go to the lower device id."""
    if policy not in POLICIES:
        raise UnknownPolicy(policy)
    score = POLICIES[policy]
    found = []
    for card in fleet.cards:
        if refusal(card, ask) is None:
            left = room(card, ask.starts, ask.ends)
            terms = score(card, left, asked_size(card, ask))
            found.append(Scored(card=card, score=sum(terms.values()), terms=terms))
    found.sort(key=lambda one: (-one.score, one.card.device_id))
    return found[:limit]
