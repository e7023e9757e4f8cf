"""The fleet in arrays: rows are nodes, columns the devices of a node.

A `Layout` is what does not change with the load; a `View` is what is left over one window, and follows every change of
the draft that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from allocator.engine.books import Books, Ints
from allocator.engine.fleet import Ask, Card, Fleet

Flags = NDArray[np.bool_]

# Resources of a device's piece. The last two make "is anything on it" and "is it taken whole" peaks like the others.
PERMILLE, MIB, COPY, PIECES, WHOLES = range(5)
DEVICE_RESOURCES = 5
# Of a node's.
CORES, HOST_MIB = range(2)
HOST_RESOURCES = 2


class Layout:
    """Where each node and device is, and what they are. Rows by node id, columns by device id; `exists` where one is.

    `device_ids[row][column]`; arrays of devices have the shape (rows, columns), of nodes (rows,).
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
        numbers = {model: number for number, model in enumerate(self.models)}
        self.exists = self._each(lambda card: int(card.permille > 0), 0).astype(np.bool_)
        self.permille = self._each(lambda card: card.permille, 0)
        self.mib = self._each(lambda card: card.mib, 0)
        self.copy = self._each(lambda card: card.copy_permille, 0)
        self.model = self._each(lambda card: numbers[card.model], -1)
        self.health = self._each(lambda card: -1 if card.health is None else card.health, -1)
        self.devices = self.exists.sum(axis=1)
        self.cores = np.array([machine.cores_milli for machine in fleet.machines], np.int64)
        self.host_mib = np.array([machine.mib for machine in fleet.machines], np.int64)
        self._masks: dict[Hashable, Flags] = {}

    def _each(self, read: Callable[[Card], int], absent: int) -> Ints:
        found = np.full((self.rows, self.columns), absent, np.int64)
        for row, cards in enumerate(self.cards):
            for column, card in enumerate(cards):
                found[row, column] = read(card)
        return found

    def flat(self, row: int, column: int) -> int:
        """The place of a device in the books."""
        return row * self.columns + column

    def may_serve(self, ask: Ask) -> Flags:
        """(rows, columns): devices of the sort that is asked for, whatever the time and the load."""
        key = (ask.device_id, ask.kind, ask.isolation_rank, ask.models, ask.pool, ask.site)
        mask = self._masks.get(key)
        if mask is None:
            wanted = self._each(lambda card: int(self._is_wanted(card, ask)), 0).astype(np.bool_)
            mask = self._masks[key] = wanted
        return mask

    def _is_wanted(self, card: Card, ask: Ask) -> bool:
        machine = self.machines[self.row_of[card.node_id]]
        return (
            (ask.device_id is None or card.device_id == ask.device_id)
            and (ask.kind is None or card.kind == ask.kind)
            and (ask.isolation_rank is None or card.isolation_rank <= ask.isolation_rank)
            and (ask.models is None or card.model in ask.models)
            and (ask.pool is None or machine.pool == ask.pool)
            and (ask.site is None or machine.site == ask.site)
        )


class View:
    """What is left over the whole of [starts, ends), one array a resource.

    `permille`, `mib`, `copy`: (rows, columns); `pieces` and `wholes` count what overlaps the window. `open` devices
    take something new in it at all. `cores`, `host_mib`: (rows,). `version` of a row grows with each change in it.
    """

    def __init__(self, layout: Layout, devices: Books, hosts: Books, starts: int, ends: int) -> None:
        self.layout, self.starts, self.ends = layout, starts, ends
        self._devices, self._hosts = devices, hosts
        shape = (layout.rows, layout.columns)
        taken = devices.peaks(starts, ends)
        self._taken = taken
        self._caps = np.zeros_like(taken)
        self._caps[PERMILLE], self._caps[MIB] = layout.permille.ravel(), layout.mib.ravel()
        self._caps[COPY] = layout.copy.ravel()
        left = self._caps - taken
        left[PIECES:] *= -1
        self._left = left
        self.permille, self.mib, self.copy, self.pieces, self.wholes = (one.reshape(shape) for one in left)
        self._host_caps = np.stack([layout.cores, layout.host_mib])
        self._host_left = self._host_caps - hosts.peaks(starts, ends)
        self.cores, self.host_mib = self._host_left
        self.open = layout.exists & np.array(
            [
                [column < len(cards) and is_open(cards[column], starts, ends) for column in range(layout.columns)]
                for cards in layout.cards
            ],
            np.bool_,
        ).reshape(shape)
        self.version = np.zeros(layout.rows, np.int64)

    def fits(self, ask: Ask, rows: Ints | slice) -> Flags:
        """(len(rows), columns): which devices take one of the ask's pieces, the host aside."""
        fits: Flags = self.layout.may_serve(ask)[rows] & self.open[rows] & (self.wholes[rows] == 0)
        if ask.whole:
            fits &= (self.layout.permille[rows] >= ask.permille) & (self.layout.mib[rows] >= ask.mib)
            fits &= self.pieces[rows] == 0
            return fits
        fits &= (self.permille[rows] >= ask.permille) & (self.mib[rows] >= ask.mib)
        if ask.copy_permille:
            fits &= self.copy[rows] >= ask.copy_permille
        return fits

    def host_fits(self, ask: Ask, rows: Ints | slice) -> Flags:
        """(len(rows),): which hosts have what is asked of them."""
        fits: Flags = (self.cores[rows] >= ask.cores_milli) & (self.host_mib[rows] >= ask.host_mib)
        return fits

    def rows_that_fit(self, ask: Ask, rows: Ints | slice) -> tuple[Flags, Flags]:
        """Rows that take all of the ask, and the devices that do: (len(rows),), (len(rows), columns)."""
        devices = self.fits(ask, rows)
        return self.host_fits(ask, rows) & (devices.sum(axis=1) >= ask.devices), devices

    def change_device(self, place: int, starts: int, ends: int, amounts: Sequence[int], sign: int) -> None:
        """A piece came (`sign` 1) or went (-1); the books have it already."""
        if starts >= self.ends or ends <= self.starts:
            return
        if starts <= self.starts and self.ends <= ends:
            self._left[:PIECES, place] -= sign * np.asarray(amounts[:PIECES], np.int64)
            self._left[PIECES:, place] += sign * np.asarray(amounts[PIECES:], np.int64)
        else:
            taken = self._devices.peak_at(place, self.starts, self.ends)
            self._left[:PIECES, place] = self._caps[:PIECES, place] - taken[:PIECES]
            self._left[PIECES:, place] = taken[PIECES:]
        self.version[place // self.layout.columns] += 1

    def change_host(self, row: int, starts: int, ends: int, amounts: Sequence[int], sign: int) -> None:
        """As `change_device`, of a node."""
        if starts >= self.ends or ends <= self.starts:
            return
        if starts <= self.starts and self.ends <= ends:
            self._host_left[:, row] -= sign * np.asarray(amounts, np.int64)
        else:
            self._host_left[:, row] = self._host_caps[:, row] - self._hosts.peak_at(row, self.starts, self.ends)
        self.version[row] += 1

    def pick(self, ask: Ask, row: int) -> tuple[int, ...]:
        """The `devices` fullest devices of the row that fit; at equal load the lower column."""
        fits = np.flatnonzero(self.fits(ask, np.array([row]))[0])
        order = sorted(fits.tolist(), key=lambda column: (int(self.permille[row, column]), column))
        return tuple(sorted(order[: ask.devices]))


def is_open(card: Card, starts: int, ends: int) -> bool:
    """Whether a card takes anything new in [starts, ends)."""
    in_maintenance = any(closed.starts < ends and starts < closed.ends for closed in card.closed)
    return card.online and not card.cordoned and not in_maintenance
