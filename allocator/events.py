"""What happened to machines and leases. Handed to the outbox; config/subscriptions.py says who listens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseActivated:
    """The agent said `ready` for the first time: the meter starts at `at`."""

    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseEnded:
    """The agent's word: the slice is gone and its memory is back."""

    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecovered:
    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost:
    """The lease was fenced: its token is superseded, its place may be given anew."""

    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesUnreachable:
    """One for all leases of the nodes that fell silent together."""

    tenant_id: UUID
    at: datetime
    leases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesLost:
    """One for all leases of silent nodes that were given up together: they are to be placed anew."""

    tenant_id: UUID
    at: datetime
    leases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResized:
    """A new size from `at` on."""

    tenant_id: UUID
    lease_id: UUID
    owner: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityFreed:
    tenant_id: UUID
    device_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageArrived:
    tenant_id: UUID
    lease_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredChanged:
    """A node should read its desired state again."""

    tenant_id: UUID
    node_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRevoked:
    """The node's keys are void; its connection is to be closed."""

    tenant_id: UUID
    node_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChanged:
    """A node joined, fell silent, was heard again, was cordoned, drained and so on: `kind` is its NodeEvent's."""

    tenant_id: UUID
    node_id: UUID
    kind: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReady:
    """The new slice is ready and the hook is answered: the shop may switch."""

    tenant_id: UUID
    relocation_id: UUID
    owner: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEnded:
    """`state` is done, cancelled or failed. The plan goes on, or gives up."""

    tenant_id: UUID
    relocation_id: UUID
    owner: UUID
    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMade:
    """Every move of a plan is done, and what was wished is held for these owners: the plan's own, by name."""

    tenant_id: UUID
    plan_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationAsked:
    """Past requests are to be replayed."""

    tenant_id: UUID
    simulation_id: UUID
    at: datetime
