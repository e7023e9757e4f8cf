"""One simulated machine: it enrols, beats, does as it is told and says what it used, as an agent does."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from allocator.management.simulated.plan import DevicePlan, NodePlan, Trait
from allocator.models import Device, Node
from allocator.services import enrol, ingest, pools, sync
from vxpu.ids import decode, encode
from vxpu.states import Isolation, LeaseState, Quality
from vxpu.wire.node import DesiredLease, DeviceReport, Enrol, LeaseReport, Reading, Sync

VERSION = "simulated"
AMBIENT_C, RISE_C, HOT_C = 31, 46, 22


class Machine:
    """Nothing runs on it. What it reports moves by the dice."""

    def __init__(self, plan: NodePlan, *, dice: random.Random) -> None:
        self.plan = plan
        self._dice = dice
        self._key = Ed25519PrivateKey.generate()
        self._machine_id = hashlib.sha256(f"vxpu simulated {plan.hostname}".encode()).hexdigest()
        self._seq = 0
        self._faults = [dice.randint(1, 6) if one.trait is Trait.FAULTY else 0 for one in plan.devices]
        self._orders: list[DesiredLease] = []
        self._ready_since: dict[str, datetime] = {}
        self._appetite: dict[str, int] = {}
        self._metered_until: datetime | None = None
        self._windows = 0
        self.node_id = UUID(int=0)

    def key_of(self, number: int) -> str:
        """Of the device with that number."""
        return f"simulated:{self.plan.hostname}:{number}"

    def device_ids(self) -> list[UUID]:
        """In order of number."""
        known = dict(Device.objects.filter(node_id=self.node_id).values_list("key", "pk"))
        return [known[self.key_of(number)] for number in range(len(self.plan.devices))]

    def enrol(self, *, now: datetime) -> None:
        """As a new node, or as itself if it was there before."""
        before = Node.objects.filter(machine_id=self._machine_id, state="active").values_list("pk", flat=True).first()
        ticket = enrol.issue_enrolment(note="simulated", node_id=before, now=now)
        message = Enrol(
            one_time_token=ticket.one_time_token,
            public_key=base64.b64encode(self._key.public_key().public_bytes_raw()).decode(),
            hostname=self.plan.hostname,
            machine_id=self._machine_id,
            agent_version=VERSION,
        )
        self.node_id = decode("nod", enrol.enrol(message=message, now=now).node_id)
        pools.describe_node(node_id=self.node_id, changes={"rack": self.plan.rack}, actor=VERSION, now=now)

    def beat(self, *, now: datetime) -> None:
        """Report what it has and does, and read what it should do."""
        self._seq += 1
        message = Sync(
            seq=self._seq,
            sent_at=now,
            devices=[self._device(number, plan, now) for number, plan in enumerate(self.plan.devices)],
            leases=[self._lease(order) for order in self._orders],
        )
        self._orders = sync.sync(node_id=self.node_id, boot_id=VERSION, message=message, now=now).desired.leases
        running = {order.lease_id for order in self._orders if order.wanted == "ready"}
        self._ready_since = {lease: self._ready_since.get(lease, now) for lease in running}
        for lease in running:
            was = self._appetite.get(lease) or self._dice.choice((0, 30, 120, 450, 600, 700, 850, 950, 1000))
            self._appetite[lease] = max(0, min(1000, was + self._dice.randint(-40, 40)))

    def _lease(self, order: DesiredLease) -> LeaseReport:
        done = LeaseState.READY if order.wanted == "ready" else LeaseState.GONE
        done = LeaseState.SUSPENDED if order.wanted == "suspended" else done
        return LeaseReport(lease_id=order.lease_id, token=order.token, version=order.version, state=done)

    def _device(self, number: int, plan: DevicePlan, now: datetime) -> DeviceReport:
        model = self.plan.model
        return DeviceReport(
            key=self.key_of(number), kind=model.kind, model=model.name, vendor="Simulated", simulated=True,
            compute_units=model.compute_units, memory_mib=model.memory_mib, capacity_mib=model.memory_mib,
            capacity_permille=1000, isolation=Isolation.ADVISORY,
            isolation_detail="Simulated: nothing runs and nothing is enforced.",
            readings=self._readings(number, plan, now),
        )  # fmt: skip

    def _readings(self, number: int, plan: DevicePlan, now: datetime) -> dict[str, Reading]:
        orders = [order for order in self._orders if order.device_key == self.key_of(number)]
        used = sum(self._used_permille(order) for order in orders)
        memory = sum(order.slice.memory_mib for order in orders) * self._dice.randint(60, 95) // 100
        model = self.plan.model
        values: dict[str, int | None] = {"utilization_permille": min(1000, used), "memory_used_mib": memory}
        heat = AMBIENT_C + RISE_C * used // 1000 + self._dice.randint(-2, 2)
        values["temperature_c"] = heat + HOT_C * (plan.trait is Trait.HOT) if model.has_sensors else None
        watts = model.idle_w + (model.full_w - model.idle_w) * used // 1000
        values["power_mw"] = watts * self._dice.randint(960, 1040) if model.has_sensors else None
        values["ecc_uncorrected"] = self._faults[number] if model.has_sensors else None
        return {name: _reading(value, now) for name, value in values.items()}

    def _used_permille(self, order: DesiredLease) -> int:
        return order.slice.share_permille * self._appetite.get(order.lease_id, 0) // 1000

    def meter(self, *, now: datetime) -> None:
        """Send the newest whole window of each lease that was ready all through it."""
        window = timedelta(seconds=settings.VXPU_WINDOW_S)
        end = datetime.fromtimestamp(now.timestamp() // settings.VXPU_WINDOW_S * settings.VXPU_WINDOW_S, tz=now.tzinfo)
        whole = [order for order in self._orders if self._ready_since.get(order.lease_id, now) <= end - window]
        if not whole or self._metered_until == end:
            return
        self._metered_until = end
        self._send([self._event(order, end - window, now) for order in whole], now)

    def _send(self, events: Sequence[dict[str, Any]], now: datetime) -> None:
        body = json.dumps(events).encode()
        signature = self._key.sign(body)
        ingest.ingest(node_id=self.node_id, body=body, encoding="", signature=signature, now=now)

    def _event(self, order: DesiredLease, start: datetime, now: datetime) -> dict[str, Any]:
        length = settings.VXPU_WINDOW_S
        self._windows += 1
        data = {
            "window_start": start.isoformat(), "window_s": length, "token": order.token,
            "granted_permille_s": order.slice.share_permille * length,
            "used_permille_s": self._used_permille(order) * length,
            "granted_mib_s": order.slice.memory_mib * length, "peak_mib": order.slice.memory_mib * 3 // 4,
            "state": "ready", "seq": self._windows, "prev_hash": "", "clock_offset_ms": 0, "mono_ns": self._windows,
        }  # fmt: skip
        return {
            "specversion": "1.0", "id": f"{order.lease_id}/{start.timestamp():.0f}", "type": "vxpu.usage.v1",
            "source": f"/agents/{encode('nod', self.node_id)}", "subject": order.lease_id, "time": now.isoformat(),
            "datacontenttype": "application/json", "data": data,
        }  # fmt: skip


def _reading(value: int | None, now: datetime) -> Reading:
    if value is None:
        return Reading(value=None, at=None, quality=Quality.UNAVAILABLE)
    return Reading(value=value, at=now, quality=Quality.MEASURED)
