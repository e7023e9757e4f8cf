"""Values that the shop reads from the allocator: what is wished, what fits, what runs, what was delivered.

Money-blind on purpose: nothing here knows a price. Units: memory MiB, share permille of one device, usage
permille-seconds, periods half-open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from vxpu.slices import Period, Slice
from vxpu.states import DeviceKind, Isolation, LeaseState


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A slice for a period, and what the device must be. None is "any".

    `isolation_at_least` EXCLUSIVE takes the whole device, whatever the slice says. `policy` names another than the
    pool's own, where the operator allows it. `models`: any of these device models (none: any). `near` is a site that
    it should be close to; `site` one that it must be in. `copy_permille` of the link between device and host (0: what
    is left), `cores_milli` thousandths of a core and `host_mib` of the node beside the device. `devices`: of so many
    wishes on one node this is one; for those who learn from wishes, it changes nothing here. `group` is the gang of
    which it is one, `together` how near its members are to be: for whoever moves one of them later.
    """

    slice: Slice
    period: Period
    device_kind: str | None = None
    device_id: UUID | None = None
    isolation_at_least: Isolation | None = None
    policy: str | None = None
    models: tuple[str, ...] = ()
    pool: str | None = None
    site: str | None = None
    near: str | None = None
    cores_milli: int = 0
    host_mib: int = 0
    copy_permille: int = 0
    devices: int = 1
    group: UUID | None = None
    together: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A device on which the wish fitted in an unlocked snapshot. Higher `score` is better; `terms` add up to it.

    `policy` scored it among `fitted` places; `runner_up` is the next best score, None if there was no other. `slice` is
    what would be taken, more than was wished on a card that is cut by its own hardware: `slots` [first, end) of it.
    """

    device_id: UUID
    node_id: UUID
    score: int
    terms: Mapping[str, int] = field(default_factory=dict)
    policy: str = ""
    fitted: int = 1
    runner_up: int | None = None
    slice: Slice | None = None
    slots: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A wish with the place that a search found for it, to be booked together with others. `standby`: that place is
    kept for what was lost."""

    owner: UUID
    tenant_id: UUID
    wish: Wish
    place: Candidate
    standby: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a wish may name, each in order."""

    models: tuple[str, ...]
    pools: tuple[str, ...]
    sites: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """A lease as it stands. `slice` is the size ordered last; `token` is the fencing token."""

    id: UUID
    tenant_id: UUID
    owner: UUID
    device_id: UUID
    node_id: UUID
    state: LeaseState
    slice: Slice
    period: Period
    token: int
    version: int
    isolation: Isolation
    ready_at: datetime | None
    ended_at: datetime | None
    end_reason: str
    hold_until: datetime | None = None

    @property
    def is_live(self) -> bool:
        """Capacity is still taken."""
        return self.state not in (LeaseState.GONE, LeaseState.LOST)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveView:
    """A move of a running lease to another device, for a plan of this `kind` and `reason`.

    `state`: planned, preparing, ready, hooking, then switched and done; or cancelled, or failed, and the old lease runs
    on. From `switched_at` on the `successor_id` is delivered. `hook_result`: ok, failed, timeout, none, silent or "".
    """

    id: UUID
    plan_id: UUID
    kind: str
    reason: str
    owner: UUID
    tenant_id: UUID
    lease_id: UUID
    successor_id: UUID | None
    from_device: UUID
    to_device: UUID
    state: str
    cost_mib: int
    hook_deadline: datetime | None
    hook_result: str
    hook_detail: str
    created_at: datetime
    switched_at: datetime | None
    ended_at: datetime | None
    end_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomView:
    """Room that is made by moves for these owners. `leases`, by owner, are held as soon as all of it is there."""

    plan_id: UUID
    owners: tuple[UUID, ...]
    leases: Mapping[UUID, UUID]


class DeviceWords(NamedTuple):
    """What a bill says of a device."""

    kind: str
    model: str
    capacity_mib: int
    simulated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """A device that can be sold; nothing new is booked on a `cordoned` one.

    `readings` maps a name to {value, at, quality}: a missing value is None, never 0. `card` is a `wire.node.CardReport`
    as plain values; None for a device that is no NVIDIA card.
    """

    id: UUID
    node_id: UUID
    key: str
    kind: DeviceKind
    model: str
    vendor: str
    simulated: bool
    compute_units: int
    capacity_mib: int
    capacity_permille: int
    isolation: Isolation
    isolation_detail: str
    online: bool
    readings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    memory_mib: int = 0
    node_hostname: str = ""
    rack: str = ""
    cordoned: bool = False
    card: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceView:
    """A node out of service on purpose in [starts_at, ends_at); no end is "until it is put back"."""

    node_id: UUID
    starts_at: datetime
    ends_at: datetime | None
    drained_at: datetime | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEventView:
    """What happened to a node. `kind` is like ``"cordoned"``."""

    id: UUID
    node_id: UUID
    hostname: str
    kind: str
    actor: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseEventView:
    """One transition of a lease, or a finding of the agent's audit (equal states)."""

    id: UUID
    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    from_state: str
    to_state: str
    actor: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceView:
    """Capacity that is taken on a device. `lane` is its row in a drawing of the device: no two of a row overlap."""

    lease_id: UUID
    tenant_id: UUID
    owner: UUID
    state: LeaseState
    starts_at: datetime
    ends_at: datetime | None
    slice: Slice
    whole: bool
    lane: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRow:
    """A device's calendar. `free` are the periods in which the slice that was asked for fits."""

    device: DeviceView
    pieces: tuple[PieceView, ...]
    maintenance: tuple[MaintenanceView, ...]
    free: tuple[Period, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """When a wish would fit soonest (None for never), and the largest piece that one device has free for its period."""

    earliest_start_at: datetime | None
    free: Slice | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWish:
    """What waits: one wish, or the wishes of a gang, which start together or not at all. `collects`: it has waited for
    very long, so a device (`collect_on`, if it has one already) takes nothing new until it fits."""

    id: UUID
    wishes: tuple[Wish, ...]
    together: str = "any"
    collects: bool = False
    collect_on: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRoom:
    """Room that is kept clear for `owner`, who waits. It takes no capacity: new bookings are placed beside it."""

    device_id: UUID
    owner: UUID
    slice: Slice
    period: Period
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A wish in line: it `fits` as wished, or waits for `constraints`, with room `kept` for it from `starts_at` on."""

    id: UUID
    fits: bool
    starts_at: datetime | None
    kept: tuple[KeptRoom, ...]
    constraints: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedEnds:
    """Of one replay of the calendar: when open-ended leases end, how long open-ended wishes last. Else: for ever."""

    ends: Mapping[UUID, datetime] = field(default_factory=dict)
    lengths: Mapping[UUID, timedelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """In half of the replays it starts by `starts_at`, in nine of ten by `starts_by`; None is "not known"."""

    id: UUID
    starts_at: datetime | None
    starts_by: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSize:
    permille: int
    mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Delivered time at one size: whole seconds, half-open. `open` says that the end may still move."""

    starts_at: datetime
    ends_at: datetime
    slice: Slice
    dominant_permille: int
    device_id: UUID
    open: bool

    @property
    def seconds(self) -> int:
        return int((self.ends_at - self.starts_at).total_seconds())

    @property
    def permille_s(self) -> int:
        """Dominant share x delivered seconds: the charge-back base."""
        return self.dominant_permille * self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyHour:
    """A rating bucket of a lease in which a fact changed."""

    lease_id: UUID
    tenant_id: UUID
    owner: UUID
    starts_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleReport:
    """A device's period from the calendar of delivered time only, in permille-seconds of the whole device.

    ``idle`` is 1000 - taken at each instant, ``taken`` = max(sum of compute shares, sum of memory shares); ``over`` is
    the surplus of the dominant shares over ``taken``. So dominant + idle - over = 1000 x seconds, exactly.
    """

    device_id: UUID
    starts_at: datetime
    ends_at: datetime
    idle_permille_s: int
    over_permille_s: int
    taken_permille_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageWindowView:
    """One metered window of a lease. None is "not readable here", never zero."""

    window_start: datetime
    window_s: int
    granted_permille_s: int
    used_permille_s: int | None
    peak_mib: int | None
    throttled_ms: int | None
    contended: bool
    state: LeaseState


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """What was metered of one lease. `seqs_missing` counts holes in the agent's sequence.

    `used_permille_s` sums what could be read; None when there are windows and none could.
    """

    lease_id: UUID
    windows_counted: int
    used_permille_s: int | None
    granted_permille_s: int
    peak_mib: int | None
    seqs_missing: int
    quarantined: int
    windows: tuple[UsageWindowView, ...]
