"""The whole fleet in one answer."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import datetime
from typing import Any

from django.http import HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from allocator.api import node_io as io
from allocator.selectors.fleet import FleetView as Fleet
from allocator.selectors.fleet import read_fleet_view
from allocator.selectors.health import fresh_for
from plumbing.api.permissions import scope
from plumbing.api.views import DomainView
from plumbing.rowsec import system_scope

# On two cores: 1 takes half the time of 6 and a tenth more bytes.
GZIP_LEVEL = 1


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"the fleet's answer cannot carry a {type(value).__name__}")


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=_plain)


class FleetView(DomainView):
    permission_classes = [scope("lease:read")]

    @extend_schema(operation_id="get_fleet", tags=["fleet"], responses=io.FleetSerializer)
    def get(self, request: Request) -> HttpResponseBase:
        """Racks, nodes, devices and what runs on them now, of one snapshot, in columns.

        Other tenants' slices have no name. Gzip if the client takes it; the ETag stays until something but the time
        has changed.
        """
        principal = self.principal(request)
        shown_to = None if principal.is_operator else principal.tenant_id
        with system_scope():
            fleet = read_fleet_view(now=timezone.now(), shown_to=shown_to)
        return _answer(request, fleet)


def _answer(request: Request, fleet: Fleet) -> HttpResponseBase:
    lasting = _dumped({"racks": fleet.racks, "nodes": fleet.nodes, "devices": fleet.devices})
    etag = f'W/"{hashlib.sha256(lasting.encode()).hexdigest()[:32]}"'
    response: HttpResponseBase
    if etag in request.headers.get("If-None-Match", ""):
        response = HttpResponseNotModified()
    else:
        head = _dumped({"as_of": fleet.as_of, "stale_after_s": int(fresh_for().total_seconds())})
        body = f"{head[:-1]},{lasting[1:]}".encode()
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        body = gzip.compress(body, GZIP_LEVEL, mtime=0) if zipped else body
        response = HttpResponse(body, content_type="application/json")
        if zipped:
            response["Content-Encoding"] = "gzip"
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Accept-Encoding", "Authorization", "Cookie"])
    return response
