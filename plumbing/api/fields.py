"""Serializer fields of the house."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from rest_framework import serializers

from vxpu.ids import BadId, decode, encode

# Nobody means an instant outside of these, and a period may be added to one inside.
FIRST_YEAR, LAST_YEAR = 1970, 9000


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


class StrictSerializer(serializers.Serializer[Any]):
    """An unknown field is an error that is said: nobody believes to have set what was ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = sorted(str(name) for name in data.keys() - self.fields.keys())
            if unknown:
                raise serializers.ValidationError(
                    {name: [serializers.ErrorDetail("There is no such field.", "unknown_field")] for name in unknown}
                )
        return super().to_internal_value(data)


class Instant(serializers.DateTimeField):
    """A date and time with its offset: "02:30" exists twice in some nights."""

    default_error_messages = {
        "no_offset": "Write the offset too, as in 2026-12-01T14:00:00Z or ...+01:00.",
        "far_away": "It is not in the years 1970 to 9000.",
    }

    def to_internal_value(self, value: Any) -> datetime:
        if isinstance(value, str):
            try:
                parsed = parse_datetime(value)
            except ValueError:
                parsed = None
            if parsed is not None and parsed.tzinfo is None:
                self.fail("no_offset")
        try:
            instant = super().to_internal_value(value)
        except OverflowError:  # year 1 or 9999 with an offset that leads beyond them
            self.fail("invalid", format="ISO 8601")
        if not FIRST_YEAR <= instant.year <= LAST_YEAR:
            self.fail("far_away")
        return instant
