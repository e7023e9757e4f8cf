"""Doors to programs in a lease: start one through the server, and read what it wrote. The stream is in `live`."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.api import exec_io as io
from allocator.models import Lease
from allocator.selectors import leases
from allocator.services import exec_log, open_exec
from plumbing.api.ids import path_id
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView
from plumbing.errors import NotFound


class _LeaseDoor(DomainView):
    permission_classes = [scope("lease")]

    def own_lease(self, request: Request, lease: str) -> Lease:
        """Not even an operator runs programs in a tenant's lease, or reads what they wrote. Raises NotFound."""
        found = leases.get_lease(lease_id=path_id("lse", lease))
        if found.tenant_id != self.principal(request).tenant_id:
            raise NotFound(f"There is no lease {lease}.")
        return found


class ExecsView(_LeaseDoor):
    @extend_schema(
        operation_id="create_exec", tags=["execs"], request=io.ExecIn, responses={201: io.OpenedExecSerializer}
    )
    def post(self, request: Request, lease: str) -> Response:
        """A ticket for a program in the lease; the program starts when the stream is opened with it."""
        own, asked = self.own_lease(request, lease), self.parsed(request, io.ExecIn)
        made = open_exec.open_exec(lease=own, argv=asked["argv"], env=asked["env"], now=timezone.now())
        return Response(io.OpenedExecSerializer(made).data, status=201)

    @extend_schema(operation_id="list_execs", tags=["execs"], responses=io.ExecsSerializer)
    def get(self, request: Request, lease: str) -> Response:
        """The programs of which something is kept, newest first. Volatile: kept for an hour or so, and not safely."""
        found = exec_log.list_execs(lease_id=self.own_lease(request, lease).pk, now=timezone.now())
        return Response(io.ExecsSerializer({"items": found}).data)


class ExecView(_LeaseDoor):
    @extend_schema(operation_id="get_exec_log", tags=["execs"], responses=io.ExecLogSerializer)
    def get(self, request: Request, lease: str, exec: str) -> Response:  # noqa: A002 - the address's own word
        """What the program wrote last. Volatile: kept for an hour or so, and not safely."""
        own, exec_id = self.own_lease(request, lease), path_id("exe", exec)
        found = exec_log.read_exec(lease_id=own.pk, exec_id=exec_id, now=timezone.now())
        return Response(io.ExecLogSerializer(found).data)
