"""Doors of reservations: each parses and makes one call."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace import selectors
from marketplace.api import inputs
from marketplace.api import serializers as out
from marketplace.api.permissions import actor_of, reach_of
from marketplace.api.quote_serializers import (
    ChangeQuoteSerializer,
    QuoteSerializer,
    TermsSerializer,
    quote_document,
    terms_document,
)
from marketplace.errors import QuoteExpired
from marketplace.matching.queue_order import Urgency
from marketplace.models import Reservation, ReservationState
from marketplace.services import change_quote, extend, quote, release, rename, reserve, resize, start_earlier
from marketplace.services.evaluate import Evaluation
from marketplace.services.show import Shown, show, show_one
from marketplace.services.wish import Order
from plumbing.api.idempotency import idempotent
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView, document_of
from plumbing.principal import Principal

TAGS = ["reservations"]
FILTERS = [
    OpenApiParameter(
        "state",
        OpenApiTypes.STR,
        many=True,
        description="Only those in these states, repeated or with commas; `live` is all that have not ended.",
    ),
    OpenApiParameter("q", OpenApiTypes.STR, description="A part of the name, or an id."),
    OpenApiParameter("project", OpenApiTypes.STR, description="Only those of this project."),
]


def _answer(shown: Reservation | Shown, status: int = 200) -> Response:
    whole = show_one(shown, now=timezone.now()) if isinstance(shown, Reservation) else shown
    response = Response(document_of(out.ReservationSerializer, whole), status=status)
    if status == 202:
        response["Location"] = f"/api/v1/reservations/{response.data['id']}"
    return response


class ReservationsView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(
        operation_id="list_reservations",
        tags=TAGS,
        parameters=[*PARAMETERS, *FILTERS],
        responses=page_of(out.ReservationSerializer),
    )
    def get(self, request: Request) -> Response:
        """The caller's reservations, newest first; an operator sees all."""
        asked = self.parsed_query(request, inputs.ReservationFilterIn)
        named = asked["q"] if asked["q"].startswith("rsv_") else ""
        rows = selectors.list_reservations(
            reach=reach_of(self.principal(request)), states=inputs.states_in(request.query_params.getlist("state")),
            project_id=asked["project"], name="" if named else asked["q"],
            reservation_id=path_id("rsv", named) if named else None,
        )  # fmt: skip
        found, following = Cursor(sorts=("created_at", "starts_at", "name")).page(rows, request.query_params)
        shown = show(found, now=timezone.now())
        return Response({"items": out.ReservationSerializer(shown, many=True).data, "next": following})

    @extend_schema(
        operation_id="create_reservation",
        tags=TAGS,
        request=inputs.ReservationIn,
        responses={201: out.ReservationSerializer, 202: out.ReservationSerializer},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Buy a slice now or for later. 409 `no_capacity` names the constraint, the next free time and sizes that fit;
        with `queue` the answer is then 202 and a place in line."""
        principal = self.principal(request)
        asked = self.parsed(request, inputs.ReservationIn)
        who = {
            "requested_by": principal.user_id, "actor": actor_of(principal), "reach": reach_of(principal),
            "name": asked["name"], "now": timezone.now(),
        }  # fmt: skip
        if asked["quote"] is not None:
            return _buy_quoted(asked["quote"], who)
        order = order_in(
            asked, principal, queue=asked["queue"], queued_until=asked["queue_until"],
            priority=asked["priority"] or Urgency.NORMAL,
        )  # fmt: skip
        shown = reserve.reserve(order=order, **who)
        return _answer(shown, 202 if shown.row.state == ReservationState.QUEUED else 201)


def _buy_quoted(quote_id: UUID, who: dict[str, Any]) -> Response:
    try:
        return _answer(reserve.buy_quoted(quote_id=quote_id, **who), 201)
    except QuoteExpired as error:
        fresh = error.fresh
        error.data["now"] = TermsSerializer(terms_document(fresh)).data if isinstance(fresh, Evaluation) else None
        raise


_AS_THEY_ARE = ("device_kind", "isolation_at_least", "policy", "pool", "site", "near", "starts_at", "ends_at")


def order_in(asked: dict[str, Any], principal: Principal, **more: Any) -> Order:
    """The order that a wish in a body stands for."""
    size = asked["slice"] or {}
    return Order(
        tenant_id=principal.tenant_id, project_id=asked["project"], offer_id=asked["offer"],
        memory_mib=size.get("memory_mib"), share_permille=size.get("share_permille"), device_id=asked["device"],
        preemptible=bool(asked["preemptible"]), models=tuple(asked["models"]),
        cores_milli=asked["cores_milli"] or 0, host_mib=asked["host_mib"] or 0,
        copy_permille=asked["copy_permille"] or 0,
        **{name: asked[name] for name in _AS_THEY_ARE}, **more,
    )  # fmt: skip


class QuotesView(DomainView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(
        operation_id="create_quote", tags=["quotes"], request=inputs.QuoteIn, responses={201: QuoteSerializer}
    )
    def post(self, request: Request) -> Response:
        """What a wish would cost and whether it fits, by the evaluator that a purchase uses; its prices are held for
        two minutes, for one purchase. Takes no capacity, and answers 201 also when nothing fits: see `refusal`."""
        principal = self.principal(request)
        order = order_in(self.parsed(request, inputs.QuoteIn), principal)
        made = quote.quote(
            order=order, requested_by=principal.user_id, actor=actor_of(principal), reach=reach_of(principal),
            now=timezone.now(),
        )  # fmt: skip
        return Response(quote_document(made), status=201)


class ReservationView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(operation_id="get_reservation", tags=TAGS, responses=out.ReservationSerializer)
    def get(self, request: Request, reservation: str) -> Response:
        """One reservation."""
        reach = reach_of(self.principal(request))
        return _answer(selectors.get_reservation(reservation_id=path_id("rsv", reservation), reach=reach))

    @extend_schema(
        operation_id="rename_reservation", tags=TAGS, request=inputs.RenameIn, responses=out.ReservationSerializer
    )
    def patch(self, request: Request, reservation: str) -> Response:
        """Another name; nothing else changes."""
        principal = self.principal(request)
        named = rename.rename(
            reach=reach_of(principal), reservation_id=path_id("rsv", reservation), actor=actor_of(principal),
            now=timezone.now(), **self.parsed(request, inputs.RenameIn),
        )  # fmt: skip
        return _answer(named)


class ReservationEventsView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(
        operation_id="list_reservation_events",
        tags=TAGS,
        parameters=PARAMETERS,
        responses=page_of(out.ReservationEventSerializer),
    )
    def get(self, request: Request, reservation: str) -> Response:
        """Every transition: from, to, who, why, when; oldest first."""
        events = selectors.list_events(
            reservation_id=path_id("rsv", reservation), reach=reach_of(self.principal(request))
        )
        rows, following = Cursor(sorts=("version",), default="version").page(events, request.query_params)
        return Response({"items": out.ReservationEventSerializer(rows, many=True).data, "next": following})


class EvictionsView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(
        operation_id="list_evictions", tags=TAGS, parameters=PARAMETERS, responses=page_of(out.EvictionSerializer)
    )
    def get(self, request: Request, reservation: str) -> Response:
        """When its slice was to be taken back for others, oldest first: noticed, then evicted or spared."""
        reach = reach_of(self.principal(request))
        found = selectors.list_evictions(reservation_id=path_id("rsv", reservation), reach=reach)
        rows, following = Cursor(sorts=("at",), default="at").page(found, request.query_params)
        sees_all = {"sees_all": reach.tenant_id is None}
        return Response({"items": out.EvictionSerializer(rows, many=True, context=sees_all).data, "next": following})


class _ActionView(DomainView):
    permission_classes = [scope("reservation")]

    def who(self, request: Request, reservation: str) -> dict[str, Any]:
        principal = self.principal(request)
        return {
            "reach": reach_of(principal),
            "reservation_id": path_id("rsv", reservation),
            "actor": actor_of(principal),
            "now": timezone.now(),
        }


class ResizeView(_ActionView):
    @extend_schema(
        operation_id="resize_reservation", tags=TAGS, request=inputs.ResizeIn, responses=out.ReservationSerializer
    )
    @idempotent
    def post(self, request: Request, reservation: str) -> Response:
        """Another size, from the next whole second, without a restart."""
        size = self.parsed(request, inputs.ResizeIn)["slice"]
        return _answer(resize.resize(**self.who(request, reservation), **size))


class ResizeQuoteView(_ActionView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(
        operation_id="quote_resize", tags=["quotes"], request=inputs.ResizeIn, responses=ChangeQuoteSerializer
    )
    def post(self, request: Request, reservation: str) -> Response:
        """What another size would cost and whether it fits. Changes nothing, holds nothing."""
        who, size = self.who(request, reservation), self.parsed(request, inputs.ResizeIn)["slice"]
        del who["actor"]
        return Response(ChangeQuoteSerializer(change_quote.quote_resize(**who, **size)).data)


class ExtendQuoteView(_ActionView):
    permission_classes = [scope("reservation:read")]

    @extend_schema(
        operation_id="quote_extension", tags=["quotes"], request=inputs.ExtendIn, responses=ChangeQuoteSerializer
    )
    def post(self, request: Request, reservation: str) -> Response:
        """What a later end would cost and whether it fits. Changes nothing, holds nothing."""
        who, asked = self.who(request, reservation), self.parsed(request, inputs.ExtendIn)
        del who["actor"]
        return Response(ChangeQuoteSerializer(change_quote.quote_extension(**who, **asked)).data)


class ReleaseView(_ActionView):
    @extend_schema(
        operation_id="release_reservation", tags=TAGS, request=inputs.EmptyIn, responses=out.ReservationSerializer
    )
    def post(self, request: Request, reservation: str) -> Response:
        """Give it back early, or take a booking back. Safe to repeat; what has ended is answered as it is."""
        self.parsed(request, inputs.EmptyIn)
        return _answer(release.release(**self.who(request, reservation)))


class ExtendView(_ActionView):
    @extend_schema(
        operation_id="extend_reservation", tags=TAGS, request=inputs.ExtendIn, responses=out.ReservationSerializer
    )
    @idempotent
    def post(self, request: Request, reservation: str) -> Response:
        """A later end, or none."""
        asked = self.parsed(request, inputs.ExtendIn)
        return _answer(extend.extend(**self.who(request, reservation), **asked))


class StartEarlierView(_ActionView):
    @extend_schema(
        operation_id="start_reservation_earlier", tags=TAGS, request=inputs.EmptyIn, responses=out.ReservationSerializer
    )
    @idempotent
    def post(self, request: Request, reservation: str) -> Response:
        """Begin at `earlier_start_at` (now, if nothing was offered) for the booked length."""
        self.parsed(request, inputs.EmptyIn)
        return _answer(start_earlier.start_earlier(**self.who(request, reservation)))
