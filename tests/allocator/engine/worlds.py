"""Small fleets with everything in them, random calendars on them, and the rule said again, instant by instant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from hypothesis import strategies as st

from allocator.engine.draft import Draft, NotPlaced
from allocator.engine.fleet import FOREVER, UNLIMITED, Ask, Card, Closed, Fleet, Machine
from allocator.engine.mig import MigLayout, Slots, layout_of
from tests.allocator.engine.strategies import SPAN

INSTANTS = range(SPAN + 2)
MIGS = [None, None, layout_of("A100", 80), layout_of("A30", 40)]
windows = st.tuples(st.integers(0, SPAN - 1), st.one_of(st.just(FOREVER), st.integers(1, SPAN))).map(
    lambda pair: (pair[0], pair[1] if pair[1] == FOREVER else pair[0] + pair[1])
)
closures = st.one_of(st.just(()), st.tuples(windows.map(lambda window: Closed(*window))))
rarely = st.sampled_from([False] * 9 + [True])


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    """Up to three nodes of up to three cards."""
    cards, machines = [], []
    for node in range(1, draw(st.integers(1, 3)) + 1):
        machines.append(
            Machine(
                node_id=UUID(int=node), pool=draw(st.sampled_from(["", "p"])), site=draw(st.sampled_from(["", "s"])),
                cores_milli=draw(st.sampled_from([UNLIMITED, 0, 4])), mib=draw(st.sampled_from([UNLIMITED, 6])),
            )
        )  # fmt: skip
        cards += [draw(cards_of(node, number)) for number in range(draw(st.integers(0, 3)))]
    return Fleet.of(cards, machines)


@st.composite
def cards_of(draw: st.DrawFn, node: int, number: int) -> Card:
    mig = draw(st.sampled_from(MIGS))
    return Card(
        device_id=UUID(int=100 * node + number), node_id=UUID(int=node), kind=draw(st.sampled_from(["a", "b"])),
        isolation_rank=draw(st.integers(0, 2)), permille=draw(st.sampled_from([1000, 1000, 500, 0])),
        mib=80 if mig is None or mig.slices == 8 else 40, online=not draw(rarely), cordoned=draw(rarely),
        closed=draw(closures), model=draw(st.sampled_from(["", "x", "y"])),
        copy_permille=draw(st.sampled_from([1000, 300])), unhealthy=draw(rarely), mig=mig,
    )  # fmt: skip


@st.composite
def vector_asks(draw: st.DrawFn) -> Ask:
    """Of every sort, with an impossible one now and then."""
    starts, ends = draw(windows)
    any_of = st.sampled_from
    return Ask(
        permille=draw(st.one_of(st.integers(1, 1000), any_of([0, 142, 285, 1001]))),
        mib=draw(st.one_of(st.integers(0, 80), any_of([10, 20, 81]))), starts=starts, ends=ends,
        whole=draw(rarely), kind=draw(any_of([None, None, "a", "c"])), isolation_rank=draw(any_of([None, None, 1])),
        device_id=draw(any_of([None] * 6 + [UUID(int=100), UUID(int=9)])), devices=draw(any_of([1] * 5 + [0, 2, 4])),
        copy_permille=draw(any_of([0, 0, 200, 400])), cores_milli=draw(any_of([0, 0, 1, 3])),
        host_mib=draw(any_of([0, 0, 2, 5])), models=draw(any_of([None, None, frozenset("x"), frozenset()])),
        pool=draw(any_of([None, None, "p"])), site=draw(any_of([None, None, "s", "t"])),
    )  # fmt: skip


@st.composite
def plain_asks(draw: st.DrawFn) -> Ask:
    """Small enough that many fit."""
    ask: Ask = draw(vector_asks())
    return replace(
        ask, permille=max(ask.permille // 3, 1), mib=ask.mib // 3, kind=None, isolation_rank=None, device_id=None,
        devices=1, models=None, pool=None, site=None,
    )  # fmt: skip


loads = st.lists(st.tuples(plain_asks(), st.integers(0, 8)), max_size=16)


def loaded(fleet: Fleet, wanted: list[tuple[Ask, int]], *, first: int = 1000) -> Draft:
    """Each ask tried on one of the cards; what does not fit is left out."""
    draft = Draft.of(fleet)
    fill(draft, wanted, first=first)
    return draft


def fill(draft: Draft, wanted: list[tuple[Ask, int]], *, first: int) -> list[UUID]:
    """The leases that were placed."""
    placed = []
    cards = [card for row in draft.layout.cards for card in row]
    for number, (ask, card) in enumerate(wanted if cards else (), start=first):
        try:
            draft.place(cards[card % len(cards)].device_id, ask, lease_id=UUID(int=number))
        except NotPlaced:
            continue
        placed.append(UUID(int=number))
    return placed


def within(starts: int, ends: int) -> Iterator[int]:
    """The instants of a window; its start stands for a time after all that is planned."""
    return (instant for instant in {*INSTANTS, starts} if starts <= instant < ends)


def taken_at(card: Card, instant: int) -> tuple[int, int, int, int, int]:
    """(permille, MiB, copy, pieces, wholes) at an instant."""
    running = [piece for piece in card.taken if piece.starts <= instant < piece.ends]
    return (
        sum(piece.permille for piece in running), sum(piece.mib for piece in running),
        sum(piece.copy_permille for piece in running), len(running), sum(piece.whole for piece in running),
    )  # fmt: skip


def host_at(machine: Machine, instant: int) -> tuple[int, int]:
    """(cores, MiB) at an instant."""
    running = [piece for piece in machine.taken if piece.starts <= instant < piece.ends]
    return sum(piece.cores_milli for piece in running), sum(piece.mib for piece in running)


def is_slot_free(card: Card, slots: Slots, starts: int, ends: int) -> bool:
    """Whether nobody has any of these slices at any instant."""
    wanted = set(range(slots.start, slots.start + slots.length))
    return not any(
        piece.slots is not None
        and piece.starts <= instant < piece.ends
        and wanted & set(range(piece.slots.start, piece.slots.start + piece.slots.length))
        for instant in within(starts, ends)
        for piece in card.taken
    )


def has_room(card: Card, ask: Ask) -> bool:
    """By hand, of the card's load alone: every resource at every instant, and one slot for all of them."""
    permille, mib, slots = ask.permille, ask.mib, []
    if card.mig is not None and not ask.whole:
        profile = next(one for one in card.mig.profiles if one.permille >= ask.permille and one.mib >= ask.mib)
        permille, mib = profile.permille, profile.mib
        slots = [Slots(start, profile.length) for start in profile.starts]
    for instant in within(ask.starts, ask.ends):
        used = taken_at(card, instant)
        if ask.whole and used[3]:
            return False
        if not ask.whole and (used[4] or used[0] + permille > card.permille or used[1] + mib > card.mib):
            return False
        if not ask.whole and ask.copy_permille and used[2] + ask.copy_permille > card.copy_permille:
            return False
    return not slots or any(is_slot_free(card, one, ask.starts, ask.ends) for one in slots)


def is_legal(fleet: Fleet) -> bool:
    """Nothing oversold at any instant, no whole device beside others, no slice of a card twice."""
    for card in fleet.cards:
        for instant in INSTANTS:
            permille, mib, copy, pieces, wholes = taken_at(card, instant)
            running = [piece for piece in card.taken if piece.starts <= instant < piece.ends]
            slices = [n for p in running if p.slots for n in range(p.slots.start, p.slots.start + p.slots.length)]
            if permille > card.permille or mib > card.mib or copy > card.copy_permille:
                return False
            if (wholes and pieces > 1) or len(slices) != len(set(slices)):
                return False
    hosts = ((machine, *host_at(machine, instant)) for machine in fleet.machines for instant in INSTANTS)
    return all(cores <= machine.cores_milli and mib <= machine.mib for machine, cores, mib in hosts)


def legal_starts(mig: MigLayout, length: int) -> set[int]:
    return {start for one in mig.profiles if one.length == length for start in one.starts}
