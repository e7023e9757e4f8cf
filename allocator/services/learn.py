"""What the default policy learns: from the wishes of the last weeks, for each pool anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from allocator.engine.fleet import FOREVER, Ask, Fleet
from allocator.engine.layout import Layout
from allocator.engine.learn import learn as learn_lessons
from allocator.engine.mix import Seen, Supply, shape_of
from allocator.models import PoolLessons
from allocator.services._picture import PICTURE
from allocator.services._policies import UNNAMED, values_of
from plumbing import db
from vxpu.ids import new_uuid

# Each lease once, as it was booked; what was only held for a move, or moved, was not wished anew.
_HISTORY = """
SELECT coalesce(p.name, ''), date_trunc('day', l.created_at), s.permille, s.mib, s.cores_milli, l.whole,
       l.wanted -> 'models', coalesce((l.wanted ->> 'devices')::integer, 1), count(*)
  FROM allocator_lease l
  JOIN allocator_node n ON n.id = l.node_id
  LEFT JOIN allocator_pool p ON p.id = n.pool_id
 CROSS JOIN LATERAL (
    SELECT permille, mib, cores_milli FROM allocator_segment WHERE lease_id = l.id ORDER BY lower(period) LIMIT 1) s
 WHERE l.created_at > %(since)s AND l.created_at <= %(now)s
   AND NOT EXISTS (SELECT 1 FROM allocator_relocation r WHERE r.successor_id = l.id)
   AND NOT EXISTS (SELECT 1 FROM allocator_movehold h WHERE h.lease_id = l.id)
 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""


@db.transaction
def learn(*, now: datetime) -> int:
    """Learn anew for every pool with devices; returns how many wishes were looked at. In the system scope.

    An old wish counts half after `VXPU_LEARN_HALF_LIFE_DAYS`. Without any there is nothing to learn, and what was
    learned before stays.
    """
    supplies, asked = _supplies(now), 0
    for pool, history in _history(supplies, now=now).items():
        seen, asks = history
        if not asks:
            continue
        _keep(pool, asks=asks, lessons=values_of(learn_lessons(seen, supplies[pool])), now=now)
        asked += asks
    return asked


def _supplies(now: datetime) -> dict[str, Supply]:
    """What each pool has, by name."""
    with PICTURE.look(now=now) as seen:
        layout = seen.draft.layout
        found = {}
        for pool in {machine.pool for machine in layout.machines} | {UNNAMED}:
            machines = [machine for machine in layout.machines if machine.pool == pool]
            cards = [card for machine in machines for card in layout.cards[layout.row_of[machine.node_id]]]
            found[pool] = Supply.of(Layout(Fleet.of(cards, machines)))
    return found


def _history(supplies: Mapping[str, Supply], *, now: datetime) -> dict[str, tuple[list[Seen], int]]:
    """Faded wishes and their number, by pool."""
    found: dict[str, tuple[list[Seen], int]] = {pool: ([], 0) for pool in supplies}
    with connection.cursor() as cursor:
        cursor.execute(_HISTORY, {"now": now, "since": now - timedelta(days=settings.VXPU_LEARN_DAYS)})
        rows = cursor.fetchall()
    for pool, *row in rows:
        if pool in found:
            seen, asks = found[pool]
            seen.append(_seen(row, supplies[pool], now=now))
            found[pool] = (seen, asks + row[-1])
    return found


def _seen(row: Iterable[Any], supply: Supply, *, now: datetime) -> Seen:
    day, permille, mib, cores_milli, whole, models, devices, count = row
    names = frozenset(_texts(models)) or None
    ask = Ask(
        permille=permille, mib=mib, starts=0, ends=FOREVER, whole=whole, devices=devices,
        cores_milli=cores_milli * devices, models=names,
    )  # fmt: skip
    age = max(timedelta(0), now - day) / timedelta(days=settings.VXPU_LEARN_HALF_LIFE_DAYS)
    return Seen(shape_of(ask, supply.device_mib), count / devices * 0.5**age)


def _texts(models: Any) -> list[str]:
    """A column of JSON, as text or as read."""
    if models is None:
        return []
    return [str(one) for one in (json.loads(models) if isinstance(models, str) else models)]


def _keep(pool: str, *, asks: int, lessons: dict[str, object], now: datetime) -> None:
    row = PoolLessons.objects.select_for_update().filter(pool=pool).first()
    if row is None:
        row = PoolLessons(id=new_uuid(), tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, pool=pool, version=0)
    row.version, row.learned_at, row.asks, row.lessons = row.version + 1, now, asks, lessons
    row.save()
