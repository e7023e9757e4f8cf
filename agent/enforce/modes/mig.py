"""`mig`: each slice is an instance that the card's hardware cuts off. Turning MIG on is the operator's, never ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.devices.mig import Instance, MigCard, Profile, cap_nodes
from agent.devices.nvidia import CardEvent, CardGone, NvidiaPort, Refused
from agent.devices.port import Badge, Device
from agent.enforce.modes.notes import Note, Notes
from agent.enforce.modes.port import CannotShare, CardLease, Grant, Operator
from vxpu.states import Isolation
from vxpu.units import WHOLE_PERMILLE

DETAIL = "an instance cut off by the card's hardware: own memory, own processors"
TAKEN_BACK = "mig_taken_back: the instance of ended lease"


class Mig:
    """Places are chosen and noted before an instance is made, so a crash never leaves one that nobody knows."""

    name = "mig"

    def __init__(self, port: NvidiaPort, state_dir: Path) -> None:
        self._port = port
        self._notes = Notes(state_dir / "card-mig.json")

    def fits(self, card: Device, operator: Operator) -> str:
        del operator
        state = card.card.mig if card.card is not None else None
        if state is None:
            return "the card or its driver has no MIG"
        if state.pending != state.enabled:
            turned = "on" if state.pending else "off"
            return f"MIG was turned {turned} but the card waits for a reset, which is the operator's to do"
        return "" if state.enabled else "MIG is turned off on this card; the operator turns it on (nvidia-smi -mig 1)"

    def badge(self, card: Device, operator: Operator) -> Badge:
        del card, operator
        return Badge(Isolation.MIG, DETAIL)

    def prepare(self, lease: CardLease, card: Device) -> Grant:
        try:
            return self._grant(lease, card, self._made(lease, card))
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        return self.prepare(lease, card)

    def resize(self, lease: CardLease, card: Device) -> Grant:
        """Within the instance only: its size is fixed while processes may run in it."""
        return self.prepare(lease, card)

    def release(self, lease_id: str, card: Device) -> None:
        self._notes.end(lease_id, card.key, self._undo)

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        return self._notes.settle(lambda note: note.lease_id not in known, self._undo, what=TAKEN_BACK)

    def tend(self) -> list[CardEvent]:
        return self._notes.settle(lambda note: note.is_over, self._undo, what=TAKEN_BACK)

    def _undo(self, note: Note) -> None:
        mig = MigCard(self._port.nvml, note.uuid)
        instance = _at(mig.instances(), note.values) if mig.is_on() else None
        if instance is not None:
            mig.destroy(instance.id)

    def _made(self, lease: CardLease, card: Device) -> Instance:
        note = self._notes.get(lease.lease_id, card.key)
        if note is None and (missing := self.fits(card, Operator())):
            raise CannotShare(missing)
        mig = MigCard(self._port.nvml, card.uuid)
        profiles = mig.profiles()
        instances = mig.instances()
        if note is None:
            profile, start, size = self._choose(lease, card, mig, profiles, instances)
            self._notes.put(lease.lease_id, card.key, profile_id=profile.id, start=start, size=size)
            return self._create(lease, card, mig, profile, start, size)
        if note.is_over:  # it came back before the card did
            self._notes.put(lease.lease_id, card.key, **note.values)
        profile = _profile(profiles, note.values["profile_id"])
        if not _covers(profile, lease, _whole(profiles)):
            raise CannotShare("an instance cannot change its size while it is in use: release it and reserve anew")
        found = _at(instances, note.values)
        if found is None:
            return self._create(lease, card, mig, profile, note.values["start"], note.values["size"])
        return found if found.compute_id is not None else mig.complete(found.id, profile)

    def _create(
        self, lease: CardLease, card: Device, mig: MigCard, profile: Profile, start: int, size: int
    ) -> Instance:
        try:
            return mig.create(profile, start=start, size=size)
        except Refused:
            if _at(mig.instances(), {"profile_id": profile.id, "start": start, "size": size}) is None:
                self._notes.drop(lease.lease_id, card.key)  # nothing was made: the place may be another's next time
            raise

    def _choose(
        self, lease: CardLease, card: Device, mig: MigCard, profiles: list[Profile], instances: list[Instance]
    ) -> tuple[Profile, int, int]:
        """The smallest shape that covers the lease, where it is booked; without word of that, at its first place that
        nothing overlaps or has been promised. A booked place that is still another's is waited for."""
        covering = [profile for profile in profiles if _covers(profile, lease, _whole(profiles))]
        if not covering:
            raise CannotShare(f"no MIG profile of this card covers {lease.memory_mib} MiB and "
                              f"{lease.share_permille} permille")  # fmt: skip
        taken = [(instance.start, instance.size) for instance in instances]
        taken += [(note.values["start"], note.values["size"]) for note in self._notes.all() if note.key == card.key]
        places = [
            (profile, start, size)
            for profile in covering
            for start, size in reversed(mig.starts(profile))  # from the end: the largest shapes begin at 0
            if lease.slots is None or lease.slots == (start, start + size)
        ]
        if lease.slots is not None and not places:
            raise CannotShare(f"no MIG profile of this card that covers the lease lies on {_words(lease.slots)}")
        for profile, start, size in places:
            if all(start + size <= other or other + length <= start for other, length in taken):
                return profile, start, size
        if lease.slots is not None:
            raise CannotShare(f"booked for this lease, but still another instance's: {_words(lease.slots)}")
        raise CannotShare("no place is left on the card for an instance of that size")

    def _grant(self, lease: CardLease, card: Device, instance: Instance) -> Grant:
        if not instance.uuid:
            raise CannotShare("the driver has not named the new instance yet")
        mig = MigCard(self._port.nvml, card.uuid)
        profiles = mig.profiles()
        profile = _profile(profiles, instance.profile_id)
        share = min(WHOLE_PERMILLE, lease.share_permille * _whole(profiles) // profile.slices)
        detail = f"{DETAIL} ({profile.slices} of {_whole(profiles)} parts, {profile.memory_mib} MiB); the library trims"
        minor = mig.minor()
        caps = () if card.simulated or minor is None else cap_nodes(minor, instance)
        return Grant(
            Isolation.MIG, detail, nodes=(*card.nodes, *caps), share_permille=share,
            environment={"CUDA_VISIBLE_DEVICES": instance.uuid, "NVIDIA_VISIBLE_DEVICES": instance.uuid},
        )  # fmt: skip


def _words(slots: tuple[int, int]) -> str:
    first, end = slots
    return f"memory slot {first}" if end == first + 1 else f"memory slots {first} to {end - 1}"


def _whole(profiles: list[Profile]) -> int:
    """Of how many parts the card is made."""
    return max((profile.slices for profile in profiles), default=1)


def _profile(profiles: list[Profile], profile_id: int) -> Profile:
    found = next((profile for profile in profiles if profile.id == profile_id), None)
    if found is None:
        raise CannotShare("the card has lost the shape that this lease was cut in: was MIG turned off?")
    return found


def _covers(profile: Profile, lease: CardLease, whole: int) -> bool:
    return lease.memory_mib <= profile.memory_mib and lease.share_permille * whole <= profile.slices * WHOLE_PERMILLE


def _at(instances: list[Instance], noted: dict[str, Any]) -> Instance | None:
    wanted = (noted["profile_id"], noted["start"], noted["size"])
    return next((one for one in instances if (one.profile_id, one.start, one.size) == wanted), None)
