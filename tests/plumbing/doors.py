"""A small shop of doors to try plumbing on: addresses, views and an event of their own."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.urls import path
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from plumbing import db, outbox
from plumbing.api.fields import TypedId
from plumbing.api.idempotency import idempotent
from plumbing.api.permissions import IsOperator, scope
from plumbing.api.views import DomainView
from plumbing.errors import Conflict
from plumbing.middleware import enter_scope
from plumbing.models import OutboxEvent
from plumbing.principal import Principal
from plumbing.rowsec import tenant_scope

TENANT = UUID(int=7)


@dataclass(frozen=True)
class Rung:
    """Someone rang."""

    tenant_id: UUID
    word: str


class RungOut(serializers.Serializer[Any]):
    id = TypedId("rng")
    kind = serializers.CharField()


class RingIn(serializers.Serializer[Any]):
    word = serializers.CharField(max_length=20)
    count = serializers.IntegerField(min_value=1, required=False)
    fault = serializers.CharField(required=False, default="")
    hold_s = serializers.FloatField(required=False, default=0)


class HeaderAuthentication(BaseAuthentication):
    """A room's own authentication: `X-Who` holds the scopes; operators are called `operator`."""

    def authenticate(self, request: Request) -> tuple[Principal, None]:
        who = request.headers.get("X-Who", "ring:write")
        enter_scope(request, tenant_scope(TENANT))
        scopes = frozenset(who.split())
        user_id = uuid5(TENANT, who)
        operates = who == "operator"
        return Principal(user_id=user_id, tenant_id=TENANT, name=who, scopes=scopes, is_operator=operates), None


def die() -> None:
    """kill -9, in a process that was started to be killed."""
    if "VXPU_TEST_MAY_DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)


@db.transaction
def ring(*, word: str, fault: str, hold_s: float) -> UUID:
    """One event row; `fault` says where to break off."""
    outbox.publish(Rung(tenant_id=TENANT, word=word))
    time.sleep(hold_s)
    if fault == "conflict":
        raise Conflict("The bell is taken.", suggestion="Ring later.", bells=[UUID(int=1)])
    if fault == "bug":
        raise ZeroDivisionError
    if fault == "killed inside":
        die()
    if fault == "killed after commit":
        transaction.on_commit(die)
    return OutboxEvent.objects.latest("id").pk


class RingView(DomainView):
    authentication_classes = [HeaderAuthentication]
    permission_classes = [scope("ring")]

    def get(self, request: Request) -> Response:
        return self.page(request, OutboxEvent.objects.all(), RungOut, "kind")

    @idempotent
    def post(self, request: Request) -> Response:
        asked = self.parsed(request, RingIn)
        rung = ring(word=asked["word"], fault=asked["fault"], hold_s=asked["hold_s"])
        return Response({"rung": str(rung)}, status=201)


class OperatorView(DomainView):
    authentication_classes = [HeaderAuthentication]
    permission_classes = [IsOperator]

    def get(self, request: Request) -> Response:
        return Response({"name": self.principal(request).name})


urlpatterns = [path("ring", RingView.as_view()), path("operator", OperatorView.as_view())]
handler400 = "plumbing.api.errors.bad_request"
handler404 = "plumbing.api.errors.page_not_found"
handler500 = "plumbing.api.errors.server_error"
