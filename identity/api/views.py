"""Doors of identity."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from identity import selectors
from identity.api import serializers as io
from identity.services import members, projects, tenants, tokens
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, page_of
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView


class TenantsView(DomainView):
    permission_classes = [IsOperator, scope("identity")]

    @extend_schema(
        operation_id="list_tenants", tags=["identity"], parameters=PARAMETERS, responses=page_of(io.TenantSerializer)
    )
    def get(self, request: Request) -> Response:
        """Every tenant, the operator's own among them."""
        return self.page(request, selectors.list_tenants(), io.TenantSerializer, "slug")

    @extend_schema(
        operation_id="create_tenant", tags=["identity"], request=io.TenantIn, responses={201: io.NewTenantSerializer}
    )
    def post(self, request: Request) -> Response:
        """A tenant with its first admin and a token for him; the secret is shown this once."""
        made = tenants.create(
            actor_id=self.principal(request).user_id, now=timezone.now(), **self.parsed(request, io.TenantIn)
        )
        return Response(io.NewTenantSerializer(made).data, status=201)


class ProjectsView(DomainView):
    permission_classes = [scope("identity")]

    @extend_schema(
        operation_id="list_projects", tags=["identity"], parameters=PARAMETERS, responses=page_of(io.ProjectSerializer)
    )
    def get(self, request: Request) -> Response:
        """The projects of the caller's tenant."""
        found = selectors.list_projects(tenant_id=self.principal(request).tenant_id)
        return self.page(request, found, io.ProjectSerializer, "slug")

    @extend_schema(
        operation_id="create_project", tags=["identity"], request=io.ProjectIn, responses={201: io.ProjectSerializer}
    )
    def post(self, request: Request) -> Response:
        """A project in the caller's tenant."""
        made = projects.create(by=self.principal(request), now=timezone.now(), **self.parsed(request, io.ProjectIn))
        return Response(io.ProjectSerializer(made).data, status=201)


class MembersView(DomainView):
    permission_classes = [scope("identity")]

    @extend_schema(
        operation_id="list_members", tags=["identity"], parameters=PARAMETERS, responses=page_of(io.MemberSerializer)
    )
    def get(self, request: Request) -> Response:
        """Who may do what in the caller's tenant."""
        found = selectors.list_members(tenant_id=self.principal(request).tenant_id)
        return self.page(request, found, io.MemberSerializer)

    @extend_schema(
        operation_id="add_member", tags=["identity"], request=io.MemberIn, responses={201: io.NewMemberSerializer}
    )
    def post(self, request: Request) -> Response:
        """Give a role to a user; one who is not known yet is made and gets a first token to log in with.

        The token's secret is shown this once.
        """
        asked = self.parsed(request, io.MemberIn)
        made = members.add(by=self.principal(request), project_id=asked.pop("project"), now=timezone.now(), **asked)
        return Response(io.NewMemberSerializer(made).data, status=201)


class MemberView(DomainView):
    permission_classes = [scope("identity")]

    @extend_schema(operation_id="remove_member", tags=["identity"], responses={204: None})
    def delete(self, request: Request, member: str) -> Response:
        """Take the role away, at once; what the member bought stays. 409 `last_admin` for the tenant's last one."""
        members.remove(by=self.principal(request), member_id=path_id("mem", member), now=timezone.now())
        return Response(status=204)


class TokensView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(
        operation_id="list_tokens", tags=["identity"], parameters=PARAMETERS, responses=page_of(io.TokenSerializer)
    )
    def get(self, request: Request) -> Response:
        """The caller's tokens; for a tenant admin, those of the tenant."""
        return self.page(request, selectors.list_tokens(by=self.principal(request)), io.TokenSerializer)

    @extend_schema(
        operation_id="create_token", tags=["identity"], request=io.TokenIn, responses={201: io.NewTokenSerializer}
    )
    def post(self, request: Request) -> Response:
        """A token that can do no more than the one it is made with; the secret is shown this once."""
        asked = self.parsed(request, io.TokenIn)
        made = tokens.create(by=self.principal(request), user_id=asked.pop("user"), now=timezone.now(), **asked)
        return Response(io.NewTokenSerializer(made).data, status=201)


class TokenView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="revoke_token", tags=["identity"], responses={204: None})
    def delete(self, request: Request, token: str) -> Response:
        """Revoke; the token stops working at once. Safe to repeat."""
        tokens.revoke(by=self.principal(request), token_id=path_id("tok", token), now=timezone.now())
        return Response(status=204)


class AuditEventsView(DomainView):
    permission_classes = [scope("identity:write")]

    @extend_schema(
        operation_id="list_audit_events",
        tags=["identity"],
        parameters=PARAMETERS,
        responses=page_of(io.AuditEventSerializer),
    )
    def get(self, request: Request) -> Response:
        """The tenant's audit log, newest first; each event's digest covers the one before."""
        found = selectors.list_audit_events(tenant_id=self.principal(request).tenant_id)
        return self.page(request, found, io.AuditEventSerializer, "seq")
