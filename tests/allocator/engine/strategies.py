"""Small fleets and asks, for properties and for a brute-force oracle."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from allocator.engine.fleet import FOREVER, Ask, Card, Fleet

SPAN = 12


def make_card(number: int, *, permille: int = 1000, mib: int = 100) -> Card:
    return Card(
        device_id=UUID(int=number), node_id=UUID(int=number), kind="cpu", isolation_rank=3, permille=permille, mib=mib
    )


def make_fleet(cards: int = 2) -> Fleet:
    return Fleet.of(make_card(number) for number in range(1, cards + 1))


def make_ask(starts: int = 0, ends: int = FOREVER, *, permille: int = 250, mib: int = 25, whole: bool = False) -> Ask:
    return Ask(permille=permille, mib=mib, starts=starts, ends=ends, whole=whole)


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    starts = draw(st.integers(0, SPAN - 1))
    ends = draw(st.one_of(st.just(FOREVER), st.integers(starts + 1, SPAN)))
    return make_ask(
        starts,
        ends,
        permille=draw(st.integers(1, 1000)),
        mib=draw(st.integers(1, 100)),
        whole=draw(st.sampled_from([False, False, False, True])),
    )


def instants(card: Card) -> range:
    """Every whole instant at which a small calendar may change, and one after."""
    return range(SPAN + 2)


def usage_at(card: Card, instant: int) -> tuple[int, int]:
    """(permille, MiB) taken at an instant, counted by hand."""
    running = [piece for piece in card.taken if piece.starts <= instant < piece.ends]
    return sum(piece.permille for piece in running), sum(piece.mib for piece in running)


def fits_by_hand(card: Card, ask: Ask) -> bool:
    """The oracle: look at every instant."""
    permille, mib = (card.permille, card.mib) if ask.whole else (ask.permille, ask.mib)
    for instant in (*instants(card), ask.starts):  # nothing changes after the last of the instants
        if not ask.starts <= instant < ask.ends:
            continue
        running = [piece for piece in card.taken if piece.starts <= instant < piece.ends]
        if running and (ask.whole or any(piece.whole for piece in running)):
            return False
        used_permille, used_mib = usage_at(card, instant)
        if used_permille + permille > card.permille or used_mib + mib > card.mib:
            return False
    return True
