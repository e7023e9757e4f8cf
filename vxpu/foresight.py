"""Past requests to be replayed, what came of it, and the demand ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from vxpu.market import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWish:
    """A request of the past for a replay. `owners` are those whose leases it is or would have been; the wish's period
    is when it ran, or when it would have. Higher `rank` goes first. `patience_s` None waited as long as it took, 0 did
    not wait."""

    owners: tuple[UUID, ...]
    wish: Wish
    arrived_at: datetime
    rank: int = 0
    patience_s: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """How past requests are to be served again: nothing said is as it is today.

    `policy` None is the one in use; `whole_cards`: each slice takes a whole device; `moves` allowed for a request that
    is refused; nodes gone, and so many more that are like one there is.
    """

    policy: str | None = None
    whole_cards: bool = False
    moves: int = 0
    remove_nodes: tuple[UUID, ...] = ()
    add_nodes: tuple[tuple[UUID, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """`outcome` by name (see `allocator.engine.replay.Outcome`); None until it is done."""

    spec: TrialSpec
    outcome: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationView:
    """A replay of the requests of [from_at, to_at); the first trial is today's policy and fleet."""

    id: UUID
    state: str
    from_at: datetime
    to_at: datetime
    started_by: str
    created_at: datetime
    ended_at: datetime | None
    progress_permille: int
    error: str
    trials: tuple[TrialView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandView:
    """Leased compute of a pool and kind of device, in thousandths of a device: the mean of each hour ahead.

    `mae` and `mase` are the chosen model's errors in back-tests, `baseline_mae` the seasonal naive one's; None for a
    history that is too short to test, and then the values promise nothing. `spot` is what could be sold as spot."""

    pool: str
    kind: str
    hours: int
    model: str
    is_tested: bool
    mae: float | None
    mase: float | None
    baseline_mae: float | None
    capacity_permille: int
    starts_at: datetime
    values: tuple[int, ...]
    spot: tuple[int, ...]
