"""Nodes that stand by: they take no ordinary booking and are filled first when others are lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from allocator.models import Node
from allocator.models.node import NodeState
from allocator.services import pools
from allocator.services._node_note import capacity_freed, note_node
from allocator.services.cordon import close_doors, lock_node_of_fleet
from plumbing import db


@db.transaction
def set_standby(*, node_id: UUID, standby: bool, actor: str, now: datetime) -> None:
    """Keep a node for what is lost elsewhere, or sell it again. What is booked on it goes on. Idempotent.

    Raises NotFound, NodeLeftFleet.
    """
    node = lock_node_of_fleet(node_id=node_id)
    if not Node.objects.filter(pk=node.pk).exclude(standby=standby).update(standby=standby):
        return
    note_node(node=node, kind="standby_set" if standby else "standby_ended", actor=actor, reason="", now=now)
    if standby:
        close_doors(node=node)
    else:
        capacity_freed(node=node, now=now)


def update_node(*, node_id: UUID, changes: Mapping[str, Any], actor: str, now: datetime) -> None:
    """`rack`, `pool`, `site` (see `pools`) and `standby`; what is left out stays. Raises NotFound, NodeLeftFleet."""
    where = {name: value for name, value in changes.items() if name != "standby"}
    if where:
        pools.describe_node(node_id=node_id, changes=where, actor=actor, now=now)
    if "standby" in changes:
        set_standby(node_id=node_id, standby=changes["standby"], actor=actor, now=now)


@db.transaction
def hand_over(*, used: Collection[UUID], now: datetime) -> None:
    """The refill: nodes that fail-over filled are ordinary ones from now on, and as many of the lost ones stand by.

    So the number of nodes for sale stays as it was, and a lost machine that comes back empty is the next reserve.
    Idempotent: a node that is no standby any more is not counted again.
    """
    wanted = set(Node.objects.filter(pk__in=used, standby=True).values_list("pk", flat=True))
    lost = Node.objects.filter(state=NodeState.ACTIVE, is_online=False, standby=False, cordoned_at=None)
    heirs = set(lost.order_by("-last_seen_at", "pk").values_list("pk", flat=True)[: len(wanted)])
    for node in Node.objects.select_for_update(no_key=True).filter(pk__in=wanted | heirs).order_by("pk"):
        if node.pk in wanted and node.standby:
            Node.objects.filter(pk=node.pk).update(standby=False)
            note_node(node=node, kind="standby_used", actor="allocator", reason="filled by fail-over", now=now)
            capacity_freed(node=node, now=now)
        elif node.pk in heirs and not node.standby and not node.is_online:
            Node.objects.filter(pk=node.pk).update(standby=True)
            note_node(node=node, kind="standby_set", actor="allocator", reason="in place of one that was used", now=now)
