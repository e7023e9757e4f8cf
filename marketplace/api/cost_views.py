"""The doors of what was spent, as JSON and as CSV with the same figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from marketplace.api.fields import nullable
from marketplace.api.permissions import reach_of
from marketplace.api.serializers import MoneyField
from marketplace.models import Reach
from marketplace.services import costs as service
from plumbing.api.fields import Instant, TypedId
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView
from plumbing.errors import NotFound
from plumbing.principal import Principal
from vxpu.money import ChargeKind
from vxpu.states import Quality

K = ChargeKind
QUALITIES = [quality.value for quality in Quality]
NOT_KNOWN = "n/a"
KNOWN_USE = "null where the use cannot be read: see `quality`."
FIGURES = (
    "amount", "amount_used", "amount_idle", "amount_unread", "amount_reserved", "allocated_permille_s",
    "used_permille_s", "idle_permille_s", "unread_permille_s", "reserved_permille_s", "invoiced", "quality",
)  # fmt: skip
PARAMETERS = [
    OpenApiParameter("from", OpenApiTypes.DATETIME, required=True, description="With offset."),
    OpenApiParameter("to", OpenApiTypes.DATETIME, required=True, description="Not included; at most 400 days later."),
    OpenApiParameter("group", OpenApiTypes.STR, enum=service.GROUPS, description="project if absent."),
    OpenApiParameter("tenant", OpenApiTypes.STR, description="For operators; the caller's own if absent."),
]


class CostsQuery(serializers.Serializer[Any]):
    group = serializers.ChoiceField(service.GROUPS, required=False, default="project")
    tenant = nullable(TypedId, "ten")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python."""
        return {**super().get_fields(), "from": Instant(), "to": Instant()}


class CostFiguresSerializer(serializers.Serializer[Any]):
    """amount = used + idle + unread + reserved; allocated = used + idle + unread, in permille-seconds of a device.

    `unread` was delivered by devices whose use cannot be read. `estimated`: a part is not rated yet, or not read.
    """

    amount = MoneyField(help_text="Two decimals beyond the currency's minor unit.")
    amount_used = MoneyField(allow_null=True, help_text=KNOWN_USE)
    amount_idle = MoneyField(allow_null=True, help_text=KNOWN_USE)
    amount_unread = MoneyField()
    amount_reserved = MoneyField(help_text="Booked and not delivered.")
    allocated_permille_s = serializers.IntegerField()
    used_permille_s = serializers.IntegerField(allow_null=True, help_text=KNOWN_USE)
    idle_permille_s = serializers.IntegerField(allow_null=True, help_text=KNOWN_USE)
    unread_permille_s = serializers.IntegerField()
    reserved_permille_s = serializers.IntegerField()
    invoiced = MoneyField(help_text="Of issued invoices' lines, for service in this row; exact.")
    quality = serializers.ChoiceField(QUALITIES)


class CostItemSerializer(CostFiguresSerializer):
    """`key` is an id, a class or a local day."""

    key = serializers.CharField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]


class CostsSerializer(serializers.Serializer[Any]):
    """What was charged until `as_of`; the rows add up to `total`, figure by figure. Days are the account's."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """`from` is a word of Python."""
        return {
            "from": serializers.DateTimeField(source="starts_at"),
            "to": serializers.DateTimeField(source="ends_at"),
            "zone": serializers.CharField(),
            "group": serializers.ChoiceField(service.GROUPS),
            "currency": serializers.CharField(),
            "as_of": serializers.DateTimeField(),
            "quality": serializers.ChoiceField(QUALITIES),
            "total": CostFiguresSerializer(),
            "items": CostItemSerializer(many=True),
        }


class _CostsBase(DomainView):
    permission_classes = [scope("billing:read")]

    def found(self, request: Request) -> service.Costs:
        asked = self.parsed_query(request, CostsQuery)
        tenant_id, reach = whose(self.principal(request), asked["tenant"])
        return service.costs(
            tenant_id=tenant_id, reach=reach, starts_at=asked["from"], ends_at=asked["to"], group=asked["group"],
            now=timezone.now(),
        )  # fmt: skip


class CostsView(_CostsBase):
    @extend_schema(operation_id="get_costs", tags=["costs"], parameters=PARAMETERS, responses=CostsSerializer)
    def get(self, request: Request) -> Response:
        """What was spent, used and left idle; a member sees the projects that he is in."""
        return Response(document(self.found(request)))


class CsvRenderer(JSONRenderer):
    """Lets `Accept: text/csv` in. The view answers with the text itself; only a problem document is rendered here."""

    media_type = "text/csv"
    format = "csv"


class CostsCsvView(_CostsBase):
    renderer_classes = [CsvRenderer, JSONRenderer]

    @extend_schema(
        operation_id="get_costs_csv", tags=["costs"], parameters=PARAMETERS,
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="RFC 4180; the total is last.")},
    )  # fmt: skip
    def get(self, request: Request) -> HttpResponse:
        """The same figures, one row an item; `n/a` where a use cannot be read."""
        found = document(self.found(request))
        name = f"costs-{found['from'][:10]}-{found['to'][:10]}-{found['group']}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(csv_of(found), content_type="text/csv; charset=utf-8", headers=headers)


def whose(principal: Principal, tenant_id: UUID | None) -> tuple[UUID, Reach]:
    """Raises NotFound for another tenant, unless an operator asks."""
    if tenant_id in {None, principal.tenant_id}:
        own = principal.tenant_id
        return own, Reach(tenant_id=own) if principal.is_operator else reach_of(principal)
    if not principal.is_operator or tenant_id is None:
        raise NotFound("There is no such tenant.", suggestion="Leave `tenant` out for your own.")
    return tenant_id, Reach(tenant_id=tenant_id)


def _figures(cost: service.Cost) -> dict[str, Any]:
    return {
        "key": cost.key, "label": cost.label, "amount": cost.amount, "amount_used": cost.amount_of(K.USED),
        "amount_idle": cost.amount_of(K.IDLE), "amount_unread": cost.amounts[K.DELIVERED],
        "amount_reserved": cost.amounts[K.RESERVED], "allocated_permille_s": cost.allocated,
        "used_permille_s": cost.quantity_of(K.USED), "idle_permille_s": cost.quantity_of(K.IDLE),
        "unread_permille_s": cost.quantities[K.DELIVERED], "reserved_permille_s": cost.quantities[K.RESERVED],
        "invoiced": cost.invoiced, "quality": str(cost.quality),
    }  # fmt: skip


def document(found: service.Costs) -> dict[str, Any]:
    """The one set of figures that both forms show."""
    values = {
        "starts_at": found.starts_at, "ends_at": found.ends_at, "zone": found.zone, "group": found.group,
        "currency": found.currency, "as_of": found.as_of, "quality": str(found.total.quality),
        "total": _figures(found.total), "items": [_figures(item) for item in found.items],
    }  # fmt: skip
    return dict(CostsSerializer(values).data)


def csv_of(found: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([found["group"], "label", "currency", *FIGURES])
    writer.writerows(_rows(found))
    return out.getvalue()


def _rows(found: dict[str, Any]) -> Iterator[list[str]]:
    for item in [*found["items"], {"key": "total", "label": "", **found["total"]}]:
        figures = [NOT_KNOWN if item[name] is None else str(item[name]) for name in FIGURES]
        yield [_text(item["key"]), _text(item["label"]), found["currency"], *figures]


def _text(value: str) -> str:
    """A cell that a spreadsheet would run as a formula gets a quote in front (OWASP, "CSV Injection")."""
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
