"""Desired and observed in, actions out. Pure: the daemon carries them out and calls again, so nothing waits in here.

The rules of an outage (also in docs/agent.md): when the server has been silent for longer than the agent's authority,
gates close and memory stays; a slice is ended only because a Desired of the server says so (it is absent, "gone", or
its token was superseded), or because its time ran out while the server was there to extend it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vxpu.states import LeaseState
from vxpu.wire.node import DesiredLease

SECOND_NS = 1_000_000_000
# What its programs are told of the end of a slice whose hook was asked for, by the hook's reason.
HOOKED = {"move": "moved", "preempt": "preempted", "maintenance": "maintenance"}
EXPIRY_MARGIN_NS = SECOND_NS  # the server's own word comes first when both clocks agree


@dataclass(frozen=True, slots=True)
class Observed:
    """One slice as the node has it. `holding`: its namespaces are alive. `draining_ns` since when it is being ended."""

    lease_id: str
    token: int
    version: int
    state: LeaseState
    ends_at_ns: int | None = None
    gate_closed: bool = False
    holding: bool = True
    populated: bool = True
    draining_ns: int | None = None
    limits_short: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make a slice that is not there, or finish one that a crash left half made."""

    lease: DesiredLease


@dataclass(frozen=True, slots=True)
class Repair:
    """Its namespaces died (the host restarted, an operator's kill): make them again."""

    lease_id: str


@dataclass(frozen=True, slots=True)
class Adjust:
    """A new version: other limits, another end."""

    lease: DesiredLease


@dataclass(frozen=True, slots=True)
class Retry:
    """The limits could not be set in full last time."""

    lease_id: str


@dataclass(frozen=True, slots=True)
class Gate:
    lease_id: str
    closed: bool
    suspended: bool


@dataclass(frozen=True, slots=True)
class Drain:
    """End it. `at_once`: without a grace, and without opening its gate once more."""

    lease_id: str
    reason: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    lease_id: str


@dataclass(frozen=True, slots=True)
class Remove:
    lease_id: str


Action = Prepare | Repair | Adjust | Retry | Gate | Drain | Kill | Remove


def decide(
    *,
    desired: Mapping[str, DesiredLease] | None,
    observed: Iterable[Observed],
    tokens_seen: Mapping[str, int],
    ended: Mapping[str, int],
    has_authority: bool,
    now_ns: int,
    grace_ns: int,
) -> list[Action]:
    """What to do now. `desired` None: the server has not spoken to this agent yet, so nothing is started or ended.

    `tokens_seen`: the highest fencing token seen per lease; a lower one is void. `ended`: leases that ended here, with
    the token under which they did; the same token never starts again.
    """
    actions: list[Action] = []
    present = set()
    for slice_ in observed:
        present.add(slice_.lease_id)
        wanted = None if desired is None else desired.get(slice_.lease_id)
        if slice_.state == LeaseState.DRAINING:
            actions += _drain_on(slice_, now_ns=now_ns, grace_ns=grace_ns)
        elif desired is not None and (reason := _reason_to_end(slice_, wanted, has_authority, now_ns)):
            actions.append(Drain(slice_.lease_id, reason, at_once=_is_given_up(slice_, wanted)))
        else:
            actions += _keep_up(slice_, wanted, has_authority=has_authority)
    if desired is not None and has_authority:
        actions += [
            Prepare(lease)
            for lease in sorted(desired.values(), key=lambda lease: lease.lease_id)
            if lease.lease_id not in present and _may_start(lease, tokens_seen, ended)
        ]
    return actions


def _drain_on(slice_: Observed, *, now_ns: int, grace_ns: int) -> list[Action]:
    if not slice_.populated or slice_.draining_ns is None or now_ns - slice_.draining_ns >= grace_ns:
        return [Kill(slice_.lease_id), Remove(slice_.lease_id)]
    return []


def _reason_to_end(slice_: Observed, wanted: DesiredLease | None, has_authority: bool, now_ns: int) -> str:
    is_over = slice_.ends_at_ns is not None and slice_.ends_at_ns <= now_ns
    if wanted is None or wanted.wanted == "gone":
        hooked = "" if wanted is None or wanted.hook is None else HOOKED.get(wanted.hook.reason, "")
        return hooked or ("expired" if is_over else "released")
    if wanted.token > slice_.token:
        return "superseded"
    ends_at_ns = end_ns(wanted) if wanted.token == slice_.token else slice_.ends_at_ns
    if has_authority and ends_at_ns is not None and ends_at_ns + EXPIRY_MARGIN_NS <= now_ns:
        return "expired"
    return ""


def _is_given_up(slice_: Observed, wanted: DesiredLease | None) -> bool:
    """Its gate closed while the server was away, and the server has given it up meanwhile: somebody else may run it by
    now, so it does not run for a moment more."""
    return slice_.gate_closed and (wanted is None or wanted.token > slice_.token)


def _keep_up(slice_: Observed, wanted: DesiredLease | None, *, has_authority: bool) -> list[Action]:
    actions: list[Action] = []
    current = wanted if wanted is not None and wanted.token == slice_.token else None
    if slice_.state == LeaseState.PREPARING:
        return [Prepare(current)] if current is not None and has_authority else []
    if not slice_.holding:
        actions.append(Repair(slice_.lease_id))
    if current is not None and current.version > slice_.version:
        actions.append(Adjust(current))
    elif slice_.limits_short:
        actions.append(Retry(slice_.lease_id))
    suspended = slice_.state == LeaseState.SUSPENDED if current is None else current.wanted == "suspended"
    closed = suspended or not has_authority
    if closed != slice_.gate_closed or suspended != (slice_.state == LeaseState.SUSPENDED):
        actions.append(Gate(slice_.lease_id, closed=closed, suspended=suspended))
    return actions


def _may_start(lease: DesiredLease, tokens_seen: Mapping[str, int], ended: Mapping[str, int]) -> bool:
    is_void = lease.token < tokens_seen.get(lease.lease_id, 0) or lease.token <= ended.get(lease.lease_id, -1)
    return lease.wanted != "gone" and not is_void


def end_ns(lease: DesiredLease) -> int | None:
    """The lease's end in nanoseconds since the epoch; None for open-ended."""
    return (
        None if lease.ends_at is None else int(lease.ends_at.timestamp()) * SECOND_NS + lease.ends_at.microsecond * 1000
    )
