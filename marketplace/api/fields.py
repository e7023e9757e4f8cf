"""Input that is strict about what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from rest_framework import serializers


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

    default_error_messages = {"no_offset": "Write the offset too, as in 2026-12-01T14:00:00Z or ...+01:00."}

    def to_internal_value(self, value: Any) -> datetime:
        if isinstance(value, str):
            try:
                parsed = parse_datetime(value)
            except ValueError:
                parsed = None
            if parsed is not None and parsed.tzinfo is None:
                self.fail("no_offset")
        try:
            return super().to_internal_value(value)
        except OverflowError:  # year 1 or 9999 with an offset that leads beyond them
            self.fail("invalid", format="ISO 8601")


class WholeNumber(serializers.IntegerField):
    """A JSON integer: no text, no fraction, no true. Its range is the domain's matter."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


def nullable(field: type[serializers.Field[Any, Any, Any, Any]], *args: Any, **kwargs: Any) -> Any:
    """An optional input whose absence and whose null mean the same."""
    return field(*args, required=False, allow_null=True, default=None, **kwargs)
