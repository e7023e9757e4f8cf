"""Doors of offers, price books, quotas and the device identity."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace import selectors
from marketplace.api import inputs
from marketplace.api import serializers as out
from marketplace.api.permissions import actor_of, house_currency, may_set_quotas
from marketplace.models import Quota
from marketplace.services import offers, prices, quotas, reconcile_device
from marketplace.services.shelf import show_offer, show_offers, show_quota
from plumbing.api.fields import Instant
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView
from plumbing.rowsec import system_scope


class OperatorWrites(IsOperator):
    """Everybody reads, the operator writes."""

    def has_permission(self, request: Request, view: object) -> bool:
        return request.method in SAFE_METHODS or super().has_permission(request, view)


class OffersView(DomainView):
    permission_classes = [OperatorWrites, scope("reservation")]

    @extend_schema(operation_id="list_offers", tags=["offers"], parameters=PARAMETERS,
                   responses=page_of(out.OfferSerializer))  # fmt: skip
    def get(self, request: Request) -> Response:
        """What is sold, by sku, with the caller's price now and what is enforced."""
        with system_scope():
            cursor = Cursor(sorts=("sku", "created_at"), default="sku")
            rows, following = cursor.page(selectors.list_open_offers(), request.query_params)
        shown = show_offers(rows, tenant_id=self.principal(request).tenant_id, now=timezone.now())
        return Response({"items": out.OfferSerializer(shown, many=True).data, "next": following})

    @extend_schema(operation_id="create_offer", tags=["offers"], request=inputs.OfferIn,
                   responses={201: out.OfferSerializer})  # fmt: skip
    def post(self, request: Request) -> Response:
        """Put a size of a device kind on the shelf (operator)."""
        asked, now = self.parsed(request, inputs.OfferIn), timezone.now()
        made = offers.create_offer(**asked.pop("slice"), **asked, now=now)
        shown = show_offer(made, tenant_id=self.principal(request).tenant_id, now=now)
        return Response(out.OfferSerializer(shown).data, status=201)


class PriceBooksView(DomainView):
    permission_classes = [IsOperator, scope("price")]

    @extend_schema(operation_id="list_price_books", tags=["prices"], parameters=PARAMETERS,
                   responses=page_of(out.PriceBookSerializer))  # fmt: skip
    def get(self, request: Request) -> Response:
        """Every price book (operator)."""
        return self.page(request, selectors.list_books(), out.PriceBookSerializer, "name")

    @extend_schema(operation_id="create_price_book", tags=["prices"], request=inputs.PriceBookIn,
                   responses={201: out.PriceBookSerializer})  # fmt: skip
    def post(self, request: Request) -> Response:
        """A book in one currency, for everybody or for one tenant (operator)."""
        asked = self.parsed(request, inputs.PriceBookIn)
        made = prices.create_book(for_tenant_id=asked.pop("tenant"), now=timezone.now(), **asked)
        return Response(out.PriceBookSerializer(made).data, status=201)


class PricesView(DomainView):
    permission_classes = [IsOperator, scope("price")]

    @extend_schema(operation_id="list_prices", tags=["prices"], parameters=PARAMETERS,
                   responses=page_of(out.PriceSerializer))  # fmt: skip
    def get(self, request: Request, book: str) -> Response:
        """The prices of a book, past, present and future (operator)."""
        return self.page(request, selectors.list_prices(book_id=path_id("pbk", book)), out.PriceSerializer)

    @extend_schema(operation_id="create_price", tags=["prices"], request=inputs.PriceIn,
                   responses={201: out.PriceSerializer})  # fmt: skip
    def post(self, request: Request, book: str) -> Response:
        """A price with its validity; two of one name never overlap (operator)."""
        asked = self.parsed(request, inputs.PriceIn)
        made = prices.add_price(book_id=path_id("pbk", book), now=timezone.now(), **asked)
        return Response(out.PriceSerializer(made).data, status=201)


class EndPriceView(DomainView):
    permission_classes = [IsOperator, scope("price")]

    @extend_schema(operation_id="end_price", tags=["prices"], request=inputs.EndPriceIn, responses=out.PriceSerializer)
    def post(self, request: Request, price: str) -> Response:
        """Give a price its end, now or ahead (operator). Time that was sold keeps its price."""
        asked = self.parsed(request, inputs.EndPriceIn)
        made = prices.end_price(price_id=path_id("prc", price), now=timezone.now(), **asked)
        return Response(out.PriceSerializer(made).data)


class QuotasView(DomainView):
    permission_classes = [scope("reservation")]

    @extend_schema(operation_id="list_quotas", tags=["quotas"], parameters=PARAMETERS,
                   responses=page_of(out.QuotaSerializer))  # fmt: skip
    def get(self, request: Request) -> Response:
        """The caller's quotas with what is in use, oldest first; an operator sees all tenants'.

        A tenant that has none of its own yet is shown with the defaults that it will get.
        """
        principal, now = self.principal(request), timezone.now()
        tenant_id = None if principal.is_operator else principal.tenant_id
        every = selectors.list_quotas(tenant_id=tenant_id)
        rows, following = Cursor(default="created_at").page(every, request.query_params)
        if tenant_id and "cursor" not in request.query_params and not every.filter(project_id=None).exists():
            rows.insert(0, Quota(tenant_id=tenant_id))
        shown = [show_quota(row, now=now) for row in rows]
        return Response({"items": out.QuotaSerializer(shown, many=True).data, "next": following})

    @extend_schema(operation_id="set_quota", tags=["quotas"], request=inputs.QuotaIn, responses=out.QuotaSerializer)
    def put(self, request: Request) -> Response:
        """A tenant's quota (operator) or a project's (its tenant's admin too). What is held already stays."""
        principal, now = self.principal(request), timezone.now()
        may_set_quotas(principal)
        asked = self.parsed(request, inputs.QuotaIn)
        made = quotas.set_quota(
            tenant_id=asked.pop("tenant") or principal.tenant_id, project_id=asked.pop("project"),
            by_operator=principal.is_operator, now=now, actor=actor_of(principal), **asked,
        )  # fmt: skip
        return Response(out.QuotaSerializer(show_quota(made, now=now)).data)


class _PeriodIn(inputs.ReconciliationIn):
    """`from` is a word of Python, so the two borders are declared by name."""

    def get_fields(self) -> dict[str, serializers.Field[object, object, object, object]]:
        return {**super().get_fields(), "from": Instant(), "to": Instant()}


class ReconciliationView(DomainView):
    permission_classes = [IsOperator, scope("billing")]

    @extend_schema(
        operation_id="reconcile_device",
        tags=["reconciliation"],
        parameters=[
            OpenApiParameter("device", OpenApiTypes.STR, required=True),
            OpenApiParameter("from", OpenApiTypes.DATETIME, required=True, description="Whole second, with offset."),
            OpenApiParameter("to", OpenApiTypes.DATETIME, required=True, description="Whole second, not after now."),
            OpenApiParameter("currency", OpenApiTypes.STR, description="The house's currency if absent."),
        ],
        responses=out.ReconciliationSerializer,
    )
    def get(self, request: Request) -> Response:
        """charged + discount + idle - over_recovery = cost, idle taken from the calendar (operator)."""
        asked = self.parsed_query(request, _PeriodIn)
        found = reconcile_device.reconcile_device(
            device_id=asked["device"], starts_at=asked["from"], ends_at=asked["to"],
            currency=asked["currency"] or house_currency(), now=timezone.now(),
        )  # fmt: skip
        return Response(out.ReconciliationSerializer(found).data)
