"""A node that comes back with slices that were given up: it ends them before anything new begins there.

Their capacity was freed when they were fenced, but the machine still has their memory. So from the heartbeat that shows
them until the one that shows none, the database refuses every booking on the node (`settling`), nothing on it grows,
and leases that it does not know yet are kept from it. A heartbeat names every slice there is, so "none" is the agent's
word that the memory is back.
"""

from __future__ import annotations

from datetime import datetime

from allocator.models import Node
from allocator.services._node_note import capacity_freed, note_node
from plumbing.db import transaction_required


@transaction_required
def settle(*, node: Node, given_up: int, now: datetime) -> None:
    """`node` is locked and was just heard; `given_up` slices are none of its leases."""
    if given_up and node.settling_since is None:
        Node.objects.filter(pk=node.pk).update(settling_since=now)
        node.settling_since = now
        reason = f"{given_up} slices that were given up are ended first"
        note_node(node=node, kind="settling", actor="agent", reason=reason, now=now)
    elif not given_up and node.settling_since is not None:
        Node.objects.filter(pk=node.pk).update(settling_since=None)
        node.settling_since = None
        note_node(node=node, kind="settled", actor="agent", reason="", now=now)
        capacity_freed(node=node, now=now)
