"""Words of pre-emption between the shop and the allocator: who may be asked to leave, for whom, and who it would be.

Ranks are integers (higher is more important), sizes are the dominant share in permille; nothing here knows a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from vxpu.market import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionRules:
    """How long a request waits before it may evict, how long a lease runs before it may be evicted, and after how many
    evictions, or how long a wait, a request stands a class higher."""

    delay: timedelta
    min_run: timedelta
    promote_after: int
    promote_wait: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictable:
    """A lease that was bought as one that may be evicted. `safe_at` is its last checkpoint, or its start."""

    lease_id: UUID
    owner: UUID
    rank: int
    permille: int
    started_at: datetime
    safe_at: datetime
    evictions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionRequest:
    """What waits: `count` times `wish`, each on a device of its own, all on one node.

    `wish` begins when the victims are gone. `pairs` are owners with whom there was an eviction within the protection
    time, `reclaims` those who use what is lent to them.
    """

    owner: UUID
    rank: int
    waiting_since: datetime
    wish: Wish
    count: int = 1
    evictions: int = 0
    pairs: frozenset[UUID] = frozenset()
    reclaims: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionPlan:
    """Victims on one node, and the devices on which the wish then fits. `wasted_permille_s` is the work lost."""

    node_id: UUID
    device_ids: Sequence[UUID]
    lease_ids: Sequence[UUID]
    wasted_permille_s: int
