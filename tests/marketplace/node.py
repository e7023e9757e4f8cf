"""A node for tests: it enrols, heartbeats and sends signed usage through the allocator's own services."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings

from allocator import facade as allocator
from allocator.services import enrol, ingest, sync
from plumbing.rowsec import system_scope
from vxpu.ids import decode, encode, new_uuid
from vxpu.market import DeviceView
from vxpu.states import DeviceKind, Isolation, LeaseState
from vxpu.wire.node import DesiredLease, DeviceReport, Enrol, HookDone, LeaseReport, Sync
from vxpu.wire.usage import USAGE_TYPE

CAPACITY_MIB = 8192


def make_device(**over: Any) -> DeviceReport:
    """A whole CPU of 8 GiB, all of it for sale."""
    wanted: dict[str, Any] = {
        "key": f"cpu:{new_uuid().hex[-12:]}", "kind": DeviceKind.CPU, "model": "Test CPU", "vendor": "Acme",
        "simulated": False, "compute_units": 4, "memory_mib": 2 * CAPACITY_MIB, "capacity_mib": CAPACITY_MIB,
        "capacity_permille": 1000, "isolation": Isolation.STRICT, **over,
    }  # fmt: skip
    return DeviceReport(**wanted)


class Node:
    """Obeys its orders at once, and says so in the next heartbeat; `hook` is what comes of each ("" no answer)."""

    def __init__(self, *, now: datetime, devices: list[DeviceReport] | None = None) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.devices = devices or [make_device()]
        self.seq = 0
        self.boot_id = new_uuid().hex
        self.running: dict[str, DesiredLease] = {}
        self.gone: dict[str, DesiredLease] = {}
        self.hook: Literal["ok", "failed", "timeout", "none", ""] = "none"
        with system_scope():
            token = enrol.issue_enrolment(note="test", node_id=None, now=now).one_time_token
            public = base64.b64encode(self.key.public_key().public_bytes_raw()).decode()
            message = Enrol(
                one_time_token=token,
                public_key=public,
                hostname="node",
                machine_id=new_uuid().hex,
                agent_version="test",
            )
            self.id = decode("nod", enrol.enrol(message=message, now=now).node_id)
        self.beat(now=now)

    def beat(self, *, now: datetime) -> None:
        """Hear the orders, do them, tell what came of it."""
        self._sync(now=now)
        self._sync(now=now)

    def device(self, number: int = 0) -> DeviceView:
        with system_scope():
            return next(view for view in allocator.list_devices() if view.key == self.devices[number].key)

    def use(self, lease_id: UUID, *, window_start: datetime, used_permille_s: int | None, now: datetime) -> str:
        """Send one window of usage; the status it got."""
        lease = self._known()[encode("lse", lease_id)]
        self.seq += 1
        window_s = settings.VXPU_WINDOW_S
        event = {
            "specversion": "1.0", "id": new_uuid().hex, "type": USAGE_TYPE, "subject": lease.lease_id,
            "source": f"/agents/{encode('nod', self.id)}", "time": now.isoformat(),
            "datacontenttype": "application/json",
            "data": {
                "window_start": window_start.isoformat(), "window_s": window_s, "token": lease.token,
                "granted_permille_s": lease.slice.share_permille * window_s, "used_permille_s": used_permille_s,
                "granted_mib_s": lease.slice.memory_mib * window_s, "peak_mib": 1, "state": "ready", "seq": self.seq,
                "prev_hash": "", "clock_offset_ms": 0, "mono_ns": 0,
            },
        }  # fmt: skip
        body = json.dumps([event]).encode()
        with system_scope():
            answer = ingest.ingest(node_id=self.id, body=body, encoding="", signature=self.key.sign(body), now=now)
        return str(answer.results[0].status)

    def use_steadily(self, lease_id: UUID, *, since: datetime, until: datetime, permille: int | None) -> None:
        """Windows of `permille` (None: cannot be read) over [since, until), on the grid, each sent as it ends."""
        step = timedelta(seconds=settings.VXPU_WINDOW_S)
        at = since
        while at < until:
            used = None if permille is None else permille * settings.VXPU_WINDOW_S
            status = self.use(lease_id, window_start=at, used_permille_s=used, now=at + step)
            assert status == "accepted", status
            at += step

    def _known(self) -> dict[str, DesiredLease]:
        return {**self.gone, **self.running}

    def _reports(self) -> list[LeaseReport]:
        states = {
            **dict.fromkeys(self.running, LeaseState.READY),
            **dict.fromkeys(self.gone, LeaseState.GONE),
        }
        return [
            LeaseReport(
                lease_id=name,
                token=lease.token,
                version=lease.version,
                state=states[name],
                isolation=Isolation.STRICT,
                hook=HookDone(id=lease.hook.id, result=self.hook) if lease.hook and self.hook else None,
            )
            for name, lease in self._known().items()
        ]

    def _sync(self, *, now: datetime) -> None:
        self.seq += 1
        message = Sync(seq=self.seq, sent_at=now, devices=self.devices, leases=self._reports())
        with system_scope():
            desired = sync.sync(node_id=self.id, boot_id=self.boot_id, message=message, now=now).desired
        wanted = {lease.lease_id: lease for lease in desired.leases if lease.wanted != "gone"}
        self.gone |= {name: lease for name, lease in self.running.items() if name not in wanted}
        self.gone |= {lease.lease_id: lease for lease in desired.leases if lease.wanted == "gone"}
        self.running = wanted
