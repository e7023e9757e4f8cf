"""What is left of the fleet in arrays: a `View` is over one window, and follows every change of the draft that made it.

What does not change with the load is its `Layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from allocator.engine.books import Books, Ints
from allocator.engine.fit import CONSTRAINTS
from allocator.engine.fleet import Ask
from allocator.engine.layout import Flags, Layout
from allocator.engine.mig import Slots, choose

Number = TypeVar("Number", bound=np.generic)

# Resources of a device's piece. The last two make "is anything on it" and "is it taken whole" peaks like the others;
# where a card is cut by its hardware, one more for each memory slice.
PERMILLE, MIB, COPY, PIECES, WHOLES = range(5)
DEVICE_RESOURCES = 5
# Of a node's.
CORES, HOST_MIB = range(2)
HOST_RESOURCES = 2


class View:
    """What is left over the whole of [starts, ends), one array a resource.

    `permille`, `mib`, `copy`: (rows, columns); `pieces` and `wholes` count what overlaps the window. `open` devices
    take something new in it at all, `free` ones are open and not taken whole; `spare` is the permille left of a free
    device, of its compute or of its memory, whichever is less (0 elsewhere). `cores`, `host_mib`: (rows,). `version` of
    a row grows with each change in it.
    """

    def __init__(self, layout: Layout, devices: Books, hosts: Books, starts: int, ends: int) -> None:
        self.layout, self.starts, self.ends = layout, starts, ends
        self._devices, self._hosts = devices, hosts
        shape = (layout.rows, layout.columns)
        taken = devices.peaks(starts, ends)
        self._caps = np.zeros_like(taken)
        self._caps[PERMILLE], self._caps[MIB] = layout.permille.ravel(), layout.mib.ravel()
        self._caps[COPY] = layout.copy.ravel()
        left = self._caps - taken
        left[PIECES:] *= -1
        self._left = left
        # What a piece that comes does to each: less is left, and more is counted.
        self._gains = np.where(np.arange(len(left)) < PIECES, -1, 1)
        self._losses = -self._gains
        self.permille, self.mib, self.copy, self.pieces, self.wholes = (
            one.reshape(shape) for one in left[:DEVICE_RESOURCES]
        )
        self._host_caps = np.stack([layout.cores, layout.host_mib])
        self._host_left = self._host_caps - hosts.peaks(starts, ends)
        self.cores, self.host_mib = self._host_left
        self.closed = layout.closed(starts, ends)
        self.open = layout.serves & ~self.closed
        self.free: Flags = self.open & (self.wholes == 0)
        self.spare = np.where(self.free, np.minimum(self.permille, self.mib * 1000 // np.maximum(layout.mib, 1)), 0)
        self.version = np.zeros(layout.rows, np.int64)

    def fits(self, ask: Ask, rows: Ints | slice) -> Flags:
        """(len(rows), columns): which devices take one of the ask's pieces, the host aside."""
        layout = self.layout
        fits = at(layout.may_serve(ask), rows) & at(self.free, rows)
        if not ask.is_possible:
            fits[:] = False
        if ask.whole:
            fits &= (at(layout.permille, rows) >= ask.permille) & (at(layout.mib, rows) >= ask.mib)
            fits &= (at(self.pieces, rows) == 0) & (at(layout.copy, rows) >= ask.copy_permille)
            return fits
        if layout.migs:
            table, cut = layout.mig_table(ask), layout.mig[rows]
            fits &= table.holds[cut] & table.has_start[cut, self.busy(rows)]
            fits &= (self.permille[rows] >= table.permille[cut]) & (self.mib[rows] >= table.mib[cut])
        else:
            fits &= at(self.permille, rows) >= ask.permille
            fits &= at(self.mib, rows) >= ask.mib
        if ask.copy_permille:
            fits &= at(self.copy, rows) >= ask.copy_permille
        return fits

    def takes(self, ask: Ask, rows: Ints | slice) -> tuple[Ints, Ints]:
        """(permille, MiB) over (len(rows), columns), or to be broadcast: what a piece of the ask takes of a device."""
        layout = self.layout
        if ask.whole:
            return layout.permille[rows], layout.mib[rows]
        if layout.migs:
            table, cut = layout.mig_table(ask), layout.mig[rows]
            return table.permille[cut], table.mib[cut]
        return np.array(ask.permille), np.array(ask.mib)

    def busy(self, rows: Ints | slice) -> Ints:
        """(len(rows), columns): a bit for each memory slice that is taken at some time in the window."""
        counts = self._left[DEVICE_RESOURCES:].reshape(-1, self.layout.rows, self.layout.columns)[:, rows]
        bits: Ints = ((counts > 0) * (1 << np.arange(len(counts)))[:, None, None]).sum(axis=0)
        return bits

    def free_slots(self, row: int, column: int, ask: Ask) -> Slots | None:
        """Where a card that is cut would take the ask; None: nowhere, or the card is not cut."""
        mig = self.layout.cards[row][column].mig
        profile = None if mig is None else mig.smallest(ask.permille, ask.mib)
        if mig is None or profile is None:
            return None
        return choose(mig, profile, int(self.busy(np.array([row]))[0, column]))

    def host_fits(self, ask: Ask, rows: Ints | slice) -> Flags:
        """(len(rows),): which hosts have what is asked of them. An ask of none is refused none."""
        cores = at(self.cores, rows)
        fits: Flags = cores >= ask.cores_milli if ask.cores_milli else np.ones(len(cores), np.bool_)
        if ask.host_mib:
            fits &= at(self.host_mib, rows) >= ask.host_mib
        return fits

    def rows_that_fit(self, ask: Ask, rows: Ints | slice) -> tuple[Flags, Flags]:
        """Rows that take all of the ask, and the devices that do: (len(rows),), (len(rows), columns)."""
        devices = self.fits(ask, rows)
        takes = self.host_fits(ask, rows) & (devices.sum(axis=1) >= ask.devices)
        if ask.devices < 1:
            for _, others in self._node_refusals(ask):
                takes &= ~others[rows]
        return takes, devices

    def change_device(self, place: int, starts: int, ends: int, amounts: Sequence[int], sign: int) -> None:
        """A piece came (`sign` 1) or went (-1); the books have it already."""
        if starts >= self.ends or ends <= self.starts:
            return
        if starts <= self.starts and self.ends <= ends:
            self._left[:, place] += np.multiply(amounts, self._gains if sign > 0 else self._losses)
        else:
            taken = self._devices.peak_at(place, self.starts, self.ends)
            self._left[:PIECES, place] = self._caps[:PIECES, place] - taken[:PIECES]
            self._left[PIECES:, place] = taken[PIECES:]
        self._refresh(place)
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

    def _refresh(self, place: int) -> None:
        free = bool(self.open.flat[place]) and not self._left[WHOLES, place]
        self.free.flat[place] = free
        in_memory = int(self._left[MIB, place]) * 1000 // max(1, int(self._caps[MIB, place]))
        self.spare.flat[place] = min(int(self._left[PERMILLE, place]), in_memory) if free else 0

    def pick(self, ask: Ask, row: int) -> tuple[int, ...]:
        """The `devices` fullest devices of the row that fit; at equal load the lower column."""
        fits = np.flatnonzero(self.fits(ask, np.array([row]))[0])
        order = sorted(fits.tolist(), key=lambda column: (int(self.permille[row, column]), column))
        return tuple(sorted(order[: ask.devices]))

    def hide(self, row: int, column: int) -> None:
        """Nothing new on this device, until `show`: a gang has a member there."""
        self.open[row, column] = False
        self._refresh(self.layout.flat(row, column))
        self.version[row] += 1

    def show(self, row: int, column: int) -> None:
        self.open[row, column] = self.layout.serves[row, column] and not self.closed[row, column]
        self._refresh(self.layout.flat(row, column))
        self.version[row] += 1

    def refusals(self, ask: Ask) -> Ints:
        """(rows, columns): the number in CONSTRAINTS of the first that each device fails, as `fit.refusal` says it.

        -1 where a device takes a piece of the ask; a device of a node with too few of these fails `not_together`.
        Where there is no device, -2.
        """
        found = np.full(self.open.shape, -1, np.int64)
        for name, fails in [*self._never(ask), *self._out_of_service(), *self._loaded(ask), *self._host_refusals(ask)]:
            found[(found == -1) & fails] = CONSTRAINTS.index(name)
        fits = found == -1
        few = (fits.sum(axis=1) < ask.devices)[:, None]
        found[fits & few] = CONSTRAINTS.index("not_together")
        found[~self.layout.is_card] = -2
        return found

    def counts(self, ask: Ask) -> dict[str, int]:
        """How many devices each constraint ruled out, by name in order; of no device: nodes."""
        if ask.devices:
            codes = self.refusals(ask).ravel()
        else:
            codes = np.full(self.layout.rows, -1, np.int64)
            hosts = [(name, fails[:, 0]) for name, fails in self._host_refusals(ask)]
            for name, fails in [*self._node_refusals(ask), *hosts]:
                codes[(codes == -1) & fails] = CONSTRAINTS.index(name)
        numbers, counts = np.unique(codes[codes >= 0], return_counts=True)
        return dict(sorted(zip((CONSTRAINTS[number] for number in numbers), counts.tolist(), strict=True)))

    def _never(self, ask: Ask) -> list[tuple[str, Flags]]:
        layout = self.layout
        larger = (layout.permille <= 0) | (layout.permille < ask.permille) | (layout.mib < ask.mib)
        larger |= layout.copy < ask.copy_permille
        if layout.migs and not ask.whole:
            larger |= ~layout.mig_table(ask).holds[layout.mig]
        impossible = np.full_like(larger, not ask.is_possible)
        return [("impossible_shape", impossible), *layout.other_sorts(ask), ("larger_than_device", larger)]

    def _out_of_service(self) -> list[tuple[str, Flags]]:
        layout = self.layout
        return [
            ("offline", ~layout.online), ("maintenance", self.closed), ("cordoned", layout.cordoned),
            ("settling", layout.settling), ("standby", layout.standby), ("unhealthy", layout.unhealthy),
        ]  # fmt: skip

    def _loaded(self, ask: Ask) -> list[tuple[str, Flags]]:
        if ask.whole:
            return [("in_use", self.pieces > 0)]
        permille, mib = np.full_like(self.permille, ask.permille), np.full_like(self.mib, ask.mib)
        slotless = np.zeros_like(self.open)
        if self.layout.migs:
            table, cut = self.layout.mig_table(ask), self.layout.mig
            permille, mib, slotless = table.permille[cut], table.mib[cut], ~table.has_start[cut, self.busy(slice(None))]
        no_compute, no_memory = self.permille < permille, self.mib < mib
        no_copy = (self.copy < ask.copy_permille) & (ask.copy_permille > 0)
        return [
            ("taken_whole", self.wholes > 0), ("memory_and_compute", no_compute & no_memory), ("compute", no_compute),
            ("memory", no_memory), ("copy_bandwidth", no_copy), ("mig_slot", slotless),
        ]  # fmt: skip

    def _host_refusals(self, ask: Ask) -> list[tuple[str, Flags]]:
        no_cores = (self.cores < ask.cores_milli) & (ask.cores_milli > 0)
        no_memory = (self.host_mib < ask.host_mib) & (ask.host_mib > 0)
        return [("host_cores", no_cores[:, None]), ("host_memory", no_memory[:, None])]

    def _node_refusals(self, ask: Ask) -> list[tuple[str, Flags]]:
        layout = self.layout
        return [
            ("impossible_shape", np.full(layout.rows, not ask.is_possible)),
            ("other_pool", layout.other_rows("pool", ask.pool)),
            ("other_site", layout.other_rows("site", ask.site)),
        ]


# Rows from which on `einsum` is the quicker one.
MANY = 256


def row_sums(array: Ints) -> Ints:
    """(rows,): of many narrow rows `sum(axis=1)` takes twice as long as this, of few it is quicker."""
    sums: Ints = array.sum(axis=1) if len(array) < MANY else np.einsum("ij->i", array)
    return sums


def at(array: NDArray[Number], rows: Ints | slice) -> NDArray[Number]:
    """The rows of an array; `take` is several times as quick as an index of rows."""
    return array[rows] if isinstance(rows, slice) else array.take(rows, axis=0)
