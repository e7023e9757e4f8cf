"""The door to the live socket: a ticket by REST, for whoever may ask REST."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from plumbing.api.fields import StrictSerializer
from plumbing.api.views import DomainView
from plumbing.errors import DomainError, Forbidden
from plumbing.live import tickets
from plumbing.live.credentials import Credential
from plumbing.live.valkey import VALKEY_AWAY
from plumbing.principal import Principal
from vxpu.wire.live import LIVE_PATH


class LiveUnavailable(DomainError):
    code = "live_unavailable"
    status = 503
    title = "Valkey cannot be reached; nothing can be watched as it happens."


class EmptyTicketIn(StrictSerializer):
    """No fields."""


class LiveTicketSerializer(serializers.Serializer[dict[str, str | datetime]]):
    ticket = serializers.CharField(help_text="For the first frame; it opens one socket, once.")
    url = serializers.CharField(help_text="ws:// or wss:// address of the live socket.")
    expires_at = serializers.DateTimeField()


class LiveTicketsView(DomainView):
    @extend_schema(
        operation_id="create_live_ticket", tags=["live"], request=EmptyTicketIn, responses={201: LiveTicketSerializer}
    )
    def post(self, request: Request) -> Response:
        """A ticket for the live socket, good for 30 s. The socket ends with the token or session that asked for it."""
        self.parsed(request, EmptyTicketIn)
        expires_at = timezone.now() + timedelta(seconds=tickets.TICKET_S)
        made: dict[str, str | datetime] = {
            "ticket": _ticket_of(self.principal(request)),
            "url": live_url(),
            "expires_at": expires_at,
        }
        return Response(LiveTicketSerializer(made).data, status=201)


def live_url() -> str:
    return str(settings.VXPU_PUBLIC_SOCKET_URL).rstrip("/") + LIVE_PATH


def _ticket_of(principal: Principal) -> str:
    """Raises Forbidden, LiveUnavailable."""
    credential = Credential.of(principal)
    if credential is None:
        raise Forbidden("The live socket is for holders of a token or a session.")
    try:
        return tickets.issue("live", credential.model_dump_json())
    except VALKEY_AWAY as error:
        raise LiveUnavailable(suggestion="Try again in a few seconds.") from error
