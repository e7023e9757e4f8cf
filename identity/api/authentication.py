"""`Authorization: Bearer vxp_pat_...` -> a Principal and the row-level-security scope of its tenant."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from identity.services import tokens
from plumbing.middleware import enter_scope
from plumbing.principal import Principal
from plumbing.rowsec import system_scope, tenant_scope


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
        enter_scope(request, system_scope() if principal.is_operator else tenant_scope(principal.tenant_id))
        return principal, "token"

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 - DRF's signature
        return "Bearer"
