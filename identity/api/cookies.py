"""The two cookies of a log-in: the session's secret, which scripts cannot read, and the CSRF token, which they must."""

from __future__ import annotations

import ipaddress
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware, get_token, rotate_token
from rest_framework.request import Request
from rest_framework.response import Response

from identity.errors import CsrfFailed
from identity.services.sessions import Browser, NewSession


class _Check(CsrfViewMiddleware):
    """Django's check, which says the reason instead of answering a page."""

    def _reject(self, request: HttpRequest, reason: str) -> Any:  # noqa: ARG002 - Django's signature
        return reason


def _check() -> _Check:
    return _Check(lambda _: HttpResponse())


def _asked(request: Request) -> HttpRequest:
    """Django's request, which its middleware wants."""
    asked: HttpRequest = request._request  # noqa: SLF001 - DRF's own classes reach for it too
    return asked


def session_secret(request: Request) -> str:
    """What the cookie holds; empty without one."""
    return request.COOKIES.get(settings.VXPU_SESSION_COOKIE, "")


def demand_csrf(request: Request) -> None:
    """Raises CsrfFailed for a changing request without the token of our own pages. Safe methods pass."""
    check, asked = _check(), _asked(request)
    check.process_request(asked)
    reason = check.process_view(asked, None, (), {})  # type: ignore[arg-type]
    if reason:
        raise CsrfFailed(f"{reason}", suggestion="Send the cookie vxpu_csrf's value as X-CSRF-Token; reload the page.")


def set_cookies(request: Request, response: Response, opened: NewSession) -> None:
    """After a log-in: a new secret and a new CSRF token."""
    life = opened.session.expires_at - opened.session.created_at
    response.set_cookie(
        settings.VXPU_SESSION_COOKIE, opened.secret, max_age=life, path="/", secure=request.is_secure(),
        httponly=True, samesite="Lax",
    )  # fmt: skip
    rotate_token(_asked(request))
    renew_csrf(request, response)


def renew_csrf(request: Request, response: Response) -> None:
    """Set the CSRF cookie if the browser has none (any more)."""
    check, asked = _check(), _asked(request)
    if "CSRF_COOKIE" not in asked.META:
        check.process_request(asked)
        if "CSRF_COOKIE" not in asked.META:
            get_token(asked)
    check.process_response(asked, response)
    if settings.CSRF_COOKIE_NAME in response.cookies and request.is_secure():
        response.cookies[settings.CSRF_COOKIE_NAME]["secure"] = True


def clear_cookies(response: Response) -> None:
    for name in (settings.VXPU_SESSION_COOKIE, settings.CSRF_COOKIE_NAME):
        response.delete_cookie(name, path="/", samesite="Lax")


def browser_of(request: Request) -> Browser:
    """The address as our own proxies saw it, and what the browser calls itself."""
    address = str(request.META.get("REMOTE_ADDR") or "") or None
    if settings.VXPU_PROXIES:
        hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
        if len(hops) >= settings.VXPU_PROXIES:
            address = hops[-settings.VXPU_PROXIES]
    try:
        ipaddress.ip_address(address or "")
    except ValueError:
        address = None
    client = "".join(letter for letter in request.headers.get("User-Agent", "") if letter.isprintable())
    return Browser(address=address, client=client)
