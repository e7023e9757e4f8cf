"""The door of the feed of events."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.permissions import reach_of, sees_money
from marketplace.services import feed
from plumbing.api.fields import TypedId
from plumbing.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, page_of
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView
from plumbing.feed import Place
from plumbing.principal import Principal

SEVERITIES = [feed.INFO, feed.WARNING, feed.ERROR]


class EventsQuery(serializers.Serializer[Any]):
    kind = serializers.RegexField(r"^[a-z_]+(\.[a-z_]+)?$", required=False, default="", max_length=64)
    subject = serializers.RegexField(r"^[a-z]+_[0-9a-z]{26}$", required=False, default="")
    limit = serializers.IntegerField(required=False, default=DEFAULT_LIMIT, min_value=1, max_value=MAX_LIMIT)
    cursor = serializers.CharField(required=False, default="", max_length=300)

    def validate_cursor(self, value: str) -> Place | None:
        return _place(value) if value else None


def _place(cursor: str) -> Place:
    wrong = serializers.ValidationError("Use `next` of the page before.")
    try:
        at, key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        place = Place(datetime.fromisoformat(at), UUID(key))
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
        raise wrong from error
    if place.at.tzinfo is None:
        raise wrong
    return place


def _cursor(place: Place) -> str:
    text = json.dumps([place.at.isoformat(), str(place.id)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


class FeedEventSerializer(serializers.Serializer[Any]):
    """What happened. `kind` is a room and a word, like `reservation.active`; `data` depends on it."""

    id = TypedId("evt")
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    subject = serializers.CharField()
    subject_name = serializers.CharField(allow_blank=True)
    actor = serializers.CharField(help_text="user:usr_..., or system.")
    reason = serializers.CharField(allow_blank=True)
    severity = serializers.ChoiceField(SEVERITIES)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`data` is a word of the serializers' own."""
        return {**super().get_fields(), "data": serializers.DictField()}


class EventsView(DomainView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(
        operation_id="list_feed",
        tags=["events"],
        parameters=[
            OpenApiParameter("kind", OpenApiTypes.STR, description="One kind, or its room: `reservation`."),
            OpenApiParameter("subject", OpenApiTypes.STR, description="An id: only what happened to that."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"1 to {MAX_LIMIT}; {DEFAULT_LIMIT} if absent."),
            OpenApiParameter("cursor", OpenApiTypes.STR, description="`next` of the page before."),
        ],
        responses=page_of(FeedEventSerializer),
    )
    def get(self, request: Request) -> Response:
        """What happened, newest first: the caller's reservations, leases, prices, invoices and the audit log; an
        operator sees all tenants and the nodes."""
        asked = self.parsed_query(request, EventsQuery)
        limit = asked["limit"]
        found = feed.list_events(
            viewer=viewer_of(self.principal(request)), kind=asked["kind"], subject=asked["subject"],
            before=asked["cursor"] or None, limit=limit + 1,
        )  # fmt: skip
        following = _cursor(found[limit - 1].place) if len(found) > limit else None
        return Response({"items": FeedEventSerializer(found[:limit], many=True).data, "next": following})


def viewer_of(principal: Principal) -> feed.Viewer:
    """A tenant's admin sees its whole audit log, others their own deeds."""
    everything = principal.is_operator or "tenant_admin" in principal.roles
    return feed.Viewer(
        reach=reach_of(principal),
        tenant_id=None if principal.is_operator else principal.tenant_id,
        actor_id=None if everything else principal.user_id,
        sees_money=sees_money(principal),
    )
