"""What each node and device of the fleet is, in arrays: rows are nodes, columns the devices of a node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from allocator.engine.fleet import Ask, Card, Fleet, Machine
from allocator.engine.mig import MigLayout, choose

Flags = NDArray[np.bool_]
T = TypeVar("T")

# What of a card may change without the fleet being laid out anew: the first seven are numbers of an array of devices.
SERVICE = ("health", "power_w", "online", "cordoned", "settling", "standby", "unhealthy", "closed")


def _service(card: Card) -> tuple[int, ...]:
    health, power_w = -1 if card.health is None else card.health, -1 if card.power_w is None else card.power_w
    return health, power_w, card.online, card.cordoned, card.settling, card.standby, card.unhealthy


class Layout:
    """Where each node and device is, and what they are. Rows by node id, columns by device id; `exists` where one is.

    `device_ids[row][column]`; arrays of devices have the shape (rows, columns), of nodes (rows,). Only what `SERVICE`
    names may change (`renew`).
    """

    def __init__(self, fleet: Fleet) -> None:
        self.machines = fleet.machines
        self.row_of = {machine.node_id: row for row, machine in enumerate(fleet.machines)}
        cards: list[list[Card]] = [[] for _ in fleet.machines]
        for card in fleet.cards:
            cards[self.row_of[card.node_id]].append(card)
        self.rows = len(cards)
        self.columns = max((len(row) for row in cards), default=0)
        self.cards = cards
        self.device_ids = [[card.device_id for card in row] for row in cards]
        self.place_of = {
            card.device_id: (row, column) for row, found in enumerate(cards) for column, card in enumerate(found)
        }
        self.models = tuple(sorted({card.model for card in fleet.cards}))
        self.kinds = tuple(sorted({card.kind for card in fleet.cards}))
        # The last number is of the cards that are not cut.
        self.migs = tuple(dict.fromkeys(card.mig for card in fleet.cards if card.mig is not None))
        self.slots = max((mig.slices for mig in self.migs), default=0)
        self._read_cards()
        self.devices = self.exists.sum(axis=1)
        self.cores = np.array([machine.cores_milli for machine in fleet.machines], np.int64)
        self.host_mib = np.array([machine.mib for machine in fleet.machines], np.int64)
        self.sites = {site.name: site for site in fleet.sites}
        self._kept: dict[Hashable, Any] = {}
        self._masks: dict[Hashable, Flags] = {}
        self._tables: dict[tuple[int, int], _MigTable] = {}
        self._sum_up()

    def _read_cards(self) -> None:
        """One pass over the cards: every array of devices."""
        models = {model: number for number, model in enumerate(self.models)}
        kinds = {kind: number for number, kind in enumerate(self.kinds)}
        migs = {mig: number for number, mig in enumerate(self.migs)}
        none = len(migs)
        places = [self.flat(row, column) for row, found in enumerate(self.cards) for column in range(len(found))]
        values = [
            (
                card.permille, card.mib, card.copy_permille, models[card.model], kinds[card.kind],
                none if card.mig is None else migs[card.mig], card.isolation_rank, *_service(card), 1,
            )
            for found in self.cards for card in found
        ]  # fmt: skip
        absent = (0, 0, 0, -1, -1, none, 0, -1, -1, 0, 0, 0, 0, 0, 0)
        table = np.repeat(np.array(absent, np.int64)[:, None], self.rows * self.columns, axis=1)
        if values:
            table[:, places] = np.array(values, np.int64).T
        shaped = table.reshape(len(absent), self.rows, self.columns)
        self.permille, self.mib, self.copy, self.model, self.kind, self.mig, self.isolation = shaped[:7]
        self._services = shaped[7:-1]
        self.is_card = shaped[-1].astype(np.bool_)
        self.exists = self.permille > 0

    def _sum_up(self) -> None:
        """Everything that is made of the services."""
        self.health, self.power_w = self._services[:2]
        self.online, self.cordoned, self.settling, self.standby, self.unhealthy = self._services[2:].astype(np.bool_)
        self.serves = self.exists & self.online & ~(self.cordoned | self.settling | self.standby | self.unhealthy)
        self.tells_health = bool((self.health >= 0).any())
        self._closed = [
            (self.flat(row, column), closed.starts, closed.ends)
            for row, found in enumerate(self.cards) for column, card in enumerate(found) for closed in card.closed
        ]  # fmt: skip
        self._kept.clear()

    def renew(self, rows: Mapping[int, list[Card]]) -> None:
        """The cards of these rows are now these: the same ones, but for their services."""
        for row, cards in rows.items():
            self.cards[row] = cards
            self._services[:, row, : len(cards)] = np.array([_service(card) for card in cards], np.int64).T
        self._sum_up()

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made of the layout, made once."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def flat(self, row: int, column: int) -> int:
        """The place of a device in the books."""
        return row * self.columns + column

    def closed(self, starts: int, ends: int) -> Flags:
        """(rows, columns): devices whose node is in maintenance at some time in [starts, ends)."""
        found = np.zeros(self.rows * self.columns, np.bool_)
        found[[place for place, begins, finishes in self._closed if begins < ends and starts < finishes]] = True
        return found.reshape(self.rows, self.columns)

    def may_serve(self, ask: Ask) -> Flags:
        """(rows, columns): devices of the sort that is asked for, whatever the time and the load."""
        key = (ask.device_id, ask.kind, ask.isolation_rank, ask.models, ask.pool, ask.site)
        mask = self._masks.get(key)
        if mask is None:
            mask = self.is_card.copy()
            for _, others in self.other_sorts(ask):
                mask &= ~others
            self._masks[key] = mask
        return mask

    def other_sorts(self, ask: Ask) -> list[tuple[str, Flags]]:
        """By constraint, which devices are not of the sort, in the order of CONSTRAINTS. Broadcasts over columns."""
        found: list[tuple[str, Flags]] = []
        if ask.device_id is not None:
            only = np.zeros((self.rows, self.columns), np.bool_)
            if ask.device_id in self.place_of:
                only[self.place_of[ask.device_id]] = True
            found.append(("other_device", ~only))
        if ask.kind is not None:
            found.append(("other_kind", self.kind != (self.kinds.index(ask.kind) if ask.kind in self.kinds else -2)))
        if ask.models is not None:
            numbers = [number for number, model in enumerate(self.models) if model in ask.models]
            found.append(("other_model", ~np.isin(self.model, numbers)))
        if ask.pool is not None:
            found.append(("other_pool", ~self.rows_of(lambda machine: machine.pool == ask.pool)[:, None]))
        if ask.site is not None:
            found.append(("other_site", ~self.rows_of(lambda machine: machine.site == ask.site)[:, None]))
        if ask.isolation_rank is not None:
            found.append(("isolation", self.isolation > ask.isolation_rank))
        return found

    def rows_of(self, is_wanted: Callable[[Machine], bool]) -> Flags:
        """(rows,)"""
        return np.array([is_wanted(machine) for machine in self.machines], np.bool_)

    def other_rows(self, name: str, wanted: str | None) -> Flags:
        """(rows,): nodes whose `name` (an attribute) is another; made once for each."""
        make = partial(self.rows_of, lambda machine: wanted not in (None, getattr(machine, name)))
        return self.keep((name, wanted), make)

    def mig_table(self, ask: Ask) -> _MigTable:
        """How the ask is cut out of each sort of card."""
        key = (ask.permille, ask.mib)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = _MigTable(self.migs, self.slots, ask)
        return table


class _MigTable:
    """By number of the layout (the last: not cut): what an ask takes, and whether a busy mask leaves a start for it."""

    def __init__(self, migs: Sequence[MigLayout], slots: int, ask: Ask) -> None:
        profiles = [mig.smallest(ask.permille, ask.mib) for mig in migs]
        self.holds = np.array([*(one is not None for one in profiles), True])
        self.permille = np.array([*(0 if one is None else one.permille for one in profiles), ask.permille], np.int64)
        self.mib = np.array([*(0 if one is None else one.mib for one in profiles), ask.mib], np.int64)
        self.has_start = np.ones((len(migs) + 1, 1 << slots), np.bool_)
        for number, (mig, profile) in enumerate(zip(migs, profiles, strict=True)):
            if profile is not None:
                free = [choose(mig, profile, busy) is not None for busy in range(1 << slots)]
                self.has_start[number] = free
