"""The one middleware of our own: a request id, and a place to keep the request's row-level-security scope open."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from django.http import HttpRequest, HttpResponse

from plumbing.logs import request_id
from vxpu.ids import encode, new_uuid

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{8,64}")


def request_context(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Takes over a harmless `X-Request-Id`, echoes it, and closes the scopes that authentication opened."""

    def handle(request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        identity = given if _ACCEPTABLE.fullmatch(given) else encode("req", new_uuid())
        request_id.set(identity)  # stays until the next request: Django logs the answer after us
        with ExitStack() as scopes:
            request.vxpu_scopes = scopes  # type: ignore[attr-defined]
            response = get_response(request)
        response["X-Request-Id"] = identity
        return response

    return handle


def enter_scope(request: HttpRequest, scope: AbstractContextManager[None]) -> None:
    """Keep `scope` (`rowsec.tenant_scope(...)`, `rowsec.system_scope()`) open until the answer is made.

    For DRF authentication classes of any room; `request` may be DRF's or Django's. Raises AttributeError where the
    middleware is missing: better no answer than an answer without row-level security.
    """
    underlying: Any = getattr(request, "_request", request)
    underlying.vxpu_scopes.enter_context(scope)
