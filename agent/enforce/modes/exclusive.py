"""`exclusive`: one tenant has the whole card; the library stands aside and the card is left as it is."""

from __future__ import annotations

from pathlib import Path

from agent.devices.nvidia import COMPUTE_EXCLUSIVE_PROCESS, CardEvent, CardGone, NvidiaPort, Refused
from agent.devices.port import Badge, Device
from agent.enforce.modes.notes import Note, Notes
from agent.enforce.modes.port import CannotShare, CardLease, Grant, Operator
from vxpu.states import Isolation

DETAIL = "the whole card to one tenant; nothing stands between its programs and the driver"
PUT_BACK = "compute_mode: put back after ended lease"


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
        note = self._notes.get(lease.lease_id, card.key)
        if note is not None and note.is_over:  # it came back before the card did
            self._notes.put(lease.lease_id, card.key, **note.values)
        elif note is None and self._operator.sets_compute_mode:
            self._set_compute_mode(lease, card)
        return self.adopt(lease, card)

    def _set_compute_mode(self, lease: CardLease, card: Device) -> None:
        try:
            before = self._port.compute_mode(card.uuid)
            if before is None:
                raise CannotShare("the card has no compute mode to set")
            self._notes.put(lease.lease_id, card.key, compute_mode=before)
            self._port.set_compute_mode(card.uuid, COMPUTE_EXCLUSIVE_PROCESS)
        except (Refused, CardGone) as error:
            raise CannotShare(str(error)) from error

    def adopt(self, lease: CardLease, card: Device) -> Grant:
        return Grant(Isolation.EXCLUSIVE, DETAIL, nodes=card.nodes, share_permille=lease.share_permille, inert=True)

    def resize(self, lease: CardLease, card: Device) -> Grant:
        if not lease.is_whole(card):
            raise CannotShare("a card that was bought whole stays whole until it is released")
        return self.adopt(lease, card)

    def release(self, lease_id: str, card: Device) -> None:
        self._notes.end(lease_id, card.key, self._undo)

    def forget_others(self, known: set[str]) -> list[CardEvent]:
        return self._notes.settle(lambda note: note.lease_id not in known, self._undo, what=PUT_BACK)

    def tend(self) -> list[CardEvent]:
        return self._notes.settle(lambda note: note.is_over, self._undo, what=PUT_BACK)

    def _undo(self, note: Note) -> None:
        self._port.set_compute_mode(note.uuid, note.values["compute_mode"])
