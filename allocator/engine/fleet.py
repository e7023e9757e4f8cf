"""The fleet as a frozen snapshot: cards with their calendars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from allocator.engine.mig import MigLayout, Slots

FOREVER = 2**62
# A capacity that nobody told: nothing is refused for it.
UNLIMITED = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Capacity taken on a card for [starts, ends). `whole` excludes every lease that is not whole too.

    `slots` are the memory slices of a card that its hardware cuts; None for a whole one.
    """

    lease_id: UUID
    starts: int
    ends: int
    permille: int
    mib: int
    whole: bool = False
    copy_permille: int = 0
    slots: Slots | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTaken:
    """What a lease takes of its node beside the device: thousandths of a core, MiB of main memory."""

    lease_id: UUID
    starts: int
    ends: int
    cores_milli: int
    mib: int


class Closed(NamedTuple):
    """The node is in maintenance for [starts, ends)."""

    starts: int
    ends: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One device. `isolation_rank` is 0 for the strongest mode; `taken` is sorted by (starts, ends, lease).

    A `cordoned` card takes nothing new, whatever the period; `closed` are the periods into which nothing new may reach.
    `mig`: how its hardware cuts it now; None for a card that is not cut. `health`: 0 to 100, None for unknown;
    an `unhealthy` card is below the operator's floor and takes nothing new either. `power_w` is what
    it draws at full work, None for unknown. A `standby` card takes only what was lost elsewhere; a `settling` one
    nothing while its node ends what was lost.
    """

    device_id: UUID
    node_id: UUID
    kind: str
    isolation_rank: int
    permille: int
    mib: int
    online: bool = True
    cordoned: bool = False
    closed: tuple[Closed, ...] = ()
    taken: tuple[Taken, ...] = ()
    model: str = ""
    copy_permille: int = 1000
    health: int | None = None
    unhealthy: bool = False
    settling: bool = False
    standby: bool = False
    power_w: int | None = None
    mig: MigLayout | None = None


class Link(NamedTuple):
    """How well two devices of a node reach each other: see `topology.pair_score`."""

    one: UUID
    other: UUID
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A node as a host. `taken` is sorted by (starts, ends, lease); `links`: empty is unknown."""

    node_id: UUID
    pool: str = ""
    site: str = ""
    rack: str = ""
    cores_milli: int = UNLIMITED
    mib: int = UNLIMITED
    taken: tuple[HostTaken, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where machines stand. None and a place that is not named are unknown, which is not zero.

    `pue_permille`: power of the whole building for 1000 of the machines; `latency_ms`: of a round trip, by place.
    """

    name: str
    pue_permille: int | None = None
    carbon_g_per_kwh: int | None = None
    latency_ms: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is wanted. None is "any"; `isolation_rank` is the weakest mode that will do.

    `devices` distinct devices of one node, each of that size (0: only a part of the host). `near` is a place that it
    should be close to: a wish, no constraint.
    """

    permille: int
    mib: int
    starts: int
    ends: int = FOREVER
    whole: bool = False
    kind: str | None = None
    device_id: UUID | None = None
    isolation_rank: int | None = None
    devices: int = 1
    copy_permille: int = 0
    cores_milli: int = 0
    host_mib: int = 0
    models: frozenset[str] | None = None
    pool: str | None = None
    site: str | None = None
    near: str | None = None

    @property
    def is_possible(self) -> bool:
        """False for a size that is none, or a period that is: nothing takes such an ask, and no search fails over it.

        No compute at all is no way to have memory for nothing.
        """
        sizes = (self.permille, self.mib, self.devices, self.copy_permille, self.cores_milli, self.host_mib)
        if self.starts >= self.ends or min(sizes) < 0 or max(sizes) >= FOREVER:
            return False
        return self.devices == 0 or self.whole or self.permille > 0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every card, by device id, and every node, by its id, so that ties fall the same way on every machine."""

    cards: tuple[Card, ...]
    machines: tuple[Machine, ...] = ()
    sites: tuple[Site, ...] = ()

    @classmethod
    def of(cls, cards: Iterable[Card], machines: Iterable[Machine] = (), sites: Iterable[Site] = ()) -> Fleet:
        """A node of which only cards are known is a machine that told nothing."""
        ordered = tuple(sorted(cards, key=lambda card: card.device_id))
        known = {machine.node_id: machine for machine in machines}
        for card in ordered:
            known.setdefault(card.node_id, Machine(node_id=card.node_id))
        places = tuple(sorted(sites, key=lambda site: site.name))
        return cls(ordered, tuple(known[node_id] for node_id in sorted(known)), places)


class Peak(NamedTuple):
    permille: int
    mib: int
    copy_permille: int


class HostPeak(NamedTuple):
    cores_milli: int
    mib: int


def sort_key(taken: Taken | HostTaken) -> tuple[int, int, UUID]:
    return (taken.starts, taken.ends, taken.lease_id)


def peak(taken: Iterable[Taken], starts: int, ends: int) -> Peak:
    """The highest sums inside [starts, ends), each resource for itself."""
    inside = [piece for piece in taken if piece.starts < ends and starts < piece.ends]
    amounts = [(piece.permille, piece.mib, piece.copy_permille) for piece in inside]
    return Peak(*_tops(inside, amounts, starts, 3))


def host_peak(taken: Iterable[HostTaken], starts: int, ends: int) -> HostPeak:
    """As `peak`, of a node."""
    inside = [piece for piece in taken if piece.starts < ends and starts < piece.ends]
    return HostPeak(*_tops(inside, [(piece.cores_milli, piece.mib) for piece in inside], starts, 2))


def _tops(inside: Sequence[Taken | HostTaken], amounts: Sequence[tuple[int, ...]], starts: int, size: int) -> list[int]:
    """At equal instants ends come before starts: back-to-back fits. Where nothing begins later, it is the sum."""
    if all(piece.starts <= starts for piece in inside):
        return [sum(one) for one in zip(*amounts, strict=True)] if amounts else [0] * size
    edges: list[tuple[int, int, tuple[int, ...]]] = []
    for piece, amount in zip(inside, amounts, strict=True):
        edges.append((max(piece.starts, starts), 1, amount))
        edges.append((piece.ends, 0, amount))
    edges.sort(key=lambda edge: edge[:2])
    now, top = [0] * size, [0] * size
    for _, is_start, changes in edges:
        for index, change in enumerate(changes):
            now[index] += change if is_start else -change
            top[index] = max(top[index], now[index])
    return top
