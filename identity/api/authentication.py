"""A bearer token or a session's cookie -> a Principal and the row-level-security scope of its tenant."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from identity.api import cookies
from identity.services import sessions, tokens
from plumbing.middleware import enter_scope
from plumbing.principal import Principal
from plumbing.rowsec import system_scope, tenant_scope


def _enter(request: Request, principal: Principal) -> None:
    enter_scope(request, system_scope() if principal.is_operator else tenant_scope(principal.tenant_id))


class TokenAuthentication(BaseAuthentication):
    """Personal tokens. A view with another kind of caller (a node) sets its own `authentication_classes`."""

    def authenticate(self, request: Request) -> tuple[Principal, str] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            return None
        with system_scope():
            principal = tokens.authenticate(secret=secret.strip(), now=timezone.now())
        if principal is None:
            raise AuthenticationFailed("The token is unknown, expired or revoked.")
        _enter(request, principal)
        return principal, "token"

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return "Bearer"


class SessionAuthentication(BaseAuthentication):
    """The cookie of a log-in. A dead one counts as none: its browser must be able to log in anew.

    Raises CsrfFailed for a changing request without the CSRF token.
    """

    def authenticate(self, request: Request) -> tuple[Principal, str] | None:
        secret = cookies.session_secret(request)
        if not secret:
            return None
        with system_scope():
            principal = sessions.authenticate(secret=secret, now=timezone.now())
        if principal is None:
            return None
        cookies.demand_csrf(request)
        _enter(request, principal)
        return principal, "session"
