"""A node and what it says, made as the product makes it; all in the system scope."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from allocator import facade
from allocator.models import Device
from allocator.services import enrol, ingest, sync
from allocator.services._desired import Orders
from plumbing import db
from vxpu.ids import decode, encode, new_uuid
from vxpu.market import LeaseView, Wish
from vxpu.slices import Period, Slice
from vxpu.states import DeviceKind, Isolation, LeaseState
from vxpu.wire.node import NODE_TOKEN_AUDIENCE, Desired, DeviceReport, Enrol, HostReport, LeaseReport, Sync
from vxpu.wire.usage import UsageAnswer, UsageStatus

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MIB = 8192
TENANT = UUID("01950000-0000-7000-8000-000000000001")
HOUR = timedelta(hours=1)


def at(seconds: float) -> datetime:
    """So many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def make_device_report(**over: Any) -> DeviceReport:
    wanted: dict[str, Any] = {
        "key": f"cpu:{new_uuid().hex[-12:]}", "kind": DeviceKind.CPU, "model": "Test CPU", "vendor": "Acme",
        "simulated": False, "compute_units": 4, "memory_mib": 2 * MIB, "capacity_mib": MIB, "capacity_permille": 1000,
        "isolation": Isolation.STRICT, **over,
    }  # fmt: skip
    return DeviceReport(**wanted)


def make_wish(**over: Any) -> Wish:
    """A quarter of a device from noon, open-ended. `memory_mib`, `share_permille`, `starts_at`, `ends_at` go inside."""
    piece = Slice(memory_mib=over.pop("memory_mib", MIB // 4), share_permille=over.pop("share_permille", 250))
    period = Period(starts_at=over.pop("starts_at", NOON), ends_at=over.pop("ends_at", None))
    return Wish(**{"slice": piece, "period": period, **over})


@db.transaction
def book(
    wish: Wish,
    *,
    now: datetime = NOON,
    hold_until: datetime | None = None,
    owner: UUID | None = None,
    tenant_id: UUID = TENANT,
) -> LeaseView:
    """Search and book as the shop does it. Raises DoesNotFit."""
    return facade.book(
        tenant_id=tenant_id,
        owner=owner or new_uuid(),
        wish=wish,
        candidates=facade.propose(wish=wish, now=now),
        hold_until=hold_until,
        now=now,
    )


@db.transaction
def release(lease_id: UUID, *, now: datetime) -> LeaseView:
    return facade.release(lease_id=lease_id, reason="released", now=now)


@db.transaction
def resize(lease_id: UUID, *, now: datetime, memory_mib: int, share_permille: int) -> LeaseView:
    piece = Slice(memory_mib=memory_mib, share_permille=share_permille)
    return facade.resize(lease_id=lease_id, slice=piece, now=now)


class Node:
    """An enrolled machine. It does what it is told only when the test says so."""

    def __init__(self, *, devices: int = 1, now: datetime = NOON, **device: Any) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.machine_id = new_uuid().hex
        self.devices = [make_device_report(**device) for _ in range(devices)]
        self.boot_id = new_uuid().hex
        self.seq = 0
        self.host: HostReport | None = None
        ticket = enrol.issue_enrolment(note="test", node_id=None, now=now)
        self.id = decode("nod", enrol.enrol(message=self.enrol_message(ticket.one_time_token), now=now).node_id)
        self.sync(now=now)

    def enrol_message(self, token: str) -> Enrol:
        return Enrol(
            one_time_token=token, public_key=public_text(self.key), hostname="node", machine_id=self.machine_id,
            agent_version="test",
        )  # fmt: skip

    def device_id(self, number: int = 0) -> UUID:
        return Device.objects.get(node_id=self.id, key=self.devices[number].key).pk

    def orders(self, *, now: datetime, leases: Sequence[LeaseReport] = ()) -> Orders:
        self.seq += 1
        message = Sync(seq=self.seq, sent_at=now, devices=self.devices, leases=list(leases), host=self.host)
        return sync.sync(node_id=self.id, boot_id=self.boot_id, message=message, now=now)

    def sync(self, *, now: datetime, leases: Sequence[LeaseReport] = ()) -> Desired:
        return self.orders(now=now, leases=leases).desired

    def say(self, lease: LeaseView, state: LeaseState, *, now: datetime, **over: Any) -> Desired:
        """A heartbeat that reports one lease."""
        return self.sync(now=now, leases=[make_report(lease, state, **over)])

    def start(self, lease: LeaseView, *, now: datetime) -> LeaseView:
        """Hear of the lease and make it ready at `now`."""
        self.sync(now=now)
        self.say(lease, LeaseState.READY, now=now)
        return facade.get_lease(lease_id=lease.id)

    def end(self, lease: LeaseView, *, now: datetime) -> LeaseView:
        self.say(lease, LeaseState.GONE, now=now)
        return facade.get_lease(lease_id=lease.id)

    def token(self, *, now: datetime, life_s: int = 60, **over: Any) -> str:
        claims = {
            "iss": encode("nod", self.id), "aud": NODE_TOKEN_AUDIENCE, "exp": int(now.timestamp()) + life_s,
            "jti": new_uuid().hex, **over,
        }  # fmt: skip
        return jwt.encode(claims, self.key, algorithm="EdDSA")

    def window(self, lease: LeaseView, start: datetime, *, seq: int = 0, **over: Any) -> dict[str, Any]:
        """One event, used as much as granted; `over` changes its data, `event` its envelope."""
        envelope = over.pop("event", {})
        data = {
            "window_start": start.isoformat(), "window_s": 60, "token": lease.token,
            "granted_permille_s": lease.slice.share_permille * 60, "used_permille_s": lease.slice.share_permille * 60,
            "granted_mib_s": lease.slice.memory_mib * 60, "peak_mib": 10, "state": "ready", "seq": seq, "prev_hash": "",
            "clock_offset_ms": 0, "mono_ns": 1, **over,
        }  # fmt: skip
        return {
            "specversion": "1.0", "id": f"{lease.id}/{start.timestamp():.0f}", "type": "vxpu.usage.v1",
            "source": f"/agents/{encode('nod', self.id)}", "subject": encode("lse", lease.id),
            "time": start.isoformat(), "datacontenttype": "application/json", "data": data, **envelope,
        }  # fmt: skip

    def send(self, *events: dict[str, Any], now: datetime, pack: bool = False) -> UsageAnswer:
        body = json.dumps(events).encode()
        body = gzip.compress(body) if pack else body
        return ingest.ingest(
            node_id=self.id, body=body, encoding="gzip" if pack else "", signature=self.key.sign(body), now=now
        )

    def statuses(self, *events: dict[str, Any], now: datetime) -> list[str]:
        return [f"{result.status}{f': {result.reason}' if result.reason else ''}" for result in
                self.send(*events, now=now).results]  # fmt: skip


def make_report(lease: LeaseView, state: LeaseState, **over: Any) -> LeaseReport:
    values: dict[str, Any] = {
        "lease_id": encode("lse", lease.id), "token": lease.token, "version": lease.version, "state": state, **over
    }  # fmt: skip
    return LeaseReport(**values)


def public_text(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def started_lease(node: Node, *, now: datetime = NOON, **wish: Any) -> LeaseView:
    """Booked from `now` on the node's fleet and ready at once."""
    return node.start(book(make_wish(starts_at=now, **wish), now=now), now=now)


ACCEPTED, DUPLICATE = UsageStatus.ACCEPTED.value, UsageStatus.DUPLICATE.value
