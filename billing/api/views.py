"""Doors of billing. An operator sees every tenant's papers, others their own tenant's."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from billing import facade
from billing.api import serializers as io
from billing.api.permissions import IsFinance
from billing.api.renderers import CsvRenderer
from billing.selectors import invoice_rows, invoice_view
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView


class BillingView(DomainView):
    permission_classes = [scope("billing"), IsFinance]

    def tenant(self, request: Request) -> UUID | None:
        """Whose papers: None for an operator, who sees all."""
        principal = self.principal(request)
        return None if principal.is_operator else principal.tenant_id


class AccountView(DomainView):
    permission_classes = [scope("billing")]

    @extend_schema(operation_id="get_account", tags=["billing"], responses=io.AccountSerializer)
    def get(self, request: Request) -> Response:
        """The account that the caller's tenant pays from."""
        return Response(io.AccountSerializer(facade.get_account(tenant_id=self.principal(request).tenant_id)).data)


class AccountsView(DomainView):
    permission_classes = [IsOperator, scope("billing")]

    @extend_schema(
        operation_id="open_account", tags=["billing"], request=io.AccountIn, responses={201: io.AccountSerializer}
    )
    def post(self, request: Request) -> Response:
        """The account of a tenant; the same again answers with the one that is there."""
        made = facade.open_account(now=timezone.now(), **self.parsed(request, io.AccountIn))
        return Response(io.AccountSerializer(made).data, status=201)


class AccountStatusView(DomainView):
    permission_classes = [IsOperator, scope("billing")]

    @extend_schema(
        operation_id="set_account_status", tags=["billing"], request=io.StatusIn, responses=io.AccountSerializer
    )
    def patch(self, request: Request, account: str) -> Response:
        """Suspend, take up again, or close for good. What runs goes on and is charged."""
        account_id = path_id("acc", account)
        found = facade.set_status(account_id=account_id, now=timezone.now(), **self.parsed(request, io.StatusIn))
        return Response(io.AccountSerializer(found).data)


class InvoicesView(BillingView):
    @extend_schema(
        operation_id="list_invoices", tags=["billing"], parameters=PARAMETERS,
        responses=page_of(io.InvoiceSummarySerializer),
    )  # fmt: skip
    def get(self, request: Request) -> Response:
        """Issued invoices without their lines."""
        every = invoice_rows(tenant_id=self.tenant(request))
        rows, following = Cursor(sorts=("created_at", "issued_at")).page(every, request.query_params)
        found = [invoice_view(row, ()) for row in rows]
        return Response({"items": io.InvoiceSummarySerializer(found, many=True).data, "next": following})


class InvoiceView(BillingView):
    @extend_schema(operation_id="get_invoice", tags=["billing"], responses=io.InvoiceSerializer)
    def get(self, request: Request, invoice: str) -> Response:
        """An issued invoice with its lines."""
        found = facade.get_invoice(tenant_id=self.tenant(request), invoice_id=path_id("inv", invoice))
        return Response(io.InvoiceSerializer(found).data)


class InvoiceCsvView(BillingView):
    renderer_classes = [CsvRenderer, JSONRenderer]

    @extend_schema(
        operation_id="get_invoice_csv", tags=["billing"],
        responses={(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="One row a line, RFC 4180.")},
    )  # fmt: skip
    def get(self, request: Request, invoice: str) -> HttpResponse:
        """The lines of an invoice as CSV; their amounts add up to `invoice_total`."""
        found = facade.get_invoice(tenant_id=self.tenant(request), invoice_id=path_id("inv", invoice))
        name = {"Content-Disposition": f'attachment; filename="{found.number}.csv"'}
        return HttpResponse(facade.invoice_csv(found), content_type="text/csv; charset=utf-8", headers=name)


class ClosePeriodView(DomainView):
    permission_classes = [IsOperator, scope("billing:write")]

    @extend_schema(
        operation_id="close_billing_period", tags=["billing"], request=io.PeriodIn, responses=io.InvoiceSerializer
    )
    def post(self, request: Request) -> Response:
        """Closes a period and issues its one invoice; the same again answers with the same invoice."""
        made = facade.close_period(now=timezone.now(), **self.parsed(request, io.PeriodIn))
        return Response(io.InvoiceSerializer(made).data)


class LedgerView(BillingView):
    @extend_schema(operation_id="get_trial_balance", tags=["billing"], responses=io.TrialBalanceSerializer)
    def get(self, request: Request) -> Response:
        """The trial balance: debits, credits and balance of each ledger account."""
        rows = facade.trial_balance(tenant_id=self.tenant(request))
        return Response(io.TrialBalanceSerializer({"rows": rows}).data)
