"""States that both the server and the agent speak of, with the moves that are legal."""

from __future__ import annotations

from enum import StrEnum


class LeaseState(StrEnum):
    """The live part of a reservation, from the node's side."""

    HELD = "held"
    ASSIGNED = "assigned"
    PREPARING = "preparing"
    READY = "ready"
    SUSPENDED = "suspended"
    DRAINING = "draining"
    UNREACHABLE = "unreachable"
    LOST = "lost"
    GONE = "gone"


LEASE_MOVES: dict[LeaseState, frozenset[LeaseState]] = {
    LeaseState.HELD: frozenset({LeaseState.ASSIGNED, LeaseState.GONE}),
    LeaseState.ASSIGNED: frozenset(
        {LeaseState.PREPARING, LeaseState.READY, LeaseState.DRAINING, LeaseState.UNREACHABLE, LeaseState.GONE}
    ),
    LeaseState.PREPARING: frozenset({LeaseState.READY, LeaseState.DRAINING, LeaseState.UNREACHABLE, LeaseState.GONE}),
    LeaseState.READY: frozenset({LeaseState.SUSPENDED, LeaseState.DRAINING, LeaseState.UNREACHABLE, LeaseState.GONE}),
    LeaseState.SUSPENDED: frozenset({LeaseState.READY, LeaseState.DRAINING, LeaseState.UNREACHABLE, LeaseState.GONE}),
    LeaseState.DRAINING: frozenset({LeaseState.UNREACHABLE, LeaseState.GONE}),
    LeaseState.UNREACHABLE: frozenset(
        {LeaseState.PREPARING, LeaseState.READY, LeaseState.DRAINING, LeaseState.LOST, LeaseState.GONE}
    ),
    LeaseState.LOST: frozenset(),
    LeaseState.GONE: frozenset(),
}


class Isolation(StrEnum):
    """What is enforced, shown before purchase. Strongest first."""

    EXCLUSIVE = "exclusive"
    MIG = "mig"
    MPS = "mps"
    STRICT = "limiter-strict"
    ADVISORY = "limiter-advisory"


class Quality(StrEnum):
    """How a reading was come by."""

    MEASURED = "measured"
    ESTIMATED = "estimated"
    STALE = "stale"
    UNAVAILABLE = "unavailable"


class DeviceKind(StrEnum):
    CPU = "cpu"
    NVIDIA = "nvidia"
    OPENCL = "opencl"
