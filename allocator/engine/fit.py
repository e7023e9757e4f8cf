"""Does it fit, and if not, which constraint says so.

The rule for one card. `view.View.fits` is the same rule for all cards at once, and `view.View.refusals` names the same
constraint; a property compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.engine.fleet import Ask, Card, Machine, Taken, host_peak, peak
from allocator.engine.mig import choose, mask_of

# In the order in which they are looked at: a device is counted at the first that it fails.
CONSTRAINTS = (
    "impossible_shape", "other_device", "other_kind", "other_model", "other_pool", "other_site", "isolation",
    "larger_than_device", "offline", "maintenance", "cordoned", "settling", "standby", "unhealthy", "in_use",
    "taken_whole", "memory_and_compute", "compute", "memory", "copy_bandwidth", "mig_slot", "host_cores",
    "host_memory", "not_together",
)  # fmt: skip


class Room(NamedTuple):
    """What is left of a card over the whole of a period."""

    permille: int
    mib: int


class Size(NamedTuple):
    permille: int
    mib: int


def room(card: Card, starts: int, ends: int) -> Room:
    top = peak(card.taken, starts, ends)
    return Room(card.permille - top.permille, card.mib - top.mib)


def asked_size(card: Card, ask: Ask) -> Size:
    """A whole-device ask takes all of the card; on a card that is cut, an ask takes the smallest profile."""
    if ask.whole:
        return Size(card.permille, card.mib)
    profile = None if card.mig is None else card.mig.smallest(ask.permille, ask.mib)
    return Size(ask.permille, ask.mib) if profile is None else Size(profile.permille, profile.mib)


def busy_slots(taken: Iterable[Taken]) -> int:
    """A bit for each memory slice that one of the pieces has."""
    busy = 0
    for piece in taken:
        busy |= 0 if piece.slots is None else mask_of(piece.slots)
    return busy


def static_refusal(card: Card, ask: Ask, machine: Machine | None) -> str | None:
    """A card that fails one of these never takes this ask, whatever the time or the load."""
    failed = {
        "impossible_shape": not ask.is_possible,
        "other_device": ask.device_id is not None and card.device_id != ask.device_id,
        "other_kind": ask.kind is not None and card.kind != ask.kind,
        "other_model": ask.models is not None and card.model not in ask.models,
        "other_pool": machine is not None and ask.pool is not None and machine.pool != ask.pool,
        "other_site": machine is not None and ask.site is not None and machine.site != ask.site,
        "isolation": ask.isolation_rank is not None and card.isolation_rank > ask.isolation_rank,
    }
    first = next((name for name, is_failed in failed.items() if is_failed), None)
    return first or ("larger_than_device" if is_larger(card, ask) else None)


def is_larger(card: Card, ask: Ask) -> bool:
    """Whether the card, empty, is too small in any way. One of no capacity is, for every ask."""
    if card.permille <= 0 or ask.permille > card.permille or ask.mib > card.mib:
        return True
    if ask.copy_permille > card.copy_permille:
        return True
    return card.mig is not None and not ask.whole and card.mig.smallest(ask.permille, ask.mib) is None


def _load_refusal(card: Card, ask: Ask, starts: int, ends: int) -> str | None:
    overlapping = [piece for piece in card.taken if piece.starts < ends and starts < piece.ends]
    if ask.whole:
        return "in_use" if overlapping else None
    if any(piece.whole for piece in overlapping):
        return "taken_whole"
    top = peak(overlapping, starts, ends)
    size = asked_size(card, ask)
    no_compute = top.permille + size.permille > card.permille
    no_memory = top.mib + size.mib > card.mib
    if no_compute or no_memory:
        return "memory_and_compute" if no_compute and no_memory else "compute" if no_compute else "memory"
    if ask.copy_permille and top.copy_permille + ask.copy_permille > card.copy_permille:
        return "copy_bandwidth"
    return None if _has_slot(card, ask, overlapping) else "mig_slot"


def _has_slot(card: Card, ask: Ask, overlapping: Sequence[Taken]) -> bool:
    profile = None if card.mig is None else card.mig.smallest(ask.permille, ask.mib)
    return card.mig is None or profile is None or choose(card.mig, profile, busy_slots(overlapping)) is not None


def _service_refusal(card: Card, starts: int, ends: int) -> str | None:
    if not card.online:
        return "offline"
    if any(closed.starts < ends and starts < closed.ends for closed in card.closed):
        return "maintenance"
    states = (card.cordoned, "cordoned"), (card.settling, "settling"), (card.standby, "standby")
    return next((name for holds, name in (*states, (card.unhealthy, "unhealthy")) if holds), None)


def host_refusal(machine: Machine, ask: Ask, starts: int, ends: int) -> str | None:
    """Of the node's own resources. An ask of none is refused none, however little is left."""
    top = host_peak(machine.taken, starts, ends)
    if ask.cores_milli and top.cores_milli + ask.cores_milli > machine.cores_milli:
        return "host_cores"
    return "host_memory" if ask.host_mib and top.mib + ask.host_mib > machine.mib else None


def node_refusal(machine: Machine, ask: Ask) -> str | None:
    """Of an ask of no device."""
    if not ask.is_possible:
        return "impossible_shape"
    if ask.pool is not None and machine.pool != ask.pool:
        return "other_pool"
    if ask.site is not None and machine.site != ask.site:
        return "other_site"
    return host_refusal(machine, ask, ask.starts, ask.ends)


def moment_refusal(card: Card, ask: Ask) -> str | None:
    """Of the card's service and load over the ask's period: what another period may mend."""
    return _service_refusal(card, ask.starts, ask.ends) or _load_refusal(card, ask, ask.starts, ask.ends)


def refusal(card: Card, ask: Ask, machine: Machine | None = None) -> str | None:
    """The first constraint that the card fails, by name, for one of the ask's devices; None if it fits.

    Without its machine, neither pool nor site nor the host are looked at.
    """
    found = static_refusal(card, ask, machine) or moment_refusal(card, ask)
    if found is None and machine is not None:
        return host_refusal(machine, ask, ask.starts, ask.ends)
    return found


def change_refusal(card: Card, ask: Ask, *, longer_from: int | None = None) -> str | None:
    """For a lease that is on the card and left out of it: a cordon lets it be, and only what is longer than before
    (from `longer_from` on) must keep clear of maintenance."""
    if not ask.is_possible:
        return "impossible_shape"
    if longer_from is not None and any(one.starts < ask.ends and longer_from < one.ends for one in card.closed):
        return "maintenance"
    if is_larger(card, ask):
        return "larger_than_device"
    return _load_refusal(card, ask, ask.starts, ask.ends)
