"""The API description: every operation also answers with problem documents."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457 problem document; further members depend on the code.",
    "required": ["type", "title", "status", "detail", "code", "suggestion", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "suggestion": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("pointer", "code", "detail")},
            },
        },
    },
    "additionalProperties": True,
}
IDEMPOTENCY_HEADER: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "schema": {"type": "string", "maxLength": 255},
    "description": "One key for one intent: repeat it when you repeat the request.",
}


class DomainSchema(AutoSchema):
    """Adds the problem document as each operation's default answer, and the Idempotency-Key header where it is due."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        problem = ResolvedComponent(  # type: ignore[no-untyped-call]
            name="Problem", type=ResolvedComponent.SCHEMA, object="plumbing.Problem", schema=PROBLEM
        )
        self.registry.register_on_missing(problem)
        operation["responses"]["default"] = {
            "description": "A problem document",
            "content": {"application/problem+json": {"schema": problem.ref}},
        }
        method = getattr(self.view, self.method.lower(), None)
        if getattr(method, "is_idempotent", False):
            operation.setdefault("parameters", []).append(IDEMPOTENCY_HEADER)
        return operation


class TypedIdSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Each id with the prefix that it really has."""

    target_class = "plumbing.api.fields.TypedId"

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "string", "example": f"{self.target.prefix}_01k2v7x9qefh8r8x5m3n1p0s4t"}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Personal tokens, as `Authorization: Bearer vxp_pat_...`."""

    target_class = "identity.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:  # noqa: ARG002 - the library's signature
        return {"type": "http", "scheme": "bearer", "bearerFormat": "vxp_pat_..."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The cookie that `POST /api/v1/session` sets."""

    target_class = "identity.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:  # noqa: ARG002 - the library's signature
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "vxpu_session",
            "description": "For browsers. Changing requests also need the cookie vxpu_csrf's value as X-CSRF-Token.",
        }
