"""Who is evicted for whom: on one node, only when it helps, the least work first. Against every subset by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.engine.draft import Draft
from allocator.engine.fleet import Ask, Fleet, HostTaken, Machine, Taken, sort_key
from allocator.engine.preempt import STEP, Claim, Cost, Eviction, Holder, Rules, find_victims, may_evict, waste_of
from tests.allocator.engine.strategies import fits_by_hand, make_ask, make_card

NOW = 1_000
RULES = Rules(delay=60, min_run=100, promote_after=3, promote_wait=900)
LOW, NORMAL, URGENT = 0, 2, 4
HIGH = make_ask(NOW, permille=1000, mib=100)
CLAIMANT = UUID(int=999)


def make_holder(number: int, **over: Any) -> Holder:
    wanted: dict[str, Any] = {
        "lease_id": UUID(int=number), "owner": UUID(int=10_000 + number), "rank": LOW, "permille": 500, "started_at": 0,
        "safe_at": 0, **over,
    }  # fmt: skip
    return Holder(**wanted)


def make_claim(ask: Ask = HIGH, *, count: int = 1, **over: Any) -> Claim:
    ask = replace(ask, devices=count)
    return Claim(**{"owner": CLAIMANT, "rank": NORMAL, "waiting_since": NOW - 60, "ask": ask, **over})


def nodes_of(sizes: list[int], *, node: int = 1, permille: int = 1000) -> Fleet:
    """One node; a card for each size, full with leases 100 x card + n of an equal share (0: an empty card)."""
    cards = []
    for number, leases in enumerate(sizes, start=1):
        card = replace(make_card(100 * node + number), node_id=UUID(int=node))
        draft = Draft.of(Fleet.of([card]))
        for piece in range(leases):
            draft.place(
                card.device_id, make_ask(0, permille=permille // leases, mib=100 // leases),
                lease_id=UUID(int=10_000 * node + 100 * number + piece),
            )  # fmt: skip
        cards.append(draft.fleet().cards[0])
    return Fleet.of(cards)


def together(*fleets: Fleet) -> Fleet:
    return Fleet.of(card for fleet in fleets for card in fleet.cards)


def holders_of(fleet: Fleet, **over: Any) -> list[Holder]:
    leases = sorted({piece.lease_id for card in fleet.cards for piece in card.taken})
    return [make_holder(lease_id.int, **over) for lease_id in leases]


def find(fleet: Fleet, holders: list[Holder], claim: Claim | None = None, *, rules: Rules = RULES) -> Eviction | None:
    return find_victims(fleet, claim or make_claim(), holders, now=NOW, rules=rules)


def test_low_work_over_four_nodes_is_no_place_for_a_request_of_eight() -> None:
    fleet = together(*(nodes_of([1] * 8, node=node) for node in range(1, 5)))
    high = {UUID(int=10_000 * node + 100 * card) for node in range(1, 5) for card in range(1, 7)}
    holders = [replace(one, rank=URGENT if one.lease_id in high else LOW) for one in holders_of(fleet)]
    assert sum(one.rank == LOW for one in holders) == 8
    assert find(fleet, holders, make_claim(count=8)) is None
    assert find(fleet, holders, make_claim(count=3)) is None
    two = find(fleet, holders, make_claim(count=2))
    assert two is not None
    assert {one.int // 10_000 for one in two.victims} == {1}


def test_a_node_that_can_be_freed_is_freed_and_no_other() -> None:
    fleet = together(nodes_of([1] * 8, node=1), nodes_of([1] * 8, node=2))
    holders = [replace(one, rank=LOW if one.lease_id.int >= 20_000 else URGENT) for one in holders_of(fleet)]
    found = find(fleet, holders, make_claim(count=8))
    assert found is not None
    assert (found.node_id, len(found.victims), len(set(found.device_ids))) == (UUID(int=2), 8, 8)


def test_least_wasted_work_goes_before_fewest_victims() -> None:
    fleet = together(nodes_of([1], node=1), nodes_of([2], node=2))
    one, *two = holders_of(fleet)
    half = [replace(holder, permille=500, safe_at=NOW - 10) for holder in two]
    assert find(fleet, [one, *half]) is not None
    found = find(fleet, [replace(one, permille=1000, safe_at=NOW - 11), *half])
    assert found is not None
    assert (found.node_id, found.waste) == (UUID(int=2), 2 * 10 * 500)
    found = find(fleet, [replace(one, permille=1000, safe_at=NOW - 10), *half])
    assert found is not None
    assert (found.node_id, len(found.victims)) == (UUID(int=1), 1)


def test_the_rules_protect() -> None:
    victim = make_holder(1)
    assert may_evict(make_claim(), victim, now=NOW, rules=RULES)
    protected = [
        replace(victim, evictable=False),
        replace(victim, rank=NORMAL),
        replace(victim, started_at=NOW - 99),
        replace(victim, protected_until=NOW + 1),
        replace(victim, owner=CLAIMANT),
        replace(victim, evictions=RULES.promote_after),  # a class higher: now an equal
    ]
    assert [may_evict(make_claim(), one, now=NOW, rules=RULES) for one in protected] == [False] * len(protected)
    assert not may_evict(make_claim(pairs=frozenset({victim.owner})), victim, now=NOW, rules=RULES)


def test_who_waited_long_stands_a_class_higher_and_what_was_lent_comes_back() -> None:
    equal = make_holder(1, rank=NORMAL)
    assert not may_evict(make_claim(), equal, now=NOW, rules=RULES)
    assert may_evict(make_claim(waiting_since=NOW - RULES.promote_wait), equal, now=NOW, rules=RULES)
    assert may_evict(make_claim(evictions=RULES.promote_after), equal, now=NOW, rules=RULES)
    above = replace(equal, rank=NORMAL + STEP)
    assert may_evict(make_claim(reclaims=frozenset({above.owner})), above, now=NOW, rules=RULES)


def test_too_soon_or_with_room_elsewhere_nobody_is_evicted() -> None:
    full = nodes_of([2], node=1)
    assert find(full, holders_of(full), make_claim(waiting_since=NOW - 59)) is None
    assert find(together(full, nodes_of([0], node=2)), holders_of(full)) is None


def test_a_victim_that_frees_too_little_is_left_alone() -> None:
    fleet = nodes_of([4], node=1)
    three = holders_of(fleet)[:3]
    assert find(fleet, three) is None
    found = find(fleet, three, make_claim(make_ask(NOW, permille=500, mib=50)))
    assert found is not None
    assert len(found.victims) == 2


def test_a_host_without_cores_is_freed_too() -> None:
    fleet = nodes_of([0, 2], node=1)
    first, second = holders_of(fleet)
    taken = [
        HostTaken(lease_id=one.lease_id, starts=0, ends=10**6, cores_milli=4_000, mib=1) for one in (first, second)
    ]
    host = Machine(node_id=UUID(int=1), cores_milli=8_000, mib=100, taken=tuple(taken))
    needs = replace(make_ask(NOW, permille=100, mib=1), cores_milli=3_000)
    found = find(Fleet.of(fleet.cards, [host]), [replace(first, safe_at=NOW - 1), second], make_claim(needs))
    assert found is not None
    assert (found.victims, found.waste) == ((first.lease_id,), 500)


@st.composite
def small(draw: st.DrawFn) -> tuple[Fleet, list[Holder], Claim]:
    """Two nodes of two cards, up to four leases each, and a claim of one or two devices."""
    cards, holders = [], []
    for number in range(4):
        card = replace(make_card(number + 1), node_id=UUID(int=1 + number // 2))
        draft = Draft.of(Fleet.of([card]))
        for piece in range(draw(st.integers(0, 4))):
            starts = draw(st.integers(0, 6))
            ask = make_ask(
                starts, draw(st.integers(starts + 1, 12)), permille=draw(st.integers(1, 1000)),
                mib=draw(st.integers(1, 100)),
            )  # fmt: skip
            if fits_by_hand(draft.fleet().cards[0], ask):
                lease = 10 * (number + 1) + piece
                draft.place(card.device_id, ask, lease_id=UUID(int=lease))
                evictable, size, safe = draw(st.booleans()), draw(st.integers(1, 3)), draw(st.integers(-3, 0))
                holders.append(make_holder(lease, permille=size, safe_at=safe, started_at=-9, evictable=evictable))
        cards.append(draft.fleet().cards[0])
    ask = make_ask(
        draw(st.integers(0, 6)), permille=draw(st.integers(1, 1000)), mib=draw(st.integers(1, 100)),
        whole=draw(st.sampled_from([False, False, True])),
    )  # fmt: skip
    return Fleet.of(cards), holders, make_claim(ask, count=draw(st.integers(1, 2)), waiting_since=-99)


def cheapest_by_hand(fleet: Fleet, holders: list[Holder], claim: Claim) -> Cost | None:
    """Every set of victims of every node."""
    allowed = {one.lease_id: one for one in holders if one.evictable}
    costs = []
    for node_id in sorted({card.node_id for card in fleet.cards}):
        cards = [card for card in fleet.cards if card.node_id == node_id]
        leases = sorted({piece.lease_id for card in cards for piece in card.taken} & allowed.keys())
        for size in range(len(leases) + 1):
            for gone in combinations(leases, size):
                left = [replace(c, taken=tuple(p for p in c.taken if p.lease_id not in gone)) for c in cards]
                if sum(fits_by_hand(card, claim.ask) for card in left) >= claim.ask.devices:
                    waste = sum(waste_of(allowed[one], now=0) for one in gone)
                    costs.append(Cost(waste, size, LOW))
    return min(costs, default=None)


@settings(max_examples=150, deadline=None)
@given(small())
def test_no_set_of_victims_by_hand_is_cheaper(case: tuple[Fleet, list[Holder], Claim]) -> None:
    fleet, holders, claim = case
    best = cheapest_by_hand(fleet, holders, claim)
    found = find_victims(fleet, claim, holders, now=0, rules=replace(RULES, min_run=0))
    if best is None or best.victims == 0:
        assert found is None
        return
    assert found is not None
    assert (found.waste, len(found.victims)) == (best.waste, best.victims)
    assert len(set(found.device_ids)) == claim.ask.devices
    assert found == find_victims(fleet, claim, reversed(holders), now=0, rules=replace(RULES, min_run=0))


@settings(max_examples=60, deadline=None)
@given(small())
def test_each_step_of_an_eviction_is_legal_and_touches_one_node(case: tuple[Fleet, list[Holder], Claim]) -> None:
    fleet, holders, claim = case
    found = find_victims(fleet, claim, holders, now=0, rules=replace(RULES, min_run=0))
    if found is None:
        return
    cards = {card.device_id: card for card in fleet.cards}
    evictable = {one.lease_id for one in holders if one.evictable}
    assert set(found.victims) <= evictable
    for step in found.plan.steps:
        card = cards[step.place_id]
        assert isinstance(step.taken, Taken)
        assert card.node_id == found.node_id
        if step.placed:
            assert fits_by_hand(card, claim.ask)
            left = (*card.taken, step.taken)
        else:
            left = tuple(piece for piece in card.taken if piece != step.taken)
        cards[step.place_id] = replace(card, taken=tuple(sorted(left, key=sort_key)))
