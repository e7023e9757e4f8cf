"""Doors of the log-in, and of what a person does with the own account."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny, BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from identity import selectors
from identity.api import cookies
from identity.api import session_serializers as io
from identity.api.authentication import SessionAuthentication
from identity.services import passwords, sessions
from plumbing.api.ids import path_id
from plumbing.api.pagination import PARAMETERS, page_of
from plumbing.api.views import DomainView
from plumbing.rowsec import system_scope


class SessionView(DomainView):
    """The session of this browser: a bearer token says nothing here."""

    def get_authenticators(self) -> list[BaseAuthentication]:
        asked: Any = getattr(self, "request", None)
        return [] if asked is not None and asked.method == "POST" else [SessionAuthentication()]

    def get_permissions(self) -> list[BasePermission]:
        return [IsAuthenticated()] if self.request is None or self.request.method == "GET" else [AllowAny()]

    @extend_schema(operation_id="get_session", tags=["session"], responses=io.LoginSerializer)
    def get(self, request: Request) -> Response:
        """Who is logged in, and until when; 401 if nobody is."""
        session = selectors.get_current_session(by=self.principal(request))
        answer = Response(io.LoginSerializer({"user": session.user, "expires_at": session.expires_at}).data)
        cookies.renew_csrf(request, answer)
        return answer

    @extend_schema(
        operation_id="log_in", tags=["session"], request=io.LoginIn, responses={201: io.LoginSerializer}, auth=[]
    )
    def post(self, request: Request) -> Response:
        """Log in. Sets the cookies; a session that this browser had before ends.

        `wrong_login` (401) does not tell what was wrong; `too_many_attempts` (429) says when to come again.
        """
        asked = self.parsed(request, io.LoginIn)
        log_in: Any = sessions.open_with_token if "token" in asked else sessions.open_with_password
        with system_scope():
            opened = log_in(
                browser=cookies.browser_of(request), replaces=cookies.session_secret(request), now=timezone.now(),
                **asked,
            )  # fmt: skip
        answer = Response(
            io.LoginSerializer({"user": opened.user, "expires_at": opened.session.expires_at}).data, status=201
        )
        cookies.set_cookies(request, answer, opened)
        return answer

    @extend_schema(operation_id="log_out", tags=["session"], responses={204: None})
    def delete(self, request: Request) -> Response:
        """Log out. Safe to repeat."""
        if request.user is not None:
            sessions.end_current(by=self.principal(request), now=timezone.now())
        answer = Response(status=204)
        cookies.clear_cookies(answer)
        return answer


class MeView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="me", tags=["identity"], responses=io.MeSerializer)
    def get(self, request: Request) -> Response:
        """Who the caller is and what he may do."""
        return Response(io.MeSerializer(selectors.get_profile(of=self.principal(request))).data)


class PasswordView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="set_password", tags=["identity"], request=io.PasswordIn, responses={204: None})
    def post(self, request: Request) -> Response:
        """Set the own password; the other sessions end, tokens stay.

        `current` is needed unless there is none yet; then the caller must hold every scope of its roles.
        """
        passwords.change(by=self.principal(request), now=timezone.now(), **self.parsed(request, io.PasswordIn))
        return Response(status=204)


class SessionsView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(
        operation_id="list_sessions", tags=["session"], parameters=PARAMETERS, responses=page_of(io.SessionSerializer)
    )
    def get(self, request: Request) -> Response:
        """The caller's browsers that are logged in."""
        by = self.principal(request)
        found = selectors.list_live_sessions(by=by, now=timezone.now())
        return self.page(request, found, io.SessionSerializer, context={"current": by.session_id})


class OneSessionView(DomainView):
    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="end_session", tags=["session"], responses={204: None})
    def delete(self, request: Request, session: str) -> Response:
        """Log one of the caller's browsers out at once. Safe to repeat."""
        sessions.end(by=self.principal(request), session_id=path_id("ses", session), now=timezone.now())
        return Response(status=204)
