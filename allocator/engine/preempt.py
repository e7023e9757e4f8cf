"""Whom to evict for a request that waits: victims on one node whose going really makes a place there.

A sum of free shares over several nodes is no place: victims are sought node by node, and the result is drafted, so it
is legal. Of all ways the one that wastes least work is taken (time since the last checkpoint x size), then the one
with the fewest victims, then the lowest ranks, then the lowest node id. Who may be a victim is a matter of ranks as
they were bought (`standing`): a priority that decays with use orders the queue, and never decides who evicts whom, so
an evicted request cannot take the place back in the same cycle. Ranks, sizes and times are integers; nothing here
knows a price.

The rules, as in Kueue and KAI-Scheduler: a delay before asking, a minimum run time, at most one eviction of a pair
within the protection time, and a step up for who was evicted often or waited long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from allocator.engine.draft import Draft, NotPlaced, Plan
from allocator.engine.fit import refusal
from allocator.engine.fleet import Ask, Card, Fleet

# A card with very many victims to choose from: after so many looks the best set found so far is taken.
LOOKS = 2_000
STEP = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Times in microseconds. Promotion is by one class (`STEP` ranks)."""

    delay: int
    min_run: int
    promote_after: int
    promote_wait: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A lease that holds capacity. `rank`: higher is more important. `safe_at` is its last checkpoint, or its start.

    `evictable` was bought so. `permille` is the dominant share, the size that the lost time is weighed with.
    """

    lease_id: UUID
    owner: UUID
    rank: int
    permille: int
    started_at: int
    safe_at: int
    protected_until: int = 0
    evictions: int = 0
    evictable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A request that waits: all the devices of `ask`, on one node.

    `pairs` are the owners with whom an eviction, whoever evicted, lies within the protection time. `reclaims` are those
    who use what was lent to them by the claim's side: they give back whatever their rank.
    """

    owner: UUID
    rank: int
    waiting_since: int
    ask: Ask
    evictions: int = 0
    pairs: frozenset[UUID] = frozenset()
    reclaims: frozenset[UUID] = frozenset()


class Cost(NamedTuple):
    """Compared from left to right; costs of different cards add up."""

    waste: int = 0
    victims: int = 0
    ranks: int = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Cut(NamedTuple):
    """Who must leave a card so that the ask fits, and what that costs."""

    cost: Cost
    device_id: UUID
    leases: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """Victims by id on one node, the devices on which the claim then fits, and the steps, each of which is legal.

    `waste` is in permille-microseconds.
    """

    node_id: UUID
    victims: tuple[UUID, ...]
    device_ids: tuple[UUID, ...]
    waste: int
    plan: Plan


def standing(*, rank: int, evictions: int, waited: int, rules: Rules) -> int:
    """The rank that counts: a class higher after repeated eviction or long waiting."""
    is_promoted = evictions >= rules.promote_after or waited >= rules.promote_wait
    return rank + STEP if is_promoted else rank


def waste_of(holder: Holder, *, now: int) -> int:
    """Work that an eviction now would lose, in permille-microseconds."""
    return max(now - max(holder.safe_at, holder.started_at), 0) * holder.permille


def may_evict(claim: Claim, holder: Holder, *, now: int, rules: Rules) -> bool:
    """Whether the rules let the claim evict this lease now."""
    if not holder.evictable or holder.owner == claim.owner or holder.owner in claim.pairs:
        return False
    if now < holder.protected_until or now - holder.started_at < rules.min_run:
        return False
    if holder.owner in claim.reclaims:
        return True
    waited = now - claim.waiting_since
    mine = standing(rank=claim.rank, evictions=claim.evictions, waited=waited, rules=rules)
    theirs = standing(rank=holder.rank, evictions=holder.evictions, waited=0, rules=rules)
    return theirs < mine


def find_victims(fleet: Fleet, claim: Claim, holders: Iterable[Holder], *, now: int, rules: Rules) -> Eviction | None:
    """The cheapest eviction on one node; None when no node can be freed, when none need be, or when it is too soon."""
    if now - claim.waiting_since < rules.delay or claim.ask.devices < 1:
        return None
    allowed = {one.lease_id: one for one in holders if may_evict(claim, one, now=now, rules=rules)}
    if not allowed:
        return None
    nodes: dict[UUID, list[Card]] = defaultdict(list)
    for card in fleet.cards:
        nodes[card.node_id].append(card)
    machines = {machine.node_id: machine for machine in fleet.machines}
    ways = sorted(
        (_total(cuts), node_id, cuts)
        for node_id, cards in nodes.items()
        if (cuts := _cuts_of(cards, claim.ask, allowed, now=now)) is not None
    )
    best: tuple[Cost, Eviction] | None = None
    for least, node_id, cuts in ways:
        if best is not None and best[0] <= least:  # a host may want more victims than the devices do, never fewer
            break
        room = _Room(Fleet.of(nodes[node_id], [machines[node_id]]), claim, cuts, allowed, now=now)
        if room.eviction is not None and (best is None or room.cost < best[0]):
            best = room.cost, room.eviction
    return best[1] if best is not None and best[0].victims else None  # none at all: there is room without


def _total(cuts: Iterable[Cut]) -> Cost:
    total = Cost()
    for cut in cuts:
        total = total.plus(cut.cost)
    return total


def _cuts_of(cards: Sequence[Card], ask: Ask, allowed: Mapping[UUID, Holder], *, now: int) -> list[Cut] | None:
    """The cuts of as many of the cheapest cards as are asked for: a lease is on one card, so their sum is the least."""
    if len(cards) < ask.devices:
        return None
    single = replace(ask, devices=1)
    cuts = [cut for card in cards if (cut := cheapest_cut(card, single, allowed, now=now)) is not None]
    return sorted(cuts)[: ask.devices] if len(cuts) >= ask.devices else None


class _Room:
    """The proof on a copy of one node: the victims out, then the claim in, device ids ascending."""

    def __init__(
        self, node: Fleet, claim: Claim, cuts: Sequence[Cut], allowed: Mapping[UUID, Holder], *, now: int
    ) -> None:
        self._node, self._claim = node, claim
        self._device_ids = tuple(sorted(cut.device_id for cut in cuts))
        victims = [lease_id for cut in cuts for lease_id in cut.leases]
        self.eviction = self._prove(victims)
        if self.eviction is None:  # the devices are free, and the host is not
            victims = self._widen(victims, allowed, now=now)
            self.eviction = self._prove(victims)
        self.cost = _sum_of([(_cost(allowed[one], now=now), one) for one in victims], frozenset(victims))
        if self.eviction is not None:
            self.eviction = replace(self.eviction, waste=self.cost.waste)

    def _prove(self, victims: Sequence[UUID]) -> Eviction | None:
        draft, ask = Draft.of(self._node), replace(self._claim.ask, devices=1)
        for lease_id in sorted(victims):
            draft.remove(lease_id)
        try:
            for device_id in self._device_ids:
                draft.place(device_id, ask, lease_id=self._claim.owner)
                ask = replace(ask, cores_milli=0, host_mib=0)  # of the host once for all devices
        except NotPlaced:
            return None
        return Eviction(
            node_id=self._node.cards[0].node_id, victims=tuple(sorted(victims)), device_ids=self._device_ids, waste=0,
            plan=draft.plan(),
        )  # fmt: skip

    def _widen(self, victims: Sequence[UUID], allowed: Mapping[UUID, Holder], *, now: int) -> list[UUID]:
        """More leases of the node, cheapest first, until the host has room; then without whom it has it too."""
        here = {piece.lease_id for card in self._node.cards for piece in card.taken} & allowed.keys()
        spare = sorted(here - set(victims), key=lambda one: (_cost(allowed[one], now=now), one))
        chosen = list(victims)
        while spare and self._prove(chosen) is None:
            chosen.append(spare.pop(0))
        for lease_id in sorted(chosen, key=lambda one: (_cost(allowed[one], now=now), one), reverse=True):
            fewer = [one for one in chosen if one != lease_id]
            if self._prove(fewer) is not None:
                chosen = fewer
        return chosen


def cheapest_cut(card: Card, ask: Ask, allowed: Mapping[UUID, Holder], *, now: int) -> Cut | None:
    """The cheapest set of leases whose going lets the ask onto the card; empty if it fits, None if nothing helps."""
    if refusal(card, ask) is None:
        return Cut(Cost(), card.device_id, ())
    touching = {piece.lease_id for piece in card.taken if piece.starts < ask.ends and ask.starts < piece.ends}
    items = sorted((_cost(allowed[one], now=now), one) for one in touching & allowed.keys())
    if not items or not _fits(card, ask, touching & allowed.keys()):
        return None
    chosen = _Search(card, ask, items).best
    return Cut(_sum_of(items, chosen), card.device_id, tuple(sorted(chosen)))


def _cost(holder: Holder, *, now: int) -> Cost:
    return Cost(waste_of(holder, now=now), 1, holder.rank)


def _sum_of(items: Sequence[tuple[Cost, UUID]], chosen: frozenset[UUID]) -> Cost:
    total = Cost()
    for cost, lease_id in items:
        if lease_id in chosen:
            total = total.plus(cost)
    return total


def _fits(card: Card, ask: Ask, gone: frozenset[UUID] | set[UUID]) -> bool:
    left = tuple(piece for piece in card.taken if piece.lease_id not in gone)
    return refusal(replace(card, taken=left), ask) is None


class _Search:
    """Branch and bound over the victims of one card, cheapest first, from a greedy answer on."""

    def __init__(self, card: Card, ask: Ask, items: Sequence[tuple[Cost, UUID]]) -> None:
        self._card, self._ask, self._items = card, ask, items
        self._looks = LOOKS
        self.best = self._greedy()
        self._best_cost = _sum_of(items, self.best)
        self._extend(0, frozenset(), Cost())

    def _greedy(self) -> frozenset[UUID]:
        """All of them, less whoever may stay, the most expensive first."""
        gone = {lease_id for _, lease_id in self._items}
        for _, lease_id in reversed(self._items):
            if _fits(self._card, self._ask, gone - {lease_id}):
                gone.discard(lease_id)
        return frozenset(gone)

    def _extend(self, index: int, gone: frozenset[UUID], cost: Cost) -> None:
        rest = frozenset(lease_id for _, lease_id in self._items[index:])
        if self._looks <= 0 or not self._enough(gone | rest):
            return
        for place in range(index, len(self._items)):
            more, lease_id = self._items[place]
            total = cost.plus(more)
            if total >= self._best_cost:  # items are in order of cost: the later ones cost no less
                return
            if self._enough(gone | {lease_id}):
                self.best, self._best_cost = gone | {lease_id}, total
                return
            self._extend(place + 1, gone | {lease_id}, total)

    def _enough(self, gone: frozenset[UUID]) -> bool:
        self._looks -= 1
        return _fits(self._card, self._ask, gone)
