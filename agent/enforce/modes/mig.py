"""`mig`: each slice is an instance that the card's hardware cuts off. Turning MIG on is the operator's, never ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.devices.mig import Instance, MigCard, Profile, cap_nodes
from agent.devices.nvidia import CardEvent, CardGone, NvidiaPort, Refused
from agent.devices.port import Badge, Device
from agent.enforce.modes.notes import Notes
from agent.enforce.modes.port import CannotShare, CardLease, Grant, Operator
from vxpu.states import Isolation
from vxpu.units import WHOLE_PERMILLE

DETAIL = "an instance cut off by the card's hardware: own memory, own processors"


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
        try:
            profiles = {profile.id: profile for profile in MigCard(self._port.nvml, card.uuid).profiles()}
            note = self._notes.get(lease.lease_id)
            if note is None or not _covers(profiles[note["profile_id"]], lease, _whole(list(profiles.values()))):
                raise CannotShare("an instance cannot change its size while it is in use: release it and reserve anew")
            return self._grant(lease, card, self._made(lease, card))
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error

    def release(self, lease_id: str, card: Device) -> None:
        note = self._notes.get(lease_id)
        if note is None:
            return
        mig = MigCard(self._port.nvml, card.uuid)
        try:
            instance = _at(mig.instances(), note)
            if instance is not None:
                mig.destroy(instance.id)
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error
        self._notes.drop(lease_id)

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        events = []
        cards = {card.key: card for card in self._port.discover()}
        for lease_id, note in self._notes.all().items():
            if lease_id in known or note["key"] not in cards:
                continue
            try:
                self.release(lease_id, cards[note["key"]])
                events.append(CardEvent(note["key"], f"mig_taken_back: the instance of forgotten lease {lease_id}"))
            except CannotShare as error:
                events.append(CardEvent(note["key"], f"mig_left: {error}"))
        return events

    def tend(self) -> list[CardEvent]:
        return []

    def _made(self, lease: CardLease, card: Device) -> Instance:
        note = self._notes.get(lease.lease_id)
        if note is None and (missing := self.fits(card, Operator())):
            raise CannotShare(missing)
        mig = MigCard(self._port.nvml, card.uuid)
        profiles = mig.profiles()
        instances = mig.instances()
        if note is None:
            profile, start, size = self._choose(lease, card, mig, profiles, instances)
            self._notes.put(lease.lease_id, key=card.key, profile_id=profile.id, start=start, size=size)
            return self._create(lease, mig, profile, start, size)
        profile = next(profile for profile in profiles if profile.id == note["profile_id"])
        found = _at(instances, note)
        if found is None:
            return self._create(lease, mig, profile, note["start"], note["size"])
        return found if found.compute_id is not None else mig.complete(found.id, profile)

    def _create(self, lease: CardLease, mig: MigCard, profile: Profile, start: int, size: int) -> Instance:
        try:
            return mig.create(profile, start=start, size=size)
        except Refused:
            if _at(mig.instances(), {"profile_id": profile.id, "start": start, "size": size}) is None:
                self._notes.drop(lease.lease_id)  # nothing was made: the place may be another's next time
            raise

    def _choose(
        self, lease: CardLease, card: Device, mig: MigCard, profiles: list[Profile], instances: list[Instance]
    ) -> tuple[Profile, int, int]:
        """The smallest shape that covers the lease, at its first place that nothing overlaps or has been promised."""
        covering = [profile for profile in profiles if _covers(profile, lease, _whole(profiles))]
        if not covering:
            raise CannotShare(f"no MIG profile of this card covers {lease.memory_mib} MiB and "
                              f"{lease.share_permille} permille")  # fmt: skip
        taken = [(instance.start, instance.size) for instance in instances]
        taken += [(note["start"], note["size"]) for note in self._notes.all().values() if note["key"] == card.key]
        for profile in covering:
            for start, size in reversed(mig.starts(profile)):  # from the end: the largest shapes begin at 0
                if all(start + size <= other or other + length <= start for other, length in taken):
                    return profile, start, size
        raise CannotShare("no place is left on the card for an instance of that size")

    def _grant(self, lease: CardLease, card: Device, instance: Instance) -> Grant:
        if not instance.uuid:
            raise CannotShare("the driver has not named the new instance yet")
        mig = MigCard(self._port.nvml, card.uuid)
        profiles = mig.profiles()
        profile = next(profile for profile in profiles if profile.id == instance.profile_id)
        share = min(WHOLE_PERMILLE, lease.share_permille * _whole(profiles) // profile.slices)
        detail = f"{DETAIL} ({profile.slices} of {_whole(profiles)} parts, {profile.memory_mib} MiB); the library trims"
        minor = mig.minor()
        caps = () if card.simulated or minor is None else cap_nodes(minor, instance)
        return Grant(
            Isolation.MIG, detail, nodes=(*card.nodes, *caps), share_permille=share,
            environment={"CUDA_VISIBLE_DEVICES": instance.uuid, "NVIDIA_VISIBLE_DEVICES": instance.uuid},
        )  # fmt: skip


def _whole(profiles: list[Profile]) -> int:
    """Of how many parts the card is made."""
    return max(profile.slices for profile in profiles)


def _covers(profile: Profile, lease: CardLease, whole: int) -> bool:
    return lease.memory_mib <= profile.memory_mib and lease.share_permille * whole <= profile.slices * WHOLE_PERMILLE


def _at(instances: list[Instance], note: dict[str, Any]) -> Instance | None:
    wanted = (note["profile_id"], note["start"], note["size"])
    return next((one for one in instances if (one.profile_id, one.start, one.size) == wanted), None)
