"""Keep new leases off a node, or let them in again. What is booked on it goes on."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import F

from allocator.errors import NodeIsDraining, NodeLeftFleet
from allocator.locks import lock_node
from allocator.models import Device, Node
from allocator.models.node import NodeState
from allocator.selectors.maintenance import find_open
from allocator.services._node_note import capacity_freed, note_node
from plumbing import db
from plumbing.db import transaction_required


@transaction_required
def lock_node_of_fleet(*, node_id: UUID) -> Node:
    """Raises NotFound, NodeLeftFleet."""
    node = lock_node(node_id=node_id)
    if node.state != NodeState.ACTIVE:
        raise NodeLeftFleet(f"{node.hostname} was revoked.", suggestion="Enrol the machine again.")
    return node


@transaction_required
def close_doors(*, node: Node) -> None:
    """After this no booking that is under way can miss what was written to the node before.

    A booking bumps its device first and asks about the node after: it has committed by now, or it waits for us.
    """
    ids = list(
        Device.objects.select_for_update(no_key=True).filter(node=node).order_by("pk").values_list("pk", flat=True)
    )
    Device.objects.filter(pk__in=ids).update(version=F("version") + 1)


@db.transaction
def cordon(*, node_id: UUID, reason: str, actor: str, now: datetime) -> None:
    """Nothing new is booked on the node, for whatever period. Idempotent. Raises NotFound, NodeLeftFleet."""
    node = lock_node_of_fleet(node_id=node_id)
    if not Node.objects.filter(pk=node.pk, cordoned_at__isnull=True).update(cordoned_at=now):
        return
    close_doors(node=node)
    note_node(node=node, kind="cordoned", actor=actor, reason=reason, now=now)


@db.transaction
def uncordon(*, node_id: UUID, actor: str, now: datetime) -> None:
    """The reverse. Idempotent. Raises NotFound, NodeLeftFleet, NodeIsDraining."""
    node = lock_node_of_fleet(node_id=node_id)
    if node.cordoned_at is None:
        return
    period = find_open(node_id=node.pk)
    if period is not None and period.starts_at <= now:
        raise NodeIsDraining(f"{node.hostname} is in maintenance: {period.reason}", suggestion="Undrain it.")
    Node.objects.filter(pk=node.pk).update(cordoned_at=None)
    note_node(node=node, kind="uncordoned", actor=actor, reason="", now=now)
    capacity_freed(node=node, now=now)
