"""Pools, sites and where nodes belong: the operator's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError

from allocator.engine.policies import POLICIES
from allocator.engine.topology import TopologyError, read_topology
from allocator.errors import BadTopology, NameTaken, StillUsed
from allocator.locks import lock_node
from allocator.models import Device, Node, Pool, Site
from allocator.selectors import pools
from allocator.services._node_note import note_node
from plumbing import db
from plumbing.errors import Invalid
from vxpu.ids import new_uuid

Row = TypeVar("Row", Pool, Site)
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
# A minute: nothing that is farther away is compared.
MAX_LATENCY_MS = 60_000


@db.transaction
def make_pool(*, name: str, policy: str, now: datetime, **values: Any) -> Pool:
    """`values` as in the model. Raises NameTaken, Invalid for a policy that there is not."""
    _check_policy(policy)
    values["policy"] = policy
    return _insert(Pool(id=new_uuid(), tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, name=name, **values))


@db.transaction
def change_pool(*, name: str, changes: Mapping[str, Any]) -> Pool:
    """What is in `changes`, as in the model. New bookings and plans follow at once; nothing is moved."""
    row = pools.get_pool(name=name)
    _check_policy(changes.get("policy", row.policy))
    Pool.objects.filter(pk=row.pk).update(**changes)
    return pools.get_pool(name=name)


@db.transaction
def drop_pool(*, name: str) -> None:
    """Raises StillUsed while nodes are in it."""
    row = pools.get_pool(name=name)
    if row.nodes.exists():
        raise StillUsed(f"{row.nodes.count()} nodes are in it.", suggestion="Put them into another pool first.")
    row.delete()


@db.transaction
def make_site(*, name: str, now: datetime, **facts: Any) -> Site:
    """`facts` as in the model. Raises NameTaken, Invalid."""
    _check_facts(facts)
    return _insert(Site(id=new_uuid(), tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, name=name, **facts))


@db.transaction
def change_site(*, name: str, changes: Mapping[str, Any]) -> Site:
    """What is in `changes`. Raises NotFound, Invalid."""
    row = pools.get_site(name=name)
    _check_facts(changes)
    Site.objects.filter(pk=row.pk).update(**changes)
    return pools.get_site(name=name)


@db.transaction
def drop_site(*, name: str) -> None:
    """Raises StillUsed while nodes are there."""
    row = pools.get_site(name=name)
    if row.nodes.exists():
        raise StillUsed(f"{row.nodes.count()} nodes stand there.", suggestion="Say of them where they stand first.")
    row.delete()


@db.transaction
def describe_node(*, node_id: UUID, changes: Mapping[str, str | None], actor: str, now: datetime) -> None:
    """Its `rack`, and the `pool` and the `site` by name (None is none). Idempotent. Raises NotFound."""
    node = lock_node(node_id=node_id)
    rack = changes.get("rack")
    if rack is not None and Node.objects.filter(pk=node.pk).exclude(rack=rack).update(rack=rack):
        note_node(node=node, kind="rack_set", actor=actor, reason=f"{node.rack or 'none'} to {rack or 'none'}", now=now)
    for field, get in (("pool", pools.get_pool), ("site", pools.get_site)):
        if field not in changes:
            continue
        name = changes[field]
        row = None if name is None else get(name=name)
        key = {f"{field}_id": None if row is None else row.pk}
        if getattr(node, f"{field}_id") != key[f"{field}_id"]:
            Node.objects.filter(pk=node.pk).update(**key)
            note_node(node=node, kind=f"{field}_set", actor=actor, reason=name or "none", now=now)


@db.transaction
def set_node_topology(*, node_id: UUID, document: Mapping[str, Any] | None, actor: str, now: datetime) -> None:
    """How the node's devices are linked, by their keys (see `engine.topology`); None forgets it. Raises BadTopology."""
    node = lock_node(node_id=node_id)
    if document is not None:
        _check_topology(document, {node.hostname: _keys(node)})
    Node.objects.filter(pk=node.pk).update(topology=document)
    note_node(node=node, kind="topology_set", actor=actor, reason="" if document else "forgotten", now=now)


@db.transaction
def set_site_topology(*, name: str, document: Mapping[str, Any] | None) -> Site:
    """Of all of the site's nodes, by host name; a node's own document goes before it. Raises NotFound, BadTopology."""
    row = pools.get_site(name=name)
    if document is not None:
        _check_topology(document, {node.hostname: _keys(node) for node in row.nodes.filter(state="active")})
    Site.objects.filter(pk=row.pk).update(topology=document)
    return pools.get_site(name=name)


def _keys(node: Node) -> list[str]:
    return list(Device.objects.filter(node=node, is_present=True).order_by("key").values_list("key", flat=True))


def _check_topology(document: Mapping[str, Any], devices: Mapping[str, list[str]]) -> None:
    try:
        read_topology(document, devices=devices)
    except TopologyError as error:
        raise BadTopology("; ".join(error.problems[:20]), problems=list(error.problems[:100])) from error


def _check_policy(policy: str) -> None:
    if policy not in POLICIES:
        raise Invalid(f"There is no policy {policy!r}.", suggestion=f"One of: {', '.join(sorted(POLICIES))}.")


def _check_facts(facts: Mapping[str, Any]) -> None:
    pue = facts.get("pue_permille")
    if pue is not None and pue < 1000:
        raise Invalid("pue_permille is 1000 or more: no building draws less than its machines.")
    told = facts.get("latency_ms", {})
    if any(not isinstance(ms, int) or isinstance(ms, bool) or not 0 <= ms <= MAX_LATENCY_MS for ms in told.values()):
        raise Invalid(f"latency_ms holds whole milliseconds from 0 to {MAX_LATENCY_MS}, by the other site's name.")
    if odd := sorted(name for name in told if not re.fullmatch(NAME, name)):
        raise Invalid(f"latency_ms: {odd[0][:64]!r} is no name of a site.")


def _insert(row: Row) -> Row:
    try:
        with db.savepoint():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"{row.name!r} is taken.", suggestion="Choose another name, or change that one.") from error
    return row
