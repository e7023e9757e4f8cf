"""Doors for people."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from allocator import facade
from allocator.api import serializers as io
from allocator.selectors import calendar, devices, leases, usage
from allocator.services import review
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, Cursor, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView
from plumbing.rowsec import system_scope

CALENDAR = [OpenApiParameter(name, datetime, required=True) for name in ("from", "to")]


class DevicesView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(
        operation_id="list_devices", tags=["devices"], parameters=PARAMETERS, responses=page_of(io.DeviceSerializer)
    )
    def get(self, request: Request) -> Response:
        """What can be sold, offline devices too. Isolation and "simulated" are told before a purchase."""
        with system_scope():
            rows, following = Cursor().page(devices.devices(), request.query_params)
            views = [devices.view_of(row, devices.reading_of(row)) for row in rows]
        shown = io.DeviceSerializer(views, many=True, context={"now": timezone.now()})
        return Response({"items": shown.data, "next": following})


class DeviceView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(operation_id="get_device", tags=["devices"], responses=io.DeviceSerializer)
    def get(self, request: Request, device: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One device."""
        found = facade.get_device(device_id=path_id("dev", device))
        return Response(io.DeviceSerializer(found, context={"now": timezone.now()}).data)


class CalendarView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(
        operation_id="get_device_calendar", tags=["devices"], parameters=CALENDAR, responses=io.CalendarSerializer
    )
    def get(self, request: Request, device: str) -> Response:
        """What is taken of the device between two instants; other tenants' leases have no name."""
        asked, device_id = self.parsed_query(request, io.CalendarQuery), path_id("dev", device)
        principal = self.principal(request)
        shown_to = None if principal.is_operator else principal.tenant_id
        with system_scope():
            found = calendar.get_calendar(
                device_id=device_id, from_at=asked["from"], to_at=asked["to"], shown_to=shown_to
            )
        return Response(io.CalendarSerializer(found).data)


class LeasesView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(
        operation_id="list_leases", tags=["leases"], parameters=PARAMETERS, responses=page_of(io.LeaseSerializer)
    )
    def get(self, request: Request) -> Response:
        """The tenant's leases, ended ones too; for an operator, all."""
        rows, following = Cursor(sorts=("created_at", "starts_at")).page(leases.leases(), request.query_params)
        views = [leases.view_of(row) for row in rows]
        return Response({"items": io.LeaseSerializer(views, many=True).data, "next": following})


def _own_lease(lease: str) -> UUID:
    """Row-level security answers 404 for another tenant's; the facade would not."""
    return leases.get_lease(lease_id=path_id("lse", lease)).pk


class LeaseView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(operation_id="get_lease", tags=["leases"], responses=io.LeaseSerializer)
    def get(self, request: Request, lease: str) -> Response:  # noqa: ARG002 - DRF's signature
        """One lease."""
        return Response(io.LeaseSerializer(facade.get_lease(lease_id=_own_lease(lease))).data)


class LeaseTokenView(DomainView):
    permission_classes = [scope("lease:write")]

    @extend_schema(operation_id="create_lease_token", tags=["leases"], request=None, responses=io.LeaseTokenSerializer)
    def post(self, request: Request, lease: str) -> Response:  # noqa: ARG002 - DRF's signature
        """A short-lived token with which `vxpu run` starts programs in the lease."""
        token = facade.issue_lease_token(lease_id=_own_lease(lease), now=timezone.now())
        return Response(io.LeaseTokenSerializer({"token": token}).data)


class LeaseUsageView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(operation_id="get_lease_usage", tags=["leases"], responses=io.UsageSerializer)
    def get(self, request: Request, lease: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Every counted window of the lease, with sums."""
        return Response(io.UsageSerializer(facade.usage_report(lease_id=_own_lease(lease))).data)


class QuarantineView(DomainView):
    permission_classes = [IsOperator, scope("node")]

    @extend_schema(
        operation_id="list_quarantined_usage",
        tags=["usage"],
        parameters=PARAMETERS,
        responses=page_of(io.QuarantinedSerializer),
    )
    def get(self, request: Request) -> Response:
        """Windows that were not counted: quarantined, in conflict, rejected."""
        return self.page(request, usage.quarantined(), io.QuarantinedSerializer)


class ReleaseUsageView(DomainView):
    permission_classes = [IsOperator, scope("node:write")]

    @extend_schema(
        operation_id="release_quarantined_usage", tags=["usage"], request=None, responses=io.ReleasedSerializer
    )
    def post(self, request: Request, quarantined: str) -> Response:  # noqa: ARG002 - DRF's signature
        """Let a quarantined window count, once."""
        status = review.release_quarantined(quarantine_id=path_id("qrn", quarantined), now=timezone.now())
        return Response(io.ReleasedSerializer({"status": status.value}).data)


class DismissUsageView(DomainView):
    permission_classes = [IsOperator, scope("node:write")]

    @extend_schema(operation_id="dismiss_quarantined_usage", tags=["usage"], request=None, responses={204: None})
    def post(self, request: Request, quarantined: str) -> Response:  # noqa: ARG002 - DRF's signature
        """It will never count."""
        review.dismiss_quarantined(quarantine_id=path_id("qrn", quarantined), now=timezone.now())
        return Response(status=204)
