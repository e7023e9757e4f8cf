"""Who is next: an order over everything that waits, from plain values.

1. *Elders*, who asked at least `elder_s` ago, by the order of asking. What is asked later can never be an elder before
   them, so whatever waits is first in the end: after those only that asked before it.
2. Then by class: urgent, normal, low. Ageing lifts a low wish that waited `age_s` to normal; never into urgent, which
   has a quota of its own.
3. Within a class by fair share. Siblings of the quota tree are compared level by level from the root, and the whole
   branch of the winner goes first (R. Cox, L. Morrison, "Fair Tree: Fairshare Algorithm for Slurm", Slurm User Group
   2014). A node's key is its dominant share (A. Ghodsi et al., "Dominant Resource Fairness", NSDI 2011) of decayed use,
   divided by its weight. A wish that was put in line counts as use of its branch at once, so a tenant with a thousand
   wishes takes turns with the one that has two (progressive filling, ibid.).
4. Ties, and wishes of one leaf: by (asked_at, id).

Seconds since the epoch; permille-seconds and MiB-seconds; integers wherever something is decided.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush
from uuid import UUID

_FINE = 1 << 40


class Urgency(StrEnum):
    URGENT = "urgent"
    NORMAL = "normal"
    LOW = "low"


ELDERS = 0
BANDS = {Urgency.URGENT: 1, Urgency.NORMAL: 2, Urgency.LOW: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A wish, or a gang as one. `path` leads from the root's child to the leaf; `*_s` is what it would use."""

    id: UUID
    path: tuple[UUID, ...]
    urgency: Urgency
    asked_at: int
    permille_s: int
    mib_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A node of the tree: `weight` 1 or more, and its decayed use."""

    weight: int = 1
    permille_s: int = 0
    mib_s: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`total_*` is the fleet: the measure of a dominant share."""

    elder_s: int
    age_s: int
    total_permille: int = 1000
    total_mib: int = 1024


def band_of(entry: Entry, *, rules: Rules, now: int) -> int:
    waited = now - entry.asked_at
    if waited >= rules.elder_s:
        return ELDERS
    if entry.urgency == Urgency.LOW and waited >= rules.age_s:
        return BANDS[Urgency.NORMAL]
    return BANDS[entry.urgency]


def order(entries: Iterable[Entry], *, shares: Mapping[UUID, Share], rules: Rules, now: int) -> list[Entry]:
    """Every entry once, who is next first. A node that `shares` does not name has weight 1 and used nothing."""
    bands: dict[int, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=_seniority):
        bands[band_of(entry, rules=rules, now=now)].append(entry)
    ledger = _Ledger(shares, rules)
    found = bands.pop(ELDERS, [])
    for entry in found:
        ledger.charge(entry)
    for band in sorted(bands):
        found.extend(_fair(bands[band], ledger))
    return found


def _seniority(entry: Entry) -> tuple[int, UUID]:
    return entry.asked_at, entry.id


class _Ledger:
    """The decayed use of each node, with what is in line already."""

    def __init__(self, shares: Mapping[UUID, Share], rules: Rules) -> None:
        self._shares = shares
        self._rules = rules
        self._more: dict[UUID, tuple[int, int]] = {}

    def charge(self, entry: Entry) -> None:
        for node in entry.path:
            permille, mib = self._more.get(node, (0, 0))
            self._more[node] = permille + entry.permille_s, mib + entry.mib_s

    def key(self, node: UUID) -> int:
        """The dominant share divided by the weight, in 2^-40 of the fleet."""
        share = self._shares.get(node, Share())
        permille, mib = self._more.get(node, (0, 0))
        dominant = max(
            (share.permille_s + permille) * _FINE // self._rules.total_permille,
            (share.mib_s + mib) * _FINE // self._rules.total_mib,
        )
        return dominant // share.weight


class _Branch:
    """What waits below a node: branches by key, and its own wishes by seniority."""

    def __init__(self, node: UUID | None, ledger: _Ledger) -> None:
        self.node = node
        self._ledger = ledger
        self.own: deque[Entry] = deque()
        self.children: dict[UUID, _Branch] = {}
        self._heap: list[tuple[int, int, UUID, _Branch]] = []

    def build(self) -> None:
        for child in self.children.values():
            child.build()
        self._heap = [child.standing() for child in self.children.values()]
        heapify(self._heap)

    def standing(self) -> tuple[int, int, UUID, _Branch]:
        """No two of one parent have the same, for their first wishes differ."""
        asked_at, first = self.first()
        return (0 if self.node is None else self._ledger.key(self.node)), asked_at, first, self

    def first(self) -> tuple[int, UUID]:
        """The most senior wish below."""
        firsts = [_seniority(self.own[0])] if self.own else []
        return min(firsts + [(asked_at, entry) for _, asked_at, entry, _ in self._heap])

    def is_empty(self) -> bool:
        return not self.own and not self._heap

    def take(self) -> Entry:
        """Wishes of the node itself come before those of its branches."""
        if self.own:
            entry = self.own.popleft()
            self._ledger.charge(entry)  # before anybody above looks at the keys again
            return entry
        child = heappop(self._heap)[-1]
        entry = child.take()
        if not child.is_empty():
            heappush(self._heap, child.standing())
        return entry


def _fair(entries: Iterable[Entry], ledger: _Ledger) -> list[Entry]:
    """Entries of one class, by seniority on the way in."""
    root = _Branch(None, ledger)
    for entry in entries:
        branch = root
        for node in entry.path:
            branch = branch.children.setdefault(node, _Branch(node, ledger))
        branch.own.append(entry)
    root.build()
    found = []
    while not root.is_empty():
        found.append(root.take())
    return found
