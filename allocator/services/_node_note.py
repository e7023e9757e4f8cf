"""What is told of a node: a row that stays, and news for whoever watches."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.conf import settings

from allocator.events import CapacityFreed, NodeChanged
from allocator.models import Device, Node, NodeEvent
from plumbing import outbox
from plumbing.db import transaction_required
from plumbing.live.publish import publish
from vxpu.ids import encode

FLEET_FEED = "fleet"


def node_feed(node_id: UUID) -> str:
    """Where the news of one node is said."""
    return f"node:{node_id}"


@transaction_required
def note_node(*, node: Node, kind: str, actor: str, reason: str, now: datetime) -> None:
    """`kind` is like ``"cordoned"``."""
    operator = settings.VXPU_OPERATOR_TENANT
    NodeEvent.objects.create(
        tenant_id=operator, created_at=now, node=node, kind=kind, actor=actor[:80], reason=reason[:400], at=now
    )
    outbox.publish(NodeChanged(tenant_id=operator, node_id=node.pk, kind=kind, at=now))
    said = {"node": encode("nod", node.pk), "kind": kind, "at": now.isoformat()}
    publish(FLEET_FEED, {"nodes": [said]})
    publish(node_feed(node.pk), said)


@transaction_required
def capacity_freed(*, node: Node, now: datetime) -> None:
    """Each device of the node may be booked again: whoever waits should look."""
    for device_id in Device.objects.filter(node=node, is_present=True).order_by("pk").values_list("pk", flat=True):
        outbox.publish(CapacityFreed(tenant_id=settings.VXPU_OPERATOR_TENANT, device_id=device_id, at=now))
