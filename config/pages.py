"""The few pages that are not REST: the front page, the list of error codes, the health check."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from plumbing.api.errors import known_errors, wrong_method


def require_safe(page: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """GET and HEAD; for any other method a problem document, where Django's own decorator has a page."""

    @wraps(page)
    def answer(request: HttpRequest) -> HttpResponse:
        return page(request) if request.method in {"GET", "HEAD"} else wrong_method("GET, HEAD")

    return answer


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """One clear page that links to the documentation."""
    return render(request, "front.html", {"web_url": settings.VXPU_WEB_URL})


@require_safe
def error_list(request: HttpRequest) -> HttpResponse:
    """Every error code; the `type` of a problem document points here."""
    return render(request, "errors.html", {"errors": known_errors()})


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's signature
    """200 when this process reaches its database, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "database unreachable"}, status=503)
    return JsonResponse({"status": "ok"})
