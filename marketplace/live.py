"""What of the market may be watched: see docs/live.md for the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from marketplace import selectors
from marketplace.models import LIVE, ReservationState
from marketplace.services.news import events_feed, news_of, price_feed, queue_feed, reservations_feed, wait_of
from marketplace.services.reaching import reach_of
from plumbing.errors import Forbidden
from plumbing.live.topics import Topic, View
from plumbing.principal import Principal
from vxpu.ids import decode, encode

MOST_ROWS = 500


def _reservations(principal: Principal, parts: Mapping[str, str]) -> View:  # noqa: ARG001 - the topic has no parts
    if not principal.may("reservation:read"):
        raise Forbidden("This needs the scope reservation:read.")
    reach = reach_of(principal)

    def snapshot() -> dict[str, Any]:
        """Those that have not ended, newest first; `more` when there are others."""
        rows = selectors.list_reservations(reach=reach, states=LIVE).order_by("-created_at", "-pk")[: MOST_ROWS + 1]
        found = [news_of(row) for row in rows]
        return {"reservations": found[:MOST_ROWS], "more": len(found) > MOST_ROWS}

    def shape(data: dict[str, Any]) -> dict[str, Any] | None:
        if reach.project_ids is not None and decode("prj", data["project"]) not in reach.project_ids:
            return None
        return data

    return View(feed=reservations_feed(reach.tenant_id), snapshot=snapshot, shape=shape)


def _events(principal: Principal, parts: Mapping[str, str]) -> View:  # noqa: ARG001 - the topic has no parts
    """Hints that `GET /events` has something new; `project` null concerns the whole tenant."""
    if not principal.may("reservation:read"):
        raise Forbidden("This needs the scope reservation:read.")
    reach = reach_of(principal)

    def shape(data: dict[str, Any]) -> dict[str, Any] | None:
        project = data["project"]
        if project is not None and reach.project_ids is not None and decode("prj", project) not in reach.project_ids:
            return None
        return data

    return View(feed=events_feed(reach.tenant_id), snapshot=dict, shape=shape)


def _queue(principal: Principal, parts: Mapping[str, str]) -> View:  # noqa: ARG001 - the topic has no parts
    """The caller's own wishes that wait, and what changed of their wait."""
    if not principal.may("reservation:read"):
        raise Forbidden("This needs the scope reservation:read.")
    reach = replace(reach_of(principal), tenant_id=principal.tenant_id)

    def snapshot() -> dict[str, Any]:
        rows = selectors.list_reservations(reach=reach, states={ReservationState.QUEUED})
        return {"queue": [wait_of(row) for row in rows.order_by("created_at", "pk")[:MOST_ROWS]]}

    def shape(data: dict[str, Any]) -> dict[str, Any] | None:
        within = reach.project_ids is None or decode("prj", data["project"]) in reach.project_ids
        return data if within else None

    return View(feed=queue_feed(principal.tenant_id), snapshot=snapshot, shape=shape)


def _price(principal: Principal, parts: Mapping[str, str]) -> View:
    """Hints that a price of this sku or device kind changed: read the offers again."""
    sku, mine = parts["sku"], encode("ten", principal.tenant_id)

    def shape(data: dict[str, Any]) -> dict[str, Any] | None:
        return {"sku": data["sku"]} if data["tenant"] in {None, mine} else None

    return View(feed=price_feed(sku), snapshot=lambda: {"sku": sku}, shape=shape)


TOPICS = [
    Topic(pattern="reservations", open=_reservations),
    Topic(pattern="events", open=_events),
    Topic(pattern="queue/me", open=_queue),
    Topic(pattern="price/{sku}", open=_price),
]
