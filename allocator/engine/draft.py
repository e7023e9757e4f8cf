"""A working copy of the fleet: place, remove, mark, roll back, and what came of it as a plan."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple
from uuid import UUID

from allocator.engine.books import Books, Ints
from allocator.engine.fit import asked_size, refusal
from allocator.engine.fleet import Ask, Card, Fleet, HostTaken, Machine, Taken, sort_key
from allocator.engine.layout import SERVICE, Layout
from allocator.engine.mig import Slots, mask_of
from allocator.engine.view import DEVICE_RESOURCES, HOST_RESOURCES, View

_LASTING = tuple(one.name for one in fields(Card) if one.name not in {*SERVICE, "taken"})


class NotPlaced(ValueError):
    """The ask is refused; `constraint` says why, `counts` how many devices each ruled out, if that was counted."""

    def __init__(self, constraint: str, counts: Mapping[str, int] | None = None) -> None:
        super().__init__(constraint)
        self.constraint = constraint
        self.counts = dict(counts or {})


class Step(NamedTuple):
    """One change of a calendar: `placed` or removed. A host's has the node, a device's the device as `place_id`."""

    placed: bool
    place_id: UUID
    taken: Taken | HostTaken


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order. Every prefix is a legal fleet, because each was when it was drafted."""

    steps: tuple[Step, ...]


class Draft:
    """Mutable and short-lived. `Draft.of(fleet)`; the fleet itself never changes.

    The calendars are kept twice, in step: as pieces by place, and in columns for the views.
    """

    def __init__(self, fleet: Fleet) -> None:
        self.layout = Layout(fleet)
        self._cards = {card.device_id: card for card in fleet.cards}
        self._sites = fleet.sites
        self._machines = {machine.node_id: machine for machine in fleet.machines}
        self._devices = Books(self.layout.rows * self.layout.columns, DEVICE_RESOURCES + self.layout.slots)
        self._hosts = Books(self.layout.rows, HOST_RESOURCES)
        self._pieces: dict[UUID, dict[Taken | HostTaken, list[int]]] = defaultdict(dict)
        self._leases: dict[UUID, list[tuple[UUID, Taken | HostTaken]]] = defaultdict(list)
        self._views: dict[tuple[int, int], View] = {}
        self._steps: list[Step] = []
        for card in fleet.cards:
            for piece in card.taken:
                self._add(card.device_id, piece)
        for machine in fleet.machines:
            for host_piece in machine.taken:
                self._add(machine.node_id, host_piece)

    @classmethod
    def of(cls, fleet: Fleet) -> Draft:
        return cls(fleet)

    def card(self, device_id: UUID) -> Card:
        """The card as drafted so far."""
        pieces = self._pieces[device_id].items()
        taken = [piece for piece, slots in pieces for _ in slots if isinstance(piece, Taken)]
        return replace(self._cards[device_id], taken=tuple(sorted(taken, key=sort_key)))

    def machine(self, node_id: UUID) -> Machine:
        """The node as drafted so far."""
        pieces = self._pieces[node_id].items()
        taken = [piece for piece, slots in pieces for _ in slots if isinstance(piece, HostTaken)]
        return replace(self._machines[node_id], taken=tuple(sorted(taken, key=sort_key)))

    def fleet(self) -> Fleet:
        """The whole fleet as drafted so far."""
        return Fleet(tuple(map(self.card, self._cards)), tuple(map(self.machine, self._machines)), self._sites)

    def view(self, starts: int, ends: int) -> View:
        """What is left over the window; it follows this draft's later changes."""
        view = self._views.get((starts, ends))
        if view is None:
            view = self._views[starts, ends] = View(self.layout, self._devices, self._hosts, starts, ends)
        return view

    def down_to(self, most: Ints, at: int) -> Ints:
        """(places,) of the devices: see `Books.down_to`."""
        return self._devices.down_to(most, at)

    def place(self, device_id: UUID, ask: Ask, *, lease_id: UUID) -> Taken:
        """One device and what the ask wants of its host. Raises NotPlaced with the constraint that failed."""
        card = self.card(device_id)
        constraint = refusal(card, ask, self.machine(card.node_id))
        if constraint is not None:
            raise NotPlaced(constraint)
        row, column = self.layout.place_of[device_id]
        return self.take(row, (column,), ask, lease_id=lease_id)[0]

    def take(self, row: int, columns: Sequence[int], ask: Ask, *, lease_id: UUID) -> list[Taken]:
        """Devices of a node that a view called free for the ask, and the ask's part of the host. Not checked again."""
        found = []
        for column in columns:
            card = self.layout.cards[row][column]
            slots = None if card.mig is None else self._slots(row, column, ask)
            found.append(self._take_device(card, ask, slots, lease_id))
        self._take_host(self.layout.machines[row].node_id, ask, lease_id)
        return found

    def keep(self, device_id: UUID, ask: Ask, slots: Slots | None, *, lease_id: UUID) -> None:
        """The ask has this place already, these slots of a cut card. Not checked again."""
        row, column = self.layout.place_of[device_id]
        self._take_device(self.layout.cards[row][column], ask, slots, lease_id)
        self._take_host(self.layout.machines[row].node_id, ask, lease_id)

    def _take_device(self, card: Card, ask: Ask, slots: Slots | None, lease_id: UUID) -> Taken:
        size = asked_size(card, ask)
        taken = Taken(
            lease_id=lease_id, starts=ask.starts, ends=ask.ends, permille=size.permille, mib=size.mib, whole=ask.whole,
            copy_permille=card.copy_permille if ask.whole else ask.copy_permille, slots=slots,
        )  # fmt: skip
        self._apply(Step(placed=True, place_id=card.device_id, taken=taken))
        return taken

    def _take_host(self, node_id: UUID, ask: Ask, lease_id: UUID) -> None:
        if ask.cores_milli or ask.host_mib:
            host = HostTaken(
                lease_id=lease_id, starts=ask.starts, ends=ask.ends, cores_milli=ask.cores_milli, mib=ask.host_mib
            )
            self._apply(Step(placed=True, place_id=node_id, taken=host))

    def _slots(self, row: int, column: int, ask: Ask) -> Slots | None:
        """A whole-device lease has none: it has the card."""
        if ask.whole:
            return None
        found = self.view(ask.starts, ask.ends).free_slots(row, column, ask)
        if found is None:
            raise NotPlaced("mig_slot")
        return found

    def remove(self, lease_id: UUID) -> int:
        """Give back everything that the lease takes; returns how many pieces that was."""
        pieces = list(self._leases.get(lease_id, ()))
        for place_id, piece in pieces:
            self._apply(Step(placed=False, place_id=place_id, taken=piece))
        return len(pieces)

    def leave(self, lease_id: UUID, pieces: Iterable[tuple[UUID, Taken | HostTaken]]) -> None:
        """Give back these pieces of the lease and no other: what it left in a move."""
        for place_id, piece in pieces:
            if piece.lease_id != lease_id:
                raise ValueError(f"a piece of {piece.lease_id}, not of {lease_id}")
            self._apply(Step(placed=False, place_id=place_id, taken=piece))

    def settle(self) -> None:
        """What was drafted so far is how it is: there is no way back before here, and the views are let go."""
        self._steps.clear()
        self._views.clear()

    def forget(self) -> None:
        """Nothing was drafted, and the views are let go."""
        self._views.clear()
        self.rollback(0)

    def renew(self, nodes: Iterable[tuple[Machine, Sequence[Card]]]) -> bool:
        """These nodes are so from now on, whatever is taken of them. False, with nothing changed, if more than the
        service of their cards is another: then the fleet has to be laid out anew."""
        rows: dict[int, list[Card]] = {}
        for machine, cards in nodes:
            row = self.layout.row_of.get(machine.node_id)
            if row is None or replace(machine, taken=()) != replace(self.layout.machines[row], taken=()):
                return False
            before = self.layout.cards[row]
            if [_lasting(card) for card in cards] != [_lasting(card) for card in before]:
                return False
            rows[row] = list(cards)
        self.layout.renew(rows)
        self._cards.update((card.device_id, card) for cards in rows.values() for card in cards)
        self._views.clear()
        return True

    def replace(self, place_id: UUID, pieces: Iterable[Taken | HostTaken]) -> None:
        """The calendar of a device or a node is this one, from now on."""
        after = Counter(pieces)
        for piece, slots in list(self._pieces[place_id].items()):
            less = len(slots) - after[piece]
            after[piece] = max(0, -less)
            for _ in range(less):
                self._apply(Step(placed=False, place_id=place_id, taken=piece))
        for piece in after.elements():
            self._apply(Step(placed=True, place_id=place_id, taken=piece))

    def pieces_of(self, lease_id: UUID) -> list[tuple[UUID, Taken | HostTaken]]:
        """(device or node, piece) of a lease."""
        return list(self._leases.get(lease_id, ()))

    def leases_on(self, row: int) -> set[UUID]:
        """Who has something on a node or one of its devices."""
        places = [*self.layout.device_ids[row], self.layout.machines[row].node_id]
        return {lease_id for place_id in places for lease_id in self.leases_at(place_id)}

    def leases_at(self, place_id: UUID) -> set[UUID]:
        """Who has something on a device, or of a node's host."""
        return {piece.lease_id for piece in self._pieces[place_id]}

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
        if step.placed:
            self._add(step.place_id, step.taken)
        else:
            self._drop(step.place_id, step.taken)

    def _add(self, place_id: UUID, piece: Taken | HostTaken) -> None:
        books, place = self._place(place_id, piece)
        slot = books.add(place, piece.starts, piece.ends, self._amounts(piece))
        self._pieces[place_id].setdefault(piece, []).append(slot)
        self._leases[piece.lease_id].append((place_id, piece))
        self._tell(place, piece, 1)

    def _drop(self, place_id: UUID, piece: Taken | HostTaken) -> None:
        books, place = self._place(place_id, piece)
        slots = self._pieces[place_id][piece]
        books.drop(slots.pop())
        if not slots:
            del self._pieces[place_id][piece]
        self._leases[piece.lease_id].remove((place_id, piece))
        if not self._leases[piece.lease_id]:
            del self._leases[piece.lease_id]
        self._tell(place, piece, -1)

    def _place(self, place_id: UUID, piece: Taken | HostTaken) -> tuple[Books, int]:
        if isinstance(piece, HostTaken):
            return self._hosts, self.layout.row_of[place_id]
        return self._devices, self.layout.flat(*self.layout.place_of[place_id])

    def _tell(self, place: int, piece: Taken | HostTaken, sign: int) -> None:
        if not self._views:
            return
        amounts = self._amounts(piece)
        for view in self._views.values():
            change = view.change_host if isinstance(piece, HostTaken) else view.change_device
            change(place, piece.starts, piece.ends, amounts, sign)

    def _amounts(self, piece: Taken | HostTaken) -> tuple[int, ...]:
        """The piece as the books' vector: see `view`."""
        if isinstance(piece, HostTaken):
            return (piece.cores_milli, piece.mib)
        found = (piece.permille, piece.mib, piece.copy_permille, 1, int(piece.whole))
        if not self.layout.slots:
            return found
        busy = 0 if piece.slots is None else mask_of(piece.slots)
        return found + tuple(busy >> slot & 1 for slot in range(self.layout.slots))


def _lasting(card: Card) -> tuple[object, ...]:
    """All but its service and its load."""
    return tuple(getattr(card, name) for name in _LASTING)
