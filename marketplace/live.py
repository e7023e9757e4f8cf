"""What of the market may be watched: see docs/live.md for the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marketplace import selectors
from marketplace.models import LIVE
from marketplace.services.news import news_of, reservations_feed
from marketplace.services.reaching import reach_of
from plumbing.errors import Forbidden
from plumbing.live.topics import Topic, View
from plumbing.principal import Principal
from vxpu.ids import decode

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


TOPICS = [Topic(pattern="reservations", open=_reservations)]
