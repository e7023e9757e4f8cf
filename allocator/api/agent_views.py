"""Doors for agents, outside /api: enrolment, key rotation, usage. The socket is in `allocator.live`."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, TypeVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from allocator.errors import BadMessage, BadNodeToken, BadSignature
from allocator.models import Node
from allocator.services import authenticate, enrol, ingest
from plumbing.api.views import DomainView
from plumbing.rowsec import system_scope
from vxpu.wire.node import Enrol, Rotate
from vxpu.wire.usage import SIGNATURE_HEADER

Message = TypeVar("Message", bound=BaseModel)


class AgentView(DomainView):
    """The caller is a node: no personal token holds here."""

    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]

    def bearer(self, request: Request) -> str:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise BadNodeToken("Send 'Authorization: Bearer' with a token signed by the node's key.")
        return token.strip()

    def message(self, request: Request, kind: type[Message]) -> Message:
        """The body as a strict wire message. Raises BadMessage."""
        text = json.dumps(request.data)
        if "\\u0000" in text:
            raise BadMessage("No text of it may hold a NUL.")
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            found = [
                {
                    "pointer": "/" + "/".join(str(part) for part in one["loc"]),
                    "code": one["type"],
                    "detail": one["msg"],
                }
                for one in error.errors()
            ]
            raise BadMessage(f"{found[0]['pointer']}: {found[0]['detail']}", errors=found) from error


class EnrolView(AgentView):
    @extend_schema(exclude=True)
    def post(self, request: Request) -> Response:
        """Spend a one-time token and leave a public key."""
        with system_scope():
            made = enrol.enrol(message=self.message(request, Enrol), now=timezone.now())
        return Response(made.model_dump(mode="json"), status=201)


class RotateView(AgentView):
    @extend_schema(exclude=True)
    def post(self, request: Request) -> Response:
        """A new key, asked for under the old one."""
        token, message, now = self.bearer(request), self.message(request, Rotate), timezone.now()
        with system_scope():
            node = authenticate.authenticate_once(token=token, now=now)
            enrol.rotate(node_id=node.pk, public_key=message.public_key, now=now)
        return Response(status=204)


class UsageView(AgentView):
    parser_classes: list[Any] = []

    @extend_schema(exclude=True)
    def post(self, request: Request) -> Response:
        """A signed batch of usage windows; one verdict an event."""
        now, body = timezone.now(), request._request.body  # noqa: SLF001 - the signature is over the bytes as sent
        with system_scope():
            node: Node = authenticate.authenticate(token=self.bearer(request), now=now)
            answer = ingest.ingest(
                node_id=node.pk,
                body=body,
                encoding=request.headers.get("Content-Encoding", "").lower(),
                signature=self._signature(request),
                now=now,
            )
        return Response(answer.model_dump(mode="json"))

    def _signature(self, request: Request) -> bytes:
        try:
            return base64.b64decode(request.headers.get(SIGNATURE_HEADER, ""), validate=True)
        except binascii.Error as error:
            raise BadSignature(f"{SIGNATURE_HEADER} is not base64.") from error
