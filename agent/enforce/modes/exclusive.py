"""`exclusive`: one tenant has the whole card; the library stands aside and the card is left as it is."""

from __future__ import annotations

import contextlib
from pathlib import Path

from agent.devices.nvidia import COMPUTE_EXCLUSIVE_PROCESS, CardEvent, CardGone, NvidiaPort, Refused
from agent.devices.port import Badge, Device
from agent.enforce.modes.notes import Notes
from agent.enforce.modes.port import CannotShare, CardLease, Grant, Operator
from vxpu.states import Isolation

DETAIL = "the whole card to one tenant; nothing stands between its programs and the driver"


class Exclusive:
    """Where the operator says so the card goes into "one process at a time" for the lease, and back afterwards."""

    name = "exclusive"

    def __init__(self, port: NvidiaPort, operator: Operator, state_dir: Path) -> None:
        self._port = port
        self._operator = operator
        self._notes = Notes(state_dir / "card-exclusive.json")

    def fits(self, card: Device, operator: Operator) -> str:
        del operator
        if card.card is not None and card.card.mig is not None and card.card.mig.enabled:
            return "the card is cut by MIG: the whole of it cannot be given out as one"
        return ""

    def badge(self, card: Device, operator: Operator) -> Badge:
        del card, operator
        return Badge(Isolation.EXCLUSIVE, DETAIL)

    def prepare(self, lease: CardLease, card: Device) -> Grant:
        if not lease.is_whole(card):
            raise CannotShare("this card is sold whole only")
        if self._operator.sets_compute_mode and self._notes.get(lease.lease_id) is None:
            self._set_compute_mode(lease, card)
        return self.adopt(lease, card)

    def _set_compute_mode(self, lease: CardLease, card: Device) -> None:
        try:
            before = self._port.compute_mode(card)
            if before is None:
                raise CannotShare("the card has no compute mode to set")
            self._notes.put(lease.lease_id, key=card.key, compute_mode=before)
            self._port.set_compute_mode(card, COMPUTE_EXCLUSIVE_PROCESS)
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        return Grant(Isolation.EXCLUSIVE, DETAIL, nodes=card.nodes, share_permille=lease.share_permille, inert=True)

    def resize(self, lease: CardLease, card: Device) -> Grant:
        if not lease.is_whole(card):
            raise CannotShare("a card that was bought whole stays whole until it is released")
        return self.adopt(lease, card)

    def release(self, lease_id: str, card: Device) -> None:
        note = self._notes.get(lease_id)
        if note is None:
            return
        try:
            self._port.set_compute_mode(card, note["compute_mode"])
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error
        self._notes.drop(lease_id)

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        """A compute mode that a forgotten lease left behind is put back; a card that is gone is left alone."""
        events = []
        cards = {card.key: card for card in self._port.discover()}
        for lease_id, note in self._notes.all().items():
            if lease_id not in known and note["key"] in cards:
                with contextlib.suppress(CannotShare):
                    self.release(lease_id, cards[note["key"]])
                    events.append(CardEvent(note["key"], f"compute_mode: put back after forgotten lease {lease_id}"))
        return events

    def tend(self) -> list[CardEvent]:
        return []
