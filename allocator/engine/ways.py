"""What `later` tells of a fleet, for a large one: the arrays say which few devices have to be looked at one by one.

A property compares the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from allocator.engine.books import Ints
from allocator.engine.draft import Draft
from allocator.engine.fit import Room, Size
from allocator.engine.fleet import FOREVER, Ask, Card
from allocator.engine.later import NEAREST, Later, free_of, likeness, node_next_free, smaller, soonness
from allocator.engine.layout import Flags


def earliest(draft: Draft, ask: Ask) -> Later | None:
    """The soonest start over the fleet; ties go to the first card. For several devices the first of those together.

    Nodes by the first instant at which enough of what runs there now could have ended, until that is later than the
    best start found: what is booked for later, the host and the node's maintenance only make it later.
    """
    layout, together = draft.layout, max(ask.devices, 1)
    if not ask.is_possible or layout.columns < together:
        return None
    bounds = np.where(_sold(draft, ask), _bounds(draft, ask), FOREVER)
    first = np.sort(bounds, axis=1)[:, together - 1]
    best: Later | None = None
    for row in np.argsort(first, kind="stable").tolist():
        if first[row] == FOREVER or (best is not None and first[row] > best.starts):
            break
        cards = [draft.card(device_id) for device_id in layout.device_ids[row]]
        machine = draft.machine(layout.machines[row].node_id)
        found = node_next_free(machine, cards, ask, FOREVER if best is None else best.starts)
        if found is not None and (best is None or soonness(found) < soonness(best)):
            best = found
    return best


def _sold(draft: Draft, ask: Ask) -> Flags:
    """(rows, columns): devices of the sort that serve; some of them may be too small in other ways."""
    layout = draft.layout
    serves = layout.online & ~layout.cordoned & ~layout.unhealthy
    large = (layout.permille >= ask.permille) & (layout.mib >= ask.mib)
    sold: Flags = layout.may_serve(ask) & serves & large
    return sold


def _bounds(draft: Draft, ask: Ask) -> Ints:
    """(rows, columns): no device takes the ask before."""
    layout = draft.layout
    permille, mib = draft.view(ask.starts, ask.ends).takes(ask, slice(None))
    most = np.stack([(layout.permille - permille).ravel(), (layout.mib - mib).ravel()])
    return draft.down_to(most, ask.starts).reshape(layout.rows, layout.columns)


def largest_free(draft: Draft, ask: Ask) -> Size | None:
    """The largest piece that one card of the ask's sort has free over its period: compute first, then memory."""
    return max((Size(*room) for room, _ in _rooms(draft, ask)), default=None)


def nearest_sizes(draft: Draft, ask: Ask) -> list[tuple[Size, Card]]:
    """Up to three smaller sizes that fit for the wished period, the nearest first; none for several devices."""
    if not ask.is_possible or ask.devices != 1 or ask.mib == 0:
        return []
    found: dict[Size, Card] = {}
    for room, card in _rooms(draft, ask):
        for size in smaller(room, ask):
            found.setdefault(size, card)
    order = sorted(found, key=lambda size: (-likeness(size, ask), -size.permille, -size.mib))
    return [(size, found[size]) for size in order[:NEAREST]]


def _rooms(draft: Draft, ask: Ask) -> list[tuple[Room, Card]]:
    """Each room that is left on some card that takes the smallest piece, with the first such card."""
    layout, view = draft.layout, draft.view(ask.starts, ask.ends)
    if layout.columns == 0:
        return []
    small = replace(ask, permille=1, mib=1, whole=False, devices=1)
    places = np.flatnonzero(view.refusals(small) == -1)
    rooms = np.stack([view.permille.ravel()[places], view.mib.ravel()[places]])
    for number in np.flatnonzero(layout.mig.ravel()[places] < len(layout.migs)).tolist():
        row, column = divmod(int(places[number]), layout.columns)
        rooms[:, number] = free_of(draft.card(layout.device_ids[row][column]), ask)
    _, firsts = np.unique(rooms, axis=1, return_index=True)
    found = []
    for number in np.sort(firsts).tolist():
        row, column = divmod(int(places[number]), layout.columns)
        found.append((Room(int(rooms[0, number]), int(rooms[1, number])), layout.cards[row][column]))
    return found
