"""What is told of a node: a row that stays, and news for whoever watches."""

from __future__ import annotations

from collections.abc import Sequence
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
SAID_AT_ONCE = 200  # a frame holds 64 KiB


def node_feed(node_id: UUID) -> str:
    """Where the news of one node is said."""
    return f"node:{node_id}"


@transaction_required
def note_node(*, node: Node, kind: str, actor: str, reason: str, now: datetime) -> None:
    """`kind` is like ``"cordoned"``."""
    note_nodes(nodes=[node], kind=kind, actor=actor, reason=reason, now=now)


@transaction_required
def note_nodes(*, nodes: Sequence[Node], kind: str, actor: str, reason: str, now: datetime) -> None:
    """The same of several nodes at once."""
    operator = settings.VXPU_OPERATOR_TENANT
    NodeEvent.objects.bulk_create(
        NodeEvent(
            tenant_id=operator, created_at=now, node=node, kind=kind, actor=actor[:80], reason=reason[:400], at=now
        )
        for node in nodes
    )
    outbox.publish_all(NodeChanged(tenant_id=operator, node_id=node.pk, kind=kind, at=now) for node in nodes)
    said = [{"node": encode("nod", node.pk), "kind": kind, "at": now.isoformat()} for node in nodes]
    for first in range(0, len(said), SAID_AT_ONCE):
        publish(FLEET_FEED, {"nodes": said[first : first + SAID_AT_ONCE]})
    for node, news in zip(nodes, said, strict=True):
        publish(node_feed(node.pk), news)


@transaction_required
def capacity_freed(*, node: Node, now: datetime) -> None:
    """Each device of the node may be booked again: whoever waits should look."""
    for device_id in Device.objects.filter(node=node, is_present=True).order_by("pk").values_list("pk", flat=True):
        outbox.publish(CapacityFreed(tenant_id=settings.VXPU_OPERATOR_TENANT, device_id=device_id, at=now))
