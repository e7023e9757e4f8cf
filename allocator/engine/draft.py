"""A working copy of the fleet: place, remove, mark, roll back, and what came of it as a plan."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from allocator.engine.fit import asked_size, refusal
from allocator.engine.fleet import Ask, Card, Fleet, Taken, sort_key


class NotPlaced(ValueError):
    """The card refuses the ask; `constraint` says why."""

    def __init__(self, constraint: str) -> None:
        super().__init__(constraint)
        self.constraint = constraint


class Step(NamedTuple):
    """One change of a calendar: `placed` or removed."""

    placed: bool
    device_id: UUID
    taken: Taken


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order. Every prefix is a legal fleet, because each was when it was drafted."""

    steps: tuple[Step, ...]


class Draft:
    """Mutable and short-lived. `Draft.of(fleet)`; the fleet itself never changes."""

    def __init__(self, cards: dict[UUID, Card], calendars: dict[UUID, list[Taken]]) -> None:
        self._cards = cards
        self._calendars = calendars
        self._steps: list[Step] = []

    @classmethod
    def of(cls, fleet: Fleet) -> Draft:
        return cls(
            {card.device_id: card for card in fleet.cards},
            {card.device_id: list(card.taken) for card in fleet.cards},
        )

    def card(self, device_id: UUID) -> Card:
        """The card as drafted so far."""
        return replace(self._cards[device_id], taken=tuple(self._calendars[device_id]))

    def fleet(self) -> Fleet:
        """The whole fleet as drafted so far."""
        return Fleet(tuple(self.card(device_id) for device_id in self._cards))

    def place(self, device_id: UUID, ask: Ask, *, lease_id: UUID) -> Taken:
        """Raises NotPlaced with the constraint that failed."""
        card = self.card(device_id)
        constraint = refusal(card, ask)
        if constraint is not None:
            raise NotPlaced(constraint)
        size = asked_size(card, ask)
        taken = Taken(
            lease_id=lease_id, starts=ask.starts, ends=ask.ends, permille=size.permille, mib=size.mib, whole=ask.whole
        )
        self._apply(Step(placed=True, device_id=device_id, taken=taken))
        return taken

    def remove(self, lease_id: UUID) -> int:
        """Give back everything that the lease takes; returns how many pieces that was."""
        pieces = [
            (device_id, piece)
            for device_id, calendar in self._calendars.items()
            for piece in calendar
            if piece.lease_id == lease_id
        ]
        for device_id, piece in pieces:
            self._apply(Step(placed=False, device_id=device_id, taken=piece))
        return len(pieces)

    def mark(self) -> int:
        return len(self._steps)

    def rollback(self, mark: int) -> None:
        """Undo every step made after the mark, last first."""
        while len(self._steps) > mark:
            step = self._steps.pop()
            self._write(step._replace(placed=not step.placed))

    def plan(self) -> Plan:
        return Plan(tuple(self._steps))

    def _apply(self, step: Step) -> None:
        self._write(step)
        self._steps.append(step)

    def _write(self, step: Step) -> None:
        calendar = self._calendars[step.device_id]
        if step.placed:
            insort(calendar, step.taken, key=sort_key)
        else:
            calendar.remove(step.taken)
