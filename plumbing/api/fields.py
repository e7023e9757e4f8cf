"""Serializer fields of the house."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from vxpu.ids import BadId, decode, encode


@extend_schema_field({"type": "string", "example": "rsv_01k2v7x9qefh8r8x5m3n1p0s4t"})
class TypedId(serializers.Field[UUID, str, str, Any]):
    """``TypedId("rsv")``: ``rsv_...`` outside, a UUID inside."""

    default_error_messages = {"bad_id": "Not an id of the form {prefix}_..."}

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(**kwargs)

    def to_internal_value(self, data: str) -> UUID:
        try:
            return decode(self.prefix, str(data))
        except BadId:
            self.fail("bad_id", prefix=self.prefix)

    def to_representation(self, value: UUID) -> str:
        return encode(self.prefix, value)
